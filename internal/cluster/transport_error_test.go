package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

func create(t *testing.T, cfg *rest.Config) error {
	t.Helper()
	_, err := connect(t, cfg).CreateJob(t.Context(), testNamespace, job(0, ""))
	return err
}

func TestServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := serve(t, http.NotFoundHandler(), nil)
	cfg := s.config()
	s.Close()
	wantCallError(t, create(t, cfg), oneshot.Unavailable, "connection refused")
}

func TestServersThatAreNotTrusted(t *testing.T) {
	t.Parallel()
	other, _ := issue(t, time.Hour)
	expired, key := issue(t, -time.Minute)
	s := serve(t, http.NotFoundHandler(), nil)

	cfg := s.config()
	cfg.CAData = pemOf(other.Raw)
	wantCallError(t, create(t, cfg), oneshot.Unreachable, "unknown authority", "certificate-authority-data is this cluster's")

	cfg = s.config()
	cfg.ServerName = "another.example"
	wantCallError(t, create(t, cfg), oneshot.Unreachable, "another.example", "check server and tls-server-name")

	old := serve(t, http.NotFoundHandler(), func(s *httptest.Server) {
		s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{expired.Raw}, PrivateKey: key}}}
	})
	wantCallError(t, create(t, old.config()), oneshot.Unreachable, "expired", "check the clock")

	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	cfg = s.config()
	cfg.Host = "https://" + plain.Listener.Addr().String()
	wantCallError(t, create(t, cfg), oneshot.Unreachable, "does not speak TLS")
}

func TestClientCertificateThatIsNotAccepted(t *testing.T) {
	t.Parallel()
	known := x509.NewCertPool()
	s := serve(t, http.NotFoundHandler(), func(s *httptest.Server) {
		// With TLS 1.3 the refusal comes after the handshake, and net/http may
		// be left with nothing but the end of the connection.
		s.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: known, MaxVersion: tls.VersionTLS12}
	})
	cert, key := issue(t, time.Hour)
	cfg := s.config()
	cfg.CertData, cfg.KeyData = pemOf(cert.Raw), keyPEM(t, key)
	wantCallError(t, create(t, cfg), oneshot.Unreachable, "does not accept the client certificate")
}

func TestServerThatNeverFinishesTheHandshake(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	cfg := &rest.Config{Host: "https://" + listener.Addr().String()}
	// Nothing of the create was sent, so it is not one that timed out.
	wantCallError(t, create(t, cfg), oneshot.Unavailable, "TLS handshake timeout")

	c := connect(t, cfg)
	c.times.request = 50 * time.Millisecond
	_, err = c.CreateJob(t.Context(), testNamespace, job(0, ""))
	wantCallError(t, err, oneshot.Unavailable, "no connection in the time that a request gets")
}

// Field case: "no such host" for a private cluster.
func TestNamesThatDoNotResolve(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"https://x-dns-1.privatelink.westeurope.azmk8s.io:443": "the API server's name is private",
		"https://x-dns-1.hcp.westeurope.azmk8s.io:443":         "the cluster is private, stopped or deleted",
		"https://api.example:6443":                             "check the server in the kubeconfig",
	}
	for host, hint := range tests {
		u, err := url.Parse(host)
		if err != nil {
			t.Fatal(err)
		}
		cfg := &rest.Config{Host: host, Dial: fails(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: u.Hostname(), IsNotFound: true}})}
		wantCallError(t, create(t, cfg), oneshot.Unreachable, "no such host", hint)
	}
	cfg := &rest.Config{Host: "https://api.example", Dial: fails(&net.DNSError{Err: "server misbehaving", Name: "api.example", IsTemporary: true})}
	wantCallError(t, create(t, cfg), oneshot.Unavailable, "server misbehaving")

	cfg = &rest.Config{Host: "https://api.example", Dial: fails(&net.DNSError{Err: "no such host", Name: "proxy.example", IsNotFound: true})}
	wantCallError(t, create(t, cfg), oneshot.Unreachable, "check HTTPS_PROXY")
}

func TestAddressesThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	unanswered := func(ip string) *rest.Config {
		return &rest.Config{
			Host: "https://x-dns-1.hcp.westeurope.azmk8s.io",
			Dial: fails(&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.ParseIP(ip), Port: 443}, Err: os.ErrDeadlineExceeded}),
		}
	}
	wantCallError(t, create(t, unanswered("10.224.0.4")), oneshot.Unavailable, "the address is private")
	wantCallError(t, create(t, unanswered("20.1.2.3")), oneshot.Unavailable, "authorized IP ranges")
}

