package cluster

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// connections is the innermost transport. It adds to [http.Transport] that
// requests which come together share one new connection, that all connections
// can be given up at once, and that one can know whether a request was sent.
type connections struct {
	current atomic.Pointer[transport]
	make    func() transport
	// sending, if not nil, is shown each request as it is sent, credential and
	// all.
	sending func(*http.Request)
	// dialing is held by the one request that may be making a connection.
	dialing chan struct{}
}

// transport is what connections needs of an [http.Transport]; tests have others.
type transport interface {
	http.RoundTripper
	CloseIdleConnections()
}

func newConnections(cfg *rest.Config, t *times) (*connections, error) {
	config, err := rest.TLSConfigFor(cfg)
	if err != nil {
		return nil, err
	}
	c := &connections{dialing: make(chan struct{}, 1)}
	c.make = func() transport {
		return network.NewTransport(network.Settings{
			TLS:         config.Clone(), // nil stays nil
			Proxy:       cfg.Proxy,
			DialContext: cfg.Dial,
			Dial:        t.dial,
			Handshake:   t.handshake,
			Idle:        t.request,
			Ping:        t.ping,
			Pong:        t.pong,
		})
	}
	c.renew()
	return c, nil
}

// exchange follows one request through the wrappers to the connection.
type exchange struct {
	// sent is set once the request had a connection to be written to. As long
	// as it is not, the server cannot have seen anything of it.
	sent atomic.Bool
}

type exchangeKey struct{}

// RoundTrip sends one request. Only one at a time may be without a connection:
// the next one finds the connection that the one before it made, and shares it
// where it is HTTP/2.
func (c *connections) RoundTrip(req *http.Request) (*http.Response, error) {
	if c.sending != nil {
		c.sending(req)
	}
	ctx := req.Context()
	select {
	case c.dialing <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	var connected atomic.Bool
	leave := func() {
		if connected.CompareAndSwap(false, true) {
			<-c.dialing
		}
	}
	defer leave()
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		if x != nil {
			x.sent.Store(true)
		}
		leave()
	}}
	return (*c.current.Load()).RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, trace)))
}

// renew gives up all connections: requests under way may end on them, new ones
// will not use them.
func (c *connections) renew() {
	fresh := c.make()
	if old := c.current.Swap(&fresh); old != nil {
		(*old).CloseIdleConnections()
	}
}

func (c *connections) close() { (*c.current.Load()).CloseIdleConnections() }
