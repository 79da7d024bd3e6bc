package kubeconfig

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

const (
	testToken    = "tok-5f2a-never-shown"
	testPassword = "hunter2-never-shown"
)

// serve starts a TLS server that asks for a client certificate, and takes none
// too.
func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
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

// issue makes a self-signed certificate that is valid until some time from now.
func issue(t *testing.T, valid time.Duration) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(valid),
		IsCA: true, BasicConstraintsValid: true,
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

func pemOf(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func keyPEM(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
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
