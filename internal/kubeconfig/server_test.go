package kubeconfig

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

const (
	testToken    = "tok-5f2a-never-shown"
	testPassword = "hunter2-never-shown"
)

// serve starts a TLS server of the authority's that asks for a client certificate,
// and takes none too.
func serve(t *testing.T, a *standin.Authority, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	certificate, err := a.Server("api.example")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(handler)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// visit sends one request over the connection that cfg describes.
func visit(t *testing.T, cfg *rest.Config) error {
	t.Helper()
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return err
	}
	t.Cleanup(client.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cfg.Host+"/version", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	return nil
}

// authority is that of a cluster of the test's.
func authority(t *testing.T) *standin.Authority {
	t.Helper()
	a, err := standin.NewAuthority("kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// clientCertificate is that of a user named test, as the fields of a kubeconfig and
// in PEM.
func clientCertificate(t *testing.T) (fields string, certificate, key []byte) {
	t.Helper()
	certificate, key, err := authority(t).Client("test")
	if err != nil {
		t.Fatal(err)
	}
	return "client-certificate-data: " + base64.StdEncoding.EncodeToString(certificate) +
		"\nclient-key-data: " + base64.StdEncoding.EncodeToString(key), certificate, key
}

// caField is the field of a kubeconfig that has the authority.
func caField(a *standin.Authority) string {
	return "certificate-authority-data: " + base64.StdEncoding.EncodeToString(a.PEM)
}

func TestServerURL(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{
		"https://api.example":          "https://api.example",
		"https://api.example:6443/":    "https://api.example:6443",
		"https://[::1]:6443/k8s/c-1//": "https://[::1]:6443/k8s/c-1",
	} {
		if u, err := ServerURL(server); err != nil || u.String() != want {
			t.Errorf("%s is read as %v, %v", server, u, err)
		}
	}
	for server, want := range map[string]string{
		"":                            "is not a URL",
		"https://":                    "is not a URL",
		"https://:6443":               "is not a URL",
		"https://a b/":                "is not a URL",
		"http://api.example":          "only https",
		"HTTP://api.example":          "only https",
		"https://u@api.example":       "holds more",
		"https://api.example/?a=b":    "holds more",
		"https://api.example/#a":      "holds more",
		testPassword + "://x.example": "only https",
	} {
		if u, err := ServerURL(server); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), testPassword) {
			t.Errorf("%s is read as %v, %v", server, u, err)
		}
	}
}
