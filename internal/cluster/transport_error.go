package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// transportError tells what it means that a request got no answer, or, with a
// status, that its answer was cut off. ctx is the caller's, limited has the time
// that the request gets.
func (c *Client) transportError(ctx, limited context.Context, call call, x *exchange, status int, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("could not %s %s %s in namespace %s: %w", call.verb, call.resource, call.name, call.namespace, context.Cause(ctx))
	}
	kind, err := c.meaning(err, limited.Err() != nil, x.sent.Load())
	return call.failed(kind, status, err)
}

// meaning returns the kind of a failure, and the failure with a hint where one
// helps. expired says that the request's own time was up, sent that a server may
// have seen something of it.
func (c *Client) meaning(err error, expired, sent bool) (oneshot.Kind, error) {
	var (
		coded  *failure.Error
		proxy  *proxyError
		lookup *net.DNSError
		op     *net.OpError
		wait   net.Error
	)
	switch {
	case errors.As(err, &coded):
		// A credential that could not be had: the wrapper that gets it has
		// tried what there is to try.
		return oneshot.Unreachable, err
	case errors.Is(err, errProxyAddress), errors.As(err, &proxy) && proxy.status/100 == 4:
		return oneshot.Unreachable, err
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return oneshot.Unreachable, c.unresolved(lookup, err)
	}
	if hint := untrusted(err); hint != "" {
		return oneshot.Unreachable, fmt.Errorf("%w; %s", err, hint)
	}
	timedOut := expired || lostPing(err) || (errors.As(err, &wait) && wait.Timeout())
	switch {
	case timedOut && sent:
		if expired {
			return oneshot.TimedOut, errors.New("no answer in the time that a request gets")
		}
		return oneshot.TimedOut, fmt.Errorf("the connection fell silent: %w", err)
	case timedOut && errors.As(err, &op) && op.Op == "dial":
		return oneshot.Unavailable, c.unanswered(op, err)
	case expired:
		return oneshot.Unavailable, errors.New("no connection in the time that a request gets")
	}
	return oneshot.Unavailable, err
}

// lostPing recognizes net/http's error for an HTTP/2 connection whose peer does
// not answer pings. It has no type. Like a request that timed out, one on such a
// connection may still have its effect: the peer may only be slow.
func lostPing(err error) bool {
	return strings.Contains(err.Error(), "http2: client connection lost")
}

// untrusted returns a hint when one side does not trust the other's certificate,
// which no repetition mends, else "".
func untrusted(err error) string {
	var (
		verification *tls.CertificateVerificationError
		hostname     x509.HostnameError
		certificate  x509.CertificateInvalidError
		record       tls.RecordHeaderError
		op           *net.OpError
	)
	switch {
	case errors.As(err, &hostname):
		return "the server is not the one that the kubeconfig names; check server and tls-server-name"
	case errors.As(err, &certificate) && certificate.Reason == x509.Expired:
		return "check the clock of this machine, or have the cluster's certificates rotated"
	case errors.As(err, &verification):
		return "check that the kubeconfig's certificate-authority-data is this cluster's, and that no proxy opens the connection"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "the server does not speak TLS; check the host and port"
	case errors.As(err, &op) && op.Op == "remote error" && refusesCertificate(op.Err):
		return "the server does not accept the client certificate; get a new kubeconfig"
	}
	return ""
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

// unresolved explains a name that does not resolve.
func (c *Client) unresolved(lookup *net.DNSError, err error) error {
	host := c.base.Hostname()
	switch {
	case !strings.EqualFold(strings.TrimSuffix(lookup.Name, "."), host):
		return fmt.Errorf("%w; check HTTPS_PROXY or the kubeconfig's proxy-url", err)
	case strings.Contains(host, ".privatelink.") || strings.Contains(host, ".private."):
		return fmt.Errorf("%w; the API server's name is private: run this on a runner inside the cluster's virtual network, or in one that its private DNS zone is linked to", err)
	case strings.HasSuffix(host, ".azmk8s.io"):
		return fmt.Errorf("%w; the cluster is private, stopped or deleted: a private one needs a runner inside its virtual network, a stopped one az aks start", err)
	}
	return fmt.Errorf("%w; check the server in the kubeconfig, and that its name resolves from this runner's network", err)
}

// unanswered explains an address that does not answer.
func (c *Client) unanswered(op *net.OpError, err error) error {
	var at netip.Addr
	if tcp, ok := op.Addr.(*net.TCPAddr); ok {
		at, _ = netip.AddrFromSlice(tcp.IP)
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return err
	case at.Unmap().IsPrivate():
		return fmt.Errorf("%w; the address is private: run this on a runner inside that network", err)
	case strings.HasSuffix(c.base.Hostname(), ".azmk8s.io"):
		return fmt.Errorf("%w; if the cluster has authorized IP ranges, this runner's address must be among them", err)
	}
	return err
}
