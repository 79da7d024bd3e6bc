package standin

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Server is an HTTPS server on a port of 127.0.0.1, with HTTP/1.1 and HTTP/2. It
// is part of every stand-in.
type Server struct {
	// URL is where it is: https://127.0.0.1:PORT.
	URL string

	name    string
	handler http.Handler
	server  *http.Server
	delay   atomic.Int64
	conns   sync.WaitGroup
	ended   chan struct{} // closed when it takes no more connections

	mu    sync.Mutex
	rules []*rule
	log   []Request
	first func(*http.Request) *http.Request
}

// Request is a request that a stand-in was sent. It holds no secret.
type Request struct {
	// Service is the stand-in's name.
	Service string
	Method  string
	// Path is without the query.
	Path string
	// Operation is what is asked of GitHub's stores, as in the function [Operation];
	// empty for everything else.
	Operation string
	// Time is when its header was there.
	Time time.Time
	// Internal is true for those that one stand-in sends to another.
	Internal bool
}

// internal is how stand-ins know each other.
const internal = "aks-oneshot-standin"

// NewServer starts a server with a certificate of the authority. The name is the
// one in the log of requests.
func NewServer(name string, authority *Authority, handler http.Handler) (*Server, error) {
	certificate, err := authority.Server()
	if err != nil {
		return nil, err
	}
	return NewServerWith(name, certificate, handler)
}

// NewServerWith starts a server with a certificate that may well be wrong.
func NewServerWith(name string, certificate tls.Certificate, handler http.Handler) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "https://" + listener.Addr().String(), name: name, handler: handler, ended: make(chan struct{})}
	all, cancel := context.WithCancel(context.Background())
	s.server = &http.Server{
		Handler:           s,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          stdlog.New(io.Discard, "", 0),
		BaseContext:       func(net.Listener) context.Context { return all },
		ConnContext:       ConnContext,
		ConnState:         s.count,
	}
	go func() {
		defer close(s.ended)
		defer cancel()
		_ = s.server.ServeTLS(listener, "", "") // It ends with Close alone.
	}()
	return s, nil
}

// count keeps how many connections are open.
func (s *Server) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.conns.Done()
	case http.StateActive, http.StateIdle:
	}
}

// Close ends the server, its connections and what hangs on them, and returns
// when they are gone.
func (s *Server) Close() error {
	err := s.server.Close()
	<-s.ended
	s.conns.Wait()
	return err
}

// SetDelay makes every request from now on wait before it is answered, but not
// those that one stand-in sends to another.
func (s *Server) SetDelay(d time.Duration) { s.delay.Store(int64(d)) }

// Requests returns what was sent so far, in the order of their arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	own := r.UserAgent() == internal
	answer, first := s.note(r, own)
	if first != nil {
		r = first(r)
	}
	if !own && !pause(r.Context(), time.Duration(s.delay.Load())) {
		panic(http.ErrAbortHandler)
	}
	if answer != nil {
		answer(w, r, s.handler)
		return
	}
	s.handler.ServeHTTP(w, r)
}

// before has each request seen as it comes, whatever it is to meet; what is
// returned goes on in its place.
func (s *Server) before(first func(*http.Request) *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = first
}

// note keeps a request, and returns what it is to meet, nil for nothing, and who
// sees it before.
func (s *Server) note(r *http.Request, own bool) (Answer, func(*http.Request) *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, Request{Service: s.name, Method: r.Method, Path: r.URL.Path, Operation: operationOf(r), Time: time.Now(), Internal: own})
	for _, rule := range s.rules {
		if rule.left != 0 && rule.match(r) {
			rule.left--
			return rule.answer, s.first
		}
	}
	return nil, s.first
}

// pause waits, and reports whether nobody hung up meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

type connKey struct{}

// ConnContext is that of an [http.Server] whose handlers call [Cut].
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Cut ends the connection that a request came on, as a cable that is pulled:
// nothing more is sent, not even an end of the stream. It does not return.
func Cut(r *http.Request) {
	if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		if t, ok := conn.(*tls.Conn); ok {
			conn = t.NetConn()
		}
		_ = conn.Close()
	}
	panic(http.ErrAbortHandler)
}

// bearer returns the token of a request, empty when there is none.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

func closeAll(closers ...io.Closer) error {
	var errs []error
	for _, c := range closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
