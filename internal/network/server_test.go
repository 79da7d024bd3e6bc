package network

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

// serve starts a TLS server that speaks HTTP/2; change, if not nil, changes it
// before.
func serve(t *testing.T, handler http.HandlerFunc, change func(*httptest.Server)) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if change != nil {
		change(s)
	}
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func http1(s *httptest.Server) { s.EnableHTTP2 = false }

// plain starts a server without TLS.
func plain(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// listen accepts connections and has do deal with each.
func listen(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go do(conn)
		}
	}()
	return listener.Addr().String()
}

// nowhere resolves no name but localhost, by a name server on loopback.
func nowhere(t *testing.T) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		message := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(message)
			if err != nil {
				return
			}
			// The question, made an answer that says "no such name" (RFC 1035,
			// section 4.1.1).
			message[2] |= 0x80
			message[3] = 0x83
			_, _ = server.WriteTo(message[:n], from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// pool trusts the server.
func pool(s *httptest.Server) *x509.CertPool {
	certs := x509.NewCertPool()
	certs.AddCert(s.Certificate())
	return certs
}

// issue makes a self-signed certificate for loopback.
func issue(t *testing.T, from, until time.Duration) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test", Organization: []string{"Proxies Ltd"}},
		NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(until),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func with(c tls.Certificate) func(*httptest.Server) {
	return func(s *httptest.Server) { s.TLS = &tls.Config{Certificates: []tls.Certificate{c}} }
}

const password = "hunter2-never-shown"

// through goes by the proxy at this address.
func through(t *testing.T, address string) ProxyFunc {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("ci", password)
	return http.ProxyURL(u)
}

// tunnel is what a proxy does when it is asked for a connection.
func tunnel(t *testing.T, w http.ResponseWriter, to string) {
	t.Helper()
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

// get sends a request and reads its answer.
func get(t *testing.T, c *Client, address string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// client returns a client whose connections end with the test.
func client(t *testing.T, o ClientOptions) *Client {
	t.Helper()
	c := NewClient(o)
	t.Cleanup(c.Close)
	return c
}
