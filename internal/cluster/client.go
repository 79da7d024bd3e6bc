// Package cluster speaks to the API server of a Kubernetes cluster: the few
// reads, the one create and the one watch that an execution needs, and the
// ConfigMaps that records of it are kept in.
//
// It builds on client-go's connection settings (TLS, credentials, wrappers) and
// sends plain HTTP requests with them. Objects are handed on as the JSON the
// server sent, since digests are taken over it; a typed client would decode and
// encode it anew, and is many times the size.
package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/kubeconfig"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
	"github.com/aks-oneshot/aks-oneshot/internal/secret"
)

// Client speaks to one API server. It is safe for concurrent use, and sends all
// its requests over one connection where the server speaks HTTP/2, as API
// servers do.
type Client struct {
	base  *url.URL
	rt    http.RoundTripper
	conns *connections
	times times
	// maxObject bounds an answer and an event of a watch, in bytes.
	maxObject int64

	// answered is set by the first request that succeeds.
	answered atomic.Bool

	// identity is what Identity returns.
	identity string

	// origin has the hints of a connection that is not from a kubeconfig which
	// the user gave; nil is one that is.
	origin hints

	notify func(string)
	tellMu sync.Mutex
	told   map[string]bool // by gist

	// secrets are the client's own credentials, and mask is told each one.
	secrets secret.Set
	mask    func(string)
	maskMu  sync.Mutex
}

var _ oneshot.Cluster = (*Client)(nil)

// times are the durations of everything that waits.
type times struct {
	// request is what one request gets that is not a watch: the API server's
	// own limit for such requests (--request-timeout).
	request time.Duration
	// dial and handshake are what making a connection gets.
	dial, handshake time.Duration
	// ping is how long an HTTP/2 connection may be silent before it is asked
	// for a sign of life, and pong how long that may take. Together they bound
	// the time in which a dead connection is noticed, to less than silence.
	ping, pong time.Duration

	// silence is how long a watch may show nothing before a read has to prove
	// that there is nothing to show, and proof is what such a read gets.
	silence, proof time.Duration
	// stretch is how long bookmarks, or watches that end, can put such a read off.
	stretch time.Duration
	// watch is how long the server is asked to keep up a watch; up to as much
	// again is added at random, so that clients do not come back all at once.
	watch time.Duration
	// brief is less than any watch lasts that works.
	brief time.Duration
	// pauseMin and pauseMax bound the pauses before something is tried again.
	pauseMin, pauseMax time.Duration
	// patience is how long a refusal may last that came after the server had
	// answered well: credentials are renewed, authorizers restarted.
	patience time.Duration
	// pollMin and pollMax bound the pauses between reads where watching is
	// refused, and rewatch is how long it is left at that.
	pollMin, pollMax, rewatch time.Duration
}

var defaultTimes = times{
	request:   time.Minute,
	dial:      10 * time.Second,
	handshake: 10 * time.Second,
	ping:      15 * time.Second,
	pong:      10 * time.Second,
	silence:   30 * time.Second,
	proof:     10 * time.Second,
	stretch:   2 * time.Minute,
	watch:     5 * time.Minute,
	brief:     time.Second,
	pauseMin:  500 * time.Millisecond,
	pauseMax:  10 * time.Second,
	patience:  time.Minute,
	pollMin:   time.Second,
	pollMax:   30 * time.Second,
	rewatch:   5 * time.Minute,
}

// Option changes a new [Client].
type Option func(*Client, *rest.Config)

// WithVersion sets the version that the client gives in its User-Agent, where
// audit logs show it. The default is "dev".
func WithVersion(version string) Option {
	return func(_ *Client, cfg *rest.Config) { cfg.UserAgent = "aks-oneshot/" + version }
}

// WithNotify sets a function that is told, one line at a time, what people
// should know and no error says: warnings of the API server, watching that is
// refused, contact that is lost. It is not called twice with the same text, in which
// ids and times do not count, nor concurrently.
func WithNotify(notify func(text string)) Option {
	return func(c *Client, _ *rest.Config) { c.notify = notify }
}

// New returns a client for the API server that cfg describes, as made by
// [kubeconfig.Read] or for a credential of another origin. Nothing is sent yet.
// cfg is not changed.
//
// The server must be https and verified. A proxy is cfg's, or that of the
// environment (HTTPS_PROXY, NO_PROXY). The error is config-invalid.
func New(cfg *rest.Config, options ...Option) (*Client, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.UserAgent = "aks-oneshot/dev"
	c := &Client{times: defaultTimes, maxObject: maxObject, told: map[string]bool{}}
	for _, option := range options {
		option(c, cfg)
	}
	base, err := kubeconfig.ServerURL(cfg.Host)
	if err != nil {
		return nil, failure.New(failure.ConfigInvalid, "%w", err).At("server")
	}
	c.base, c.identity = base, identityOf(cfg, base)
	switch {
	case cfg.Insecure:
		err = errors.New("a server that is not verified is not allowed")
	case cfg.ExecProvider != nil || cfg.AuthProvider != nil:
		err = errors.New("credential plugins are not run here")
	case cfg.Transport != nil:
		err = errors.New("a transport of its own is not possible")
	}
	if err != nil {
		return nil, failure.New(failure.ConfigInvalid, "connecting to %s: %w", base.Host, err)
	}
	c.learn(credentials(cfg, base)...)
	if c.conns, err = newConnections(cfg, &c.times); err == nil {
		c.conns.sending = c.learnSent
		c.rt, err = rest.HTTPWrappersForConfig(cfg, c.conns)
	}
	if err != nil {
		return nil, failure.New(failure.ConfigInvalid, "connecting to %s: %w", base.Host, err)
	}
	return c, nil
}

// Close closes the connections that are not in use.
func (c *Client) Close() { c.conns.close() }

// maxTold bounds what is remembered so as not to be told twice.
const maxTold = 200

// tell hands a line for people on, once.
func (c *Client) tell(format string, args ...any) {
	if c.notify == nil {
		return
	}
	text := fmt.Sprintf(format, args...)
	c.tellMu.Lock()
	defer c.tellMu.Unlock()
	if c.told[gist(text)] || len(c.told) >= maxTold {
		return
	}
	c.told[gist(text)] = true
	c.notify(text)
}
