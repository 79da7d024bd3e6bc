package cluster

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// server is a TLS server on loopback that counts its connections.
type server struct {
	*httptest.Server
	opened atomic.Int32
}

// serve starts a server; change, if not nil, changes it before. It speaks HTTP/2
// unless that takes it away.
func serve(t *testing.T, handler http.Handler, change func(*httptest.Server)) *server {
	t.Helper()
	s := &server{Server: httptest.NewUnstartedServer(handler)}
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate(t, publicName)}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.opened.Add(1)
		}
	}
	if change != nil {
		change(s.Server)
	}
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func http1(s *httptest.Server) { s.EnableHTTP2 = false }

// config is the connection to a server, with a token.
func (s *server) config() *rest.Config {
	return &rest.Config{
		Host:            s.URL,
		BearerToken:     testToken,
		TLSClientConfig: rest.TLSClientConfig{CAData: authority().PEM},
	}
}

const testToken = "tok-5f2a-never-shown"

// authority is the cluster's own.
var authority = sync.OnceValue(func() *standin.Authority {
	a, err := standin.NewAuthority("kubernetes")
	if err != nil {
		panic(err)
	}
	return a
})

// certificate is that of a server on the loopback which has other names as well.
func certificate(t *testing.T, names ...string) tls.Certificate {
	t.Helper()
	c, err := authority().Server(names...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// proxy starts one that wants the user and password of through.
func proxy(t *testing.T) *standin.Proxy {
	t.Helper()
	p, err := standin.NewProxy(standin.NewLedger(), "ci", testPassword)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
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

// through goes by the proxy at this address.
func through(t *testing.T, proxy string) func(*http.Request) (*url.URL, error) {
	t.Helper()
	u, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("ci", testPassword)
	return http.ProxyURL(u)
}

// connect returns a client whose waits are short.
func connect(t *testing.T, cfg *rest.Config, options ...Option) *Client {
	t.Helper()
	short := func(c *Client, _ *rest.Config) {
		c.times.request, c.times.dial, c.times.handshake = 10*time.Second, 2*time.Second, 2*time.Second
		c.times.ping, c.times.pong = 200*time.Millisecond, time.Second
		c.times.silence, c.times.proof = 300*time.Millisecond, 3*time.Second
		c.times.pauseMin, c.times.pauseMax = 5*time.Millisecond, 50*time.Millisecond
	}
	c, err := New(cfg, append([]Option{short}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// wantCallError checks the kind of an error, that its text holds all of the
// parts, and that it holds no secret.
func wantCallError(t *testing.T, err error, kind oneshot.Kind, parts ...string) {
	t.Helper()
	var call *oneshot.CallError
	if !errors.As(err, &call) {
		t.Fatalf("got %v, want a CallError", err)
	}
	if call.Kind != kind {
		t.Errorf("kind %d, want %d: %v", call.Kind, kind, err)
	}
	told := err.Error() + ". " + call.Fix
	for _, part := range parts {
		if !strings.Contains(told, part) {
			t.Errorf("%q is not in: %s", part, told)
		}
	}
	if strings.Contains(told, testToken) || strings.Contains(told, testPassword) {
		t.Errorf("a secret is in: %s", told)
	}
}

const testPassword = "hunter2-never-shown"

// relay forwards connections to a server until it is frozen: then nothing comes
// through the connections there are, and nobody is told.
type relay struct {
	net.Listener
	target string
	mu     sync.Mutex
	frozen chan struct{}
	opened atomic.Int32
}

func newRelay(t *testing.T, target string) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Listener: listener, target: target, frozen: make(chan struct{})}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			r.opened.Add(1)
			go r.forward(conn)
		}
	}()
	return r
}

// freeze stops all connections that there are.
func (r *relay) freeze() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.frozen)
	r.frozen = make(chan struct{})
}

func (r *relay) forward(conn net.Conn) {
	r.mu.Lock()
	frozen := r.frozen
	r.mu.Unlock()
	upstream, err := net.Dial("tcp", r.target)
	if err != nil {
		_ = conn.Close()
		return
	}
	var ended sync.WaitGroup
	for _, pair := range [][2]net.Conn{{conn, upstream}, {upstream, conn}} {
		ended.Go(func() {
			buffer := make([]byte, 32<<10)
			for {
				n, err := pair[0].Read(buffer)
				select {
				case <-frozen:
					n = 0
				default:
				}
				if _, werr := pair[1].Write(buffer[:n]); err != nil || werr != nil {
					break
				}
			}
			_ = conn.Close()
			_ = upstream.Close()
		})
	}
	ended.Wait()
}
