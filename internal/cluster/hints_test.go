package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/internal/network"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

var update = flag.Bool("update", false, "rewrite the golden files under testdata")

const (
	publicName  = "prod-dns-1a2b3c4d.hcp.westeurope.azmk8s.io"
	privateName = "prod-dns-1a2b3c4d.0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0.privatelink.westeurope.azmk8s.io"
	objectID    = "5e0f0d6b-6a0e-4f6c-9a53-2f4d2f8a9b10"
)

// byToken and byCertificate are clusters that Azure handed out the connection to.
var (
	byToken = Managed{
		ID:            "/subscriptions/6f7e8d9c-0b1a-4293-8475-66574839201a/resourceGroups/rg-prod/providers/Microsoft.ContainerService/managedClusters/aks-prod",
		ResourceGroup: "rg-prod", Name: "aks-prod", User: objectID,
	}
	byCertificate = Managed{ID: byToken.ID, ResourceGroup: "rg (old)", Name: "aks-prod"}
)

// clientFor is a client of a server at this host. Nothing is sent.
func clientFor(t *testing.T, host string, options ...Option) *Client {
	t.Helper()
	c, err := New(&rest.Config{Host: "https://" + host + ":443", BearerToken: testToken}, options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func dialled(ip string, err error) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.ParseIP(ip), Port: 443}, Err: err}
}

func notFound(name string) error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: name, Server: "168.63.129.16:53", IsNotFound: true}}
}

// What people read when there is no answer, for each origin that a connection can
// have.
func TestTextsOnConnections(t *testing.T) {
	t.Parallel()
	custom := "prod.0f1e2d3c.private.westeurope.azmk8s.io"
	unknown := &tls.CertificateVerificationError{
		Err: x509.UnknownAuthorityError{},
		UnverifiedCertificates: []*x509.Certificate{{
			Issuer: pkix.Name{CommonName: "Corp\x1b[31m CA " + testToken},
		}},
	}
	golden(t, "connections", func(option Option) string {
		var b strings.Builder
		for _, s := range []struct {
			name, host string
			err        error
		}{
			{"private name that does not resolve", privateName, notFound(privateName)},
			{"private name in a zone of one's own", custom, notFound(custom)},
			{"public name that does not resolve", publicName, notFound(publicName)},
			{"proxy's name that does not resolve", publicName, &net.OpError{Op: "proxyconnect", Net: "tcp", Err: notFound("proxy.example")}},
			{"name servers that fail", publicName, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "server misbehaving", Name: publicName, IsTemporary: true}}},
			{"private address that does not answer", privateName, dialled("10.224.0.4", os.ErrDeadlineExceeded)},
			{"public name with a private address", publicName, dialled("10.224.0.4", os.ErrDeadlineExceeded)},
			{"public address that does not answer", publicName, dialled("20.1.2.3", os.ErrDeadlineExceeded)},
			{"address that refuses", publicName, dialled("20.1.2.3", syscall.ECONNREFUSED)},
			{"proxy without a password", publicName, &network.ProxyError{Status: http.StatusProxyAuthRequired}},
			{"proxy that forbids", publicName, &network.ProxyError{Status: http.StatusForbidden}},
			{"proxy that fails", publicName, &network.ProxyError{Status: http.StatusBadGateway}},
			{"proxy without an address", publicName, network.ErrProxyAddress},
			{"certificate of another host", publicName, x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"proxy.example"}}, Host: publicName}},
			{"certificate that has expired", publicName, x509.CertificateInvalidError{Cert: &x509.Certificate{}, Reason: x509.Expired}},
			{"certificate of another authority", publicName, unknown},
			{"no TLS", publicName, http.ErrSchemeMismatch},
			{"client certificate refused", publicName, &net.OpError{Op: "remote error", Err: tls.AlertError(42)}},
		} {
			c := clientFor(t, s.host, option)
			kind, err := c.meaning(s.err, false, false)
			text := call{verb: "get", resource: jobs, namespace: "fdai-runtime", name: "x"}.failed(kind, 0, err).Error()
			_, _ = fmt.Fprintf(&b, "# %s\n%s\n\n", s.name, text)
		}
		return b.String()
	})
}

