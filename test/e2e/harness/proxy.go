package harness

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// Proxy stands before an API server, under a certificate of its own, and spoils
// the requests that its rules choose. Everything else passes as it is, watches
// among it.
type Proxy struct {
	// URL and CA are for a kubeconfig.
	URL string
	CA  []byte

	server  *http.Server
	forward *httputil.ReverseProxy
	mu      sync.Mutex
	rules   []*Rule
	conns   map[net.Conn]bool
}

// Rule says what happens to some requests.
type Rule struct {
	// Seen is closed when the rule was first applied.
	Seen chan struct{}

	match func(*http.Request) bool
	fault Fault
	left  int // how often it may still be applied, negative for no end
	first sync.Once
}

// front is the authority of all proxies: to who comes by way of them, the API server
// is that of one cluster, whichever of them it is.
var front = sync.OnceValues(func() (*standin.Authority, error) { return standin.NewAuthority("front") })

// NewProxy starts a proxy for the cluster's API server. Its certificate is good
// for the loopback, and for the other names.
func NewProxy(c *cluster.Cluster, names ...string) (*Proxy, error) {
	ca, err := front()
	if err != nil {
		return nil, err
	}
	return NewProxyOf(ca, c, names...)
}

// NewProxyOf is [NewProxy] with an authority of its own, which makes the API server
// that of another cluster.
func NewProxyOf(ca *standin.Authority, c *cluster.Cluster, names ...string) (*Proxy, error) {
	upstream, err := url.Parse(c.Server())
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(c.CAFile())
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	certificate, err := ca.Server(names...)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	silent := stdlog.New(discard{}, "", 0)
	p := &Proxy{URL: "https://" + listener.Addr().String(), CA: ca.PEM, conns: map[net.Conn]bool{}}
	p.forward = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true},
		FlushInterval: -1, // a watch shows each event when it comes
		ErrorLog:      silent,
		// A server that is not there gives no answer, and neither do we.
		ErrorHandler: func(_ http.ResponseWriter, r *http.Request, _ error) { standin.Cut(r) },
	}
	p.server = &http.Server{
		Handler:           p,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          silent,
		ConnContext:       standin.ConnContext,
		ConnState:         p.note,
	}
	go func() {
		if err := p.server.ServeTLS(listener, "", ""); err != nil && !errors.Is(err, http.ErrServerClosed) {
			panic(fmt.Sprintf("the proxy ended: %v", err))
		}
	}()
	return p, nil
}

// Close ends the proxy and all its connections.
func (p *Proxy) Close() error { return p.server.Close() }

// note keeps which connections there are.
func (p *Proxy) note(conn net.Conn, state http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch state {
	case http.StateNew:
		p.conns[conn] = true
	case http.StateClosed, http.StateHijacked:
		delete(p.conns, conn)
	case http.StateActive, http.StateIdle:
	}
}

// CutAll ends all connections that there are, with the requests that are under
// way on them. New ones are taken.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		_ = conn.Close() // It may just have ended.
	}
}

// On adds a rule: the next times requests that match meet the fault; negative
// times are no end. Of the rules that match, the first counts.
func (p *Proxy) On(match func(*http.Request) bool, times int, fault Fault) *Rule {
	rule := &Rule{Seen: make(chan struct{}), match: match, fault: fault, left: times}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, rule)
	return rule
}

// ServeHTTP implements [http.Handler].
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rule := p.rule(r)
	if rule == nil {
		p.forward.ServeHTTP(w, r)
		return
	}
	rule.fault(w, r, p.forward, func() { rule.first.Do(func() { close(rule.Seen) }) })
}

// rule returns the rule for a request, and counts it as applied.
func (p *Proxy) rule(r *http.Request) *Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, rule := range p.rules {
		if rule.left != 0 && rule.match(r) {
			rule.left--
			return rule
		}
	}
	return nil
}

type discard struct{}

// Write implements [io.Writer].
func (discard) Write(p []byte) (int, error) { return len(p), nil }
