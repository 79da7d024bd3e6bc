package network

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// Cause is why a request got no answer, with what an adapter needs to tell it.
type Cause struct {
	Kind Kind
	// Proxy says that it happened on the way to the proxy, or there.
	Proxy bool
	// Dialing says that no connection was made.
	Dialing bool
	// Host is the name that was looked up, or that no certificate was for.
	Host string
	// Address is the one that was dialled, where it is known.
	Address netip.Addr
	// Status is the answer of a proxy that refused, 0 for one of SOCKS.
	Status int
	// Issuer is the issuer of a certificate that was not taken: that of a proxy
	// which opens connections tells about itself. It is the peer's own word.
	Issuer string
}

// Temporary reports whether the same request may be answered later.
func (c Cause) Temporary() bool {
	switch c.Kind {
	case AddressRefused, NoSuchHost, ProxyAddress, WrongHost, ExpiredCertificate, UntrustedCertificate, NotTLS, ClientCertificateRefused, HandshakeRefused, TooLarge:
		return false
	case ProxyRefused:
		return c.Status/100 == 5
	}
	return true
}

// CauseOf finds the cause in the tree of an error that a transport returned. What it
// means to people, and what they can do, is the caller's to tell.
func CauseOf(err error) Cause {
	cause := Cause{Kind: kindOf(err)}
	for op := range operations(err) {
		switch op.Op {
		case "proxyconnect", "socks connect":
			cause.Proxy = true
		case "dial":
			cause.Dialing = true
			if tcp, ok := op.Addr.(*net.TCPAddr); ok {
				address, _ := netip.AddrFromSlice(tcp.IP)
				cause.Address = address.Unmap()
			}
		}
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		cause.Host = strings.TrimSuffix(lookup.Name, ".")
	}
	if proxy, ok := errors.AsType[*ProxyError](err); ok {
		cause.Proxy, cause.Status = true, proxy.Status
	}
	cause.Proxy = cause.Proxy || cause.Kind == ProxyAddress
	if hostname, ok := errors.AsType[x509.HostnameError](err); ok {
		cause.Host = hostname.Host
	}
	if certificate, ok := errors.AsType[*tls.CertificateVerificationError](err); ok && len(certificate.UnverifiedCertificates) > 0 {
		cause.Issuer = certificate.UnverifiedCertificates[0].Issuer.String()
	}
	return cause
}

// operations yields the network operations in an error's tree, outermost first:
// one on the way to a proxy is within another.
func operations(err error) func(yield func(*net.OpError) bool) {
	return func(yield func(*net.OpError) bool) {
		for {
			op, ok := errors.AsType[*net.OpError](err)
			if !ok || !yield(op) {
				return
			}
			err = op.Err
		}
	}
}

func kindOf(err error) Kind {
	if _, ok := errors.AsType[*AddressError](err); ok {
		return AddressRefused
	}
	if kind := kindOfProxy(err); kind != Unknown {
		return kind
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		switch {
		case lookup.IsNotFound:
			return NoSuchHost
		case !lookup.IsTimeout:
			return LookupFailed
		}
	}
	if kind := kindOfTLS(err); kind != Unknown {
		return kind
	}
	return kindOfConnection(err)
}

func kindOfProxy(err error) Kind {
	if errors.Is(err, ErrProxyAddress) {
		return ProxyAddress
	}
	if _, ok := errors.AsType[*ProxyError](err); ok {
		return ProxyRefused
	}
	for op := range operations(err) {
		if op.Op == "socks connect" && !op.Timeout() {
			return ProxyRefused
		}
	}
	return Unknown
}

func kindOfTLS(err error) Kind {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return WrongHost
	}
	if certificate, ok := errors.AsType[x509.CertificateInvalidError](err); ok && certificate.Reason == x509.Expired {
		return ExpiredCertificate
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return UntrustedCertificate
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return NotTLS
	}
	for op := range operations(err) {
		switch {
		case op.Op != "remote error":
		case refusesCertificate(op.Err):
			return ClientCertificateRefused
		default:
			return HandshakeRefused
		}
	}
	return Unknown
}

// certificateAlerts are the alerts about a client's certificate:
// bad_certificate to certificate_unknown, unknown_ca, access_denied and
// certificate_required (RFC 8446, section 6.2).
var certificateAlerts = []tls.AlertError{42, 43, 44, 45, 46, 48, 49, 116}

// refusesCertificate recognizes such an alert. Those that are received are of a
// type that crypto/tls keeps to itself, with the same texts.
func refusesCertificate(alert error) bool {
	return slices.ContainsFunc(certificateAlerts, func(known tls.AlertError) bool { return known.Error() == alert.Error() })
}

func kindOfConnection(err error) Kind {
	if wait, ok := errors.AsType[net.Error](err); ok && wait.Timeout() || errors.Is(err, context.DeadlineExceeded) || lostPing(err) {
		return TimedOut
	}
	if _, ok := errors.AsType[*TooLargeError](err); ok {
		return TooLarge
	}
	for _, known := range connectionErrors {
		if slices.ContainsFunc(known.errs, func(known error) bool { return errors.Is(err, known) }) {
			return known.kind
		}
	}
	if _, ok := errors.AsType[streamError](err); ok {
		return ConnectionLost
	}
	return Unknown
}

// streamError is net/http's error for an HTTP/2 stream that the peer reset (RFC 9113,
// section 6.4). Its type is private, and fills any struct with these fields.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (streamError) Error() string { return "the stream was reset" }

// connectionErrors are what systems and net/http say of connections, in the order
// in which they count: what kept a connection from being made, before how one ended.
var connectionErrors = []struct {
	kind Kind
	errs []error
}{
	{ConnectionRefused, []error{syscall.ECONNREFUSED}},
	{NoRoute, []error{syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EADDRNOTAVAIL}},
	{ConnectionLost, []error{syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed}},
}

// lostPing recognizes net/http's error for an HTTP/2 connection whose peer does
// not answer pings. It has no type. The peer may only be slow.
func lostPing(err error) bool {
	return err != nil && strings.Contains(err.Error(), "http2: client connection lost")
}
