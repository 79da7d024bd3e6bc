package standin

import (
	"context"
	"encoding/base64"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Proxy plays a proxy of a company: it tunnels (CONNECT, RFC 9110 section 9.3.6)
// to the loopback and nowhere else.
type Proxy struct {
	// URL is what HTTPS_PROXY is set to, with the user name and password when it
	// wants them.
	URL string

	credentials string // what it wants in Proxy-Authorization, empty for nothing
	server      *http.Server
	ended       chan struct{}
	stop        context.Context // it ends the tunnels
	cancel      context.CancelFunc
	tunnels     sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	refusal int
	routes  map[string]string
	hosts   []string
}

// NewProxy starts a proxy. Without a user name it wants no authentication.
func NewProxy(ledger *Ledger, user, password string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{URL: "http://" + listener.Addr().String(), ended: make(chan struct{}), routes: map[string]string{}}
	if user != "" {
		ledger.AddText("the password of a proxy", password)
		p.credentials = "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
		p.URL = "http://" + user + ":" + password + "@" + listener.Addr().String()
	}
	p.stop, p.cancel = context.WithCancel(context.Background())
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute, ErrorLog: stdlog.New(io.Discard, "", 0)}
	go func() {
		defer close(p.ended)
		_ = p.server.Serve(listener) // It ends with Close alone.
	}()
	return p, nil
}

// Close ends the proxy and its tunnels, and returns when they are gone.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.server.Close()
	p.cancel()
	<-p.ended
	p.tunnels.Wait()
	return err
}

// Refuse makes it answer with a status, such as 403, 407 or 502, from now on; 0
// ends that.
func (p *Proxy) Refuse(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusal = status
}

// Route makes it tunnel to an address of the loopback when it is asked for a host
// (name:port), so that real names can be used.
func (p *Proxy) Route(host, address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.routes[host] = strings.TrimPrefix(address, "https://")
}

// Hosts returns what it was asked for, host and port, the first one first.
func (p *Proxy) Hosts() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.hosts)
}

// admit keeps what was asked for, and decides: an address to tunnel to, or the
// status of a refusal.
func (p *Proxy) admit(r *http.Request) (address string, status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts = append(p.hosts, r.Host)
	address = orElse(p.routes[r.Host], r.Host)
	host, _, err := net.SplitHostPort(address)
	switch {
	case p.closed:
		return "", http.StatusServiceUnavailable
	case p.credentials != "" && r.Header.Get("Proxy-Authorization") != p.credentials:
		return "", http.StatusProxyAuthRequired
	case p.refusal != 0:
		return "", p.refusal
	case r.Method != http.MethodConnect:
		return "", http.StatusMethodNotAllowed
	case err != nil:
		return "", http.StatusBadRequest
	case host != "localhost" && !net.ParseIP(host).IsLoopback():
		return "", http.StatusForbidden
	}
	p.tunnels.Add(1)
	return address, 0
}

// ServeHTTP implements [http.Handler].
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	address, status := p.admit(r)
	if status != 0 {
		if status == http.StatusProxyAuthRequired {
			w.Header().Set("Proxy-Authenticate", `Basic realm="proxy"`)
		}
		http.Error(w, "the proxy refuses this", status)
		return
	}
	defer p.tunnels.Done()
	there, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(p.stop, "tcp", address)
	if err != nil {
		http.Error(w, "the proxy cannot reach "+r.Host, http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	p.tunnel(here, buffered, there)
}

// tunnel copies both ways until one side ends or the proxy does.
func (p *Proxy) tunnel(here net.Conn, ahead io.Reader, there net.Conn) {
	done := make(chan struct{}, 2)
	pass := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from)
		done <- struct{}{}
	}
	go pass(there, ahead)
	go pass(here, there)
	left := 2
	select {
	case <-done:
		left--
	case <-p.stop.Done():
	}
	_, _ = here.Close(), there.Close()
	for range left {
		<-done
	}
}
