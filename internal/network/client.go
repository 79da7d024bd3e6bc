package network

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// defaultMaxBody bounds the body of an answer, in bytes, where nothing else is
// said.
const defaultMaxBody = 4 << 20

// Client sends requests to ordinary https services. It is safe for concurrent
// use. It fits where azcore wants a policy.Transporter.
//
// A redirect is an answer like any other: following one would hand a credential
// to somebody else. Nothing is repeated, but for what the transport knows that no
// server has seen.
type Client struct {
	sending func(*http.Request)
	local   bool
	maxBody int64
	// remote goes by the proxy of the environment, direct by none.
	remote, direct *http.Transport
}

// ClientOptions are what a client is made with. The zero value is ready for use.
type ClientOptions struct {
	// Sending, if not nil, is shown each request just before it is sent,
	// credentials and all, so that they can be masked. It may be called by
	// several goroutines, and must not change the request.
	Sending func(*http.Request)
	// MaxBody bounds the body of an answer, in bytes; 0 is 4 MiB.
	MaxBody int64
	// Local allows http to loopback and link-local addresses, where a machine
	// finds its own identity (169.254.169.254). They are never asked through a
	// proxy, whatever the environment says.
	Local bool
	// Proxy is as in [Proxy].
	Proxy ProxyFunc
	// RootCAs are the certificate authorities to trust; nil are the system's, or
	// those of SSL_CERT_FILE and SSL_CERT_DIR.
	RootCAs *x509.CertPool
	// Dial bounds the making of a connection; 0 is 10 s. A handshake has 10 s and
	// an answer's header 30 s. What a body may take is for the request's context
	// to bound.
	Dial time.Duration
}

// NewClient returns a client. Nothing is sent yet.
func NewClient(o ClientOptions) *Client {
	settings := Settings{
		Proxy:     o.Proxy,
		TLS:       &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		Dial:      o.Dial,
		Handshake: 10 * time.Second,
		Header:    30 * time.Second,
		Idle:      90 * time.Second,
		Ping:      15 * time.Second,
		Pong:      10 * time.Second,
	}
	if settings.Dial == 0 {
		settings.Dial = 10 * time.Second
	}
	c := &Client{sending: o.Sending, local: o.Local, maxBody: o.MaxBody, remote: NewTransport(settings)}
	if c.maxBody <= 0 {
		c.maxBody = defaultMaxBody
	}
	if c.local {
		c.direct = NewTransport(settings)
		c.direct.Proxy = nil
	}
	return c
}

// Do sends one request and returns its answer, whatever its status. The caller
// closes the body; reading more of it than the client takes is a
// [*TooLargeError].
//
// The error names the host that was asked, and nothing else of the address: a
// query or a user may be a secret. [CauseOf] finds what it wraps.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	transport, err := c.transport(req)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // as a RoundTripper has to, and nothing was read
		}
		return nil, err
	}
	if c.sending != nil {
		c.sending(req)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("could not reach %s: %w", req.URL.Host, err)
	}
	resp.Body = newBounded(resp.Body, c.maxBody)
	return resp, nil
}

// AddressError says that an address is not asked, whatever the network is like. It
// has the host, and nothing else of the address.
type AddressError struct{ text string }

// Error tells the host and what is wrong with the address.
func (e *AddressError) Error() string { return e.text }

// transport returns the transport that may be used for a request. The error is an
// [*AddressError].
func (c *Client) transport(req *http.Request) (*http.Transport, error) {
	switch {
	case req.URL == nil || req.URL.Hostname() == "":
		return nil, &AddressError{"could not send a request: its address is no URL with a host"}
	case req.URL.User != nil:
		return nil, &AddressError{"could not reach " + req.URL.Host + ": its address holds a user"}
	case c.local && isLocal(req.URL.Hostname()):
		return c.direct, nil
	case req.URL.Scheme != "https":
		return nil, &AddressError{"could not reach " + req.URL.Host + ": its address is no https URL; only https is allowed"}
	}
	return c.remote, nil
}

// isLocal reports whether a host is this machine or on its own link.
func isLocal(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && (address.Unmap().IsLoopback() || address.Unmap().IsLinkLocalUnicast())
}