// What people read when the API server says no.
func TestTextsOnRefusals(t *testing.T) {
	t.Parallel()
	golden(t, "refusals", func(option Option) string {
		var b strings.Builder
		for _, s := range []struct {
			verb, file string
			code       int
		}{
			{"get", "unauthorized", http.StatusUnauthorized},
			{"create", "unauthorized", http.StatusUnauthorized},
			{"get", "denied-get", http.StatusForbidden},
			{"create", "denied-create", http.StatusForbidden},
			// No refusals of who asks, so no hint on that.
			{"create", "quota", http.StatusForbidden},
			{"get", "absent", http.StatusNotFound},
		} {
			c := clientFor(t, publicName, option)
			err := c.statusError(call{verb: s.verb, resource: jobs, namespace: "fdai-runtime", name: "x"}, s.code, http.Header{}, testdata(t, "status/"+s.file+".json"))
			_, _ = fmt.Fprintf(&b, "# %s, %s\n%s\n%s\n\n", s.verb, s.file, err, err.Fix)
		}
		return b.String()
	})
}

// golden compares the texts for each origin with testdata/hints/NAME-ORIGIN.txt.
func golden(t *testing.T, name string, texts func(Option) string) {
	t.Helper()
	withAzureRBAC := byToken
	withAzureRBAC.AzureRBAC = true
	for origin, option := range map[string]Option{
		"kubeconfig":    func(*Client, *rest.Config) {},
		"token":         WithManaged(byToken),
		"token-in-rbac": WithManaged(withAzureRBAC),
		"certificate":   WithManaged(byCertificate),
	} {
		if origin == "token-in-rbac" && name != "refusals" {
			continue // Roles make no connection.
		}
		have := texts(option)
		if strings.Contains(have, testToken) || strings.ContainsAny(have, "\x1b\x00\r") {
			t.Errorf("%s: a secret or a control character is in:\n%q", origin, have)
		}
		file := filepath.Join("testdata", "hints", name+"-"+origin+".txt")
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(have), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), have); diff != "" {
			t.Errorf("%s (-want +have)\n%s", file, diff)
		}
	}
}

// Nobody who was handed a kubeconfig by Azure can look into it.
func TestNoKubeconfigIsBlamedThatNobodyHas(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/hints/*")
	if err != nil || len(files) != 7 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "-kubeconfig.txt") && strings.Contains(string(text), "kubeconfig") {
			t.Errorf("%s speaks of a kubeconfig", file)
		}
	}
}

// The hints are there when the errors are real ones.
func TestManagedClusterOverTheNetwork(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answerStatus(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
	}), nil)
	m := WithManaged(byToken)
	_, err := connect(t, s.config(), m).Job(t.Context(), testNamespace, testName)
	wantCallError(t, err, oneshot.Denied, "(HTTP 401): Unauthorized")
	if denied, ok := errors.AsType[*oneshot.CallError](err); !ok || !strings.HasPrefix(denied.Fix, "The API server does not accept the Entra token of user "+objectID) {
		t.Errorf("what can be done: %+v", denied)
	}

	cfg := s.config()
	cfg.CAData = nil
	_, err = connect(t, cfg, m).Job(t.Context(), testNamespace, testName)
	wantCallError(t, err, oneshot.Unreachable, "unknown authority", `or add the name to NO_PROXY (the certificate is from "O=Acme Co")`)

	cfg = &rest.Config{Host: "https://" + privateName, Dial: fails(notFound(privateName))}
	_, err = connect(t, cfg, m).Job(t.Context(), testNamespace, testName)
	wantCallError(t, err, oneshot.Unreachable, "no such host; the API server's name is private", "az aks command invoke --resource-group rg-prod --name aks-prod")
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"rg-prod_1.x": "rg-prod_1.x", "rg (old)": "'rg (old)'", "a'b": `'a'\''b'`, "": "''", "größe": "'größe'", "$(x)": "'$(x)'",
	} {
		if have := argument(text); have != want {
			t.Errorf("%q is given as %s, want %s", text, have, want)
		}
	}
}
