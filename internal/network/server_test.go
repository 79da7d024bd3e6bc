package network

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// authority is the one that all servers here have their certificates of, unless a
// test is about that.
var authority = sync.OnceValue(func() *standin.Authority {
	a, err := standin.NewAuthority("Proxies Ltd")
	if err != nil {
		panic(err)
	}
	return a
})

// certificate is that of a server on the loopback.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	c, err := authority().Server()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serve starts a TLS server that speaks HTTP/2; change, if not nil, changes it
// before.
func serve(t *testing.T, handler http.HandlerFunc, change func(*httptest.Server)) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate(t)}}
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

// nowhere resolves no name but localhost.
func nowhere(t *testing.T) *net.Resolver {
	t.Helper()
	names, err := standin.NewNames()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = names.Close() })
	return names.Resolver()
}

// nobody is an address at which nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	n, err := standin.NewNobody()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n.Address
}

// trusted are the client's certificate authorities.
func trusted() *x509.CertPool { return authority().Pool() }

func with(c tls.Certificate) func(*httptest.Server) {
	return func(s *httptest.Server) { s.TLS.Certificates = []tls.Certificate{c} }
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

// proxy starts one that wants the user and password of through.
func proxy(t *testing.T) *standin.Proxy {
	t.Helper()
	p, err := standin.NewProxy(standin.NewLedger(), "ci", password)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
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
	t.Cleanup(c.remote.CloseIdleConnections)
	return c
}