func fails(err error) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) { return nil, err }
}

func TestProxies(t *testing.T) {
	t.Parallel()
	s := serve(t, newAPI(t), nil)
	tests := map[string]struct {
		status int
		kind   oneshot.Kind
		parts  []string
	}{
		"wants another password": {http.StatusProxyAuthRequired, oneshot.Unreachable, []string{"Proxy Authentication Required", "needs a user and password"}},
		"does not allow it":      {http.StatusForbidden, oneshot.Unreachable, []string{"the proxy answered Forbidden"}},
		"cannot reach it":        {http.StatusBadGateway, oneshot.Unavailable, []string{"the proxy answered Bad Gateway"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(test.status) }))
			t.Cleanup(proxy.Close)
			cfg := s.config()
			cfg.Proxy = through(t, proxy.URL)
			wantCallError(t, create(t, cfg), test.kind, test.parts...)
		})
	}
	t.Run("works", func(t *testing.T) {
		t.Parallel()
		var tunnels atomic.Int32
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tunnels.Add(1)
			user, password, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
			if r.Method != http.MethodConnect || user != "ci" || password != testPassword || r.Header.Get("Authorization") != "" {
				t.Errorf("proxy asked %s with %v", r.Method, r.Header)
			}
			tunnel(t, w, r.Host)
		}))
		t.Cleanup(proxy.Close)
		cfg := s.config()
		cfg.Proxy = through(t, proxy.URL)
		if err := create(t, cfg); err != nil || tunnels.Load() != 1 {
			t.Errorf("%d tunnels, %v", tunnels.Load(), err)
		}
	})
	t.Run("is no address", func(t *testing.T) {
		t.Parallel()
		cfg := s.config()
		cfg.Proxy = func(*http.Request) (*url.URL, error) { return nil, errors.New("invalid proxy address " + testPassword) }
		wantCallError(t, create(t, cfg), oneshot.Unreachable, "HTTPS_PROXY")
	})
}

func through(t *testing.T, proxy string) func(*http.Request) (*url.URL, error) {
	t.Helper()
	u, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("ci", testPassword)
	return http.ProxyURL(u)
}

func tunnel(t *testing.T, w http.ResponseWriter, to string) {
	upstream, err := net.Dial("tcp", to)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = upstream.Close() }()
	w.WriteHeader(http.StatusOK)
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()
	go func() { _, _ = io.Copy(upstream, buffered) }()
	_, _ = io.Copy(conn, upstream)
}

// A connection that dies without a word after a create was sent on it: whether
// the create has its effect is open, as when no answer came in time.
func TestConnectionThatFallsSilent(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	s := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
	}), nil)
	r := newRelay(t, s.Listener.Addr().String())
	cfg := s.config()
	cfg.Host = "https://" + r.Addr().String()
	go func() {
		<-arrived
		r.freeze()
	}()
	began := time.Now()
	wantCallError(t, create(t, cfg), oneshot.TimedOut, "connection lost")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("noticed after %s", took)
	}
}

func TestCredentialThatCannotBeHad(t *testing.T) {
	t.Parallel()
	s := serve(t, http.NotFoundHandler(), nil)
	cfg := s.config()
	cfg.BearerToken = ""
	want := failure.New(failure.CredentialFailed, "no id token")
	cfg.WrapTransport = func(http.RoundTripper) http.RoundTripper { return failing{want} }
	err := create(t, cfg)
	wantCallError(t, err, oneshot.Unreachable, "no id token")
	if failure.CodeOf(err) != failure.CredentialFailed {
		t.Errorf("code %q", failure.CodeOf(err))
	}
}

// Settings that the client must not be made with.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]*rest.Config{
		"only https is allowed":   {Host: "http://api.example"},
		"is not a URL":            {Host: ""},
		"not verified":            {Host: "https://api.example", TLSClientConfig: rest.TLSClientConfig{Insecure: true}},
		"transport of its own":    {Host: "https://api.example", Transport: http.DefaultTransport},
		"root certificates":       {Host: "https://api.example", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("x")}},
		"username/password or be": {Host: "https://api.example", Username: "u", Password: "p", BearerToken: "t"},
	}
	for want, cfg := range tests {
		_, err := New(cfg)
		if failure.CodeOf(err) != failure.ConfigInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want config-invalid with %q", err, want)
		}
	}
}

// issue makes a self-signed certificate for loopback that is valid until some
// time from now.
func issue(t *testing.T, valid time.Duration) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(valid),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func keyPEM(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}
