package network

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// maxHeader bounds the header of an answer, in bytes.
const maxHeader = 256 << 10

// Settings are what a transport is made with. A duration of 0 is no limit.
type Settings struct {
	// TLS is copied: a transport changes its own. nil trusts the system's certificate authorities, or
	// those of SSL_CERT_FILE and SSL_CERT_DIR (crypto/x509).
	TLS *tls.Config
	// Proxy is as in [Proxy].
	Proxy ProxyFunc
	// DialContext opens a connection; nil does so within Dial.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// Dial, Handshake and Header bound what comes before the body of an answer.
	Dial, Handshake, Header time.Duration
	// Idle is how long a connection is kept that is not in use.
	Idle time.Duration
	// Ping is how long an HTTP/2 connection may be silent before it is asked for
	// a sign of life, and Pong how long that may take.
	Ping, Pong time.Duration
}

// NewTransport returns a transport that speaks TLS 1.2 or later, and HTTP/2 where
// the server does. It asks for no compression, so that an answer can be bounded
// while it is read, and takes at most 256 KiB of header.
func NewTransport(s Settings) *http.Transport {
	config := s.TLS.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	dial := s.DialContext
	if dial == nil {
		dial = (&net.Dialer{Timeout: s.Dial, KeepAlive: s.Ping}).DialContext
	}
	return &http.Transport{
		Proxy:                  Proxy(s.Proxy),
		OnProxyConnectResponse: checkProxy,
		DialContext:            dial,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    s.Handshake,
		ResponseHeaderTimeout:  s.Header,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        s.Idle,
		MaxResponseHeaderBytes: maxHeader,
		ForceAttemptHTTP2:      true,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout:  s.Ping,
			PingTimeout:      s.Pong,
			WriteByteTimeout: s.Ping + s.Pong,
		},
	}
}
