package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
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
	if _, ok := errors.AsType[*failure.Error](err); ok {
		// A credential that could not be had: the wrapper that gets it has
		// tried what there is to try.
		return oneshot.Unreachable, err
	}
	cause := network.CauseOf(err)
	switch cause.Kind {
	case network.ProxyAddress:
		return oneshot.Unreachable, err
	case network.ProxyRefused:
		if cause.Status/100 == 4 {
			return oneshot.Unreachable, proxyRefused(cause, err)
		}
		err = proxyRefused(cause, err)
	case network.NoSuchHost:
		return oneshot.Unreachable, c.unresolved(cause, err)
	default:
		if hint := untrusted(cause); hint != "" {
			return oneshot.Unreachable, fmt.Errorf("%w; %s", err, hint)
		}
	}
	timedOut := expired || cause.Kind == network.TimedOut
	switch {
	case timedOut && sent:
		if expired {
			return oneshot.TimedOut, errors.New("no answer in the time that a request gets")
		}
		return oneshot.TimedOut, fmt.Errorf("the connection fell silent: %w", err)
	case timedOut && cause.Dialing && !cause.Proxy:
		return oneshot.Unavailable, c.unanswered(cause, err)
	case expired:
		return oneshot.Unavailable, errors.New("no connection in the time that a request gets")
	}
	return oneshot.Unavailable, err
}

// proxyRefused explains a proxy that does not make the connection.
func proxyRefused(cause network.Cause, err error) error {
	switch cause.Status {
	case 0:
		return err
	case http.StatusProxyAuthRequired:
		return fmt.Errorf("%w to the API server; HTTPS_PROXY or the kubeconfig's proxy-url needs a user and password that it accepts", err)
	}
	return fmt.Errorf("%w to the API server", err)
}

// untrusted returns a hint when one side does not trust the other's certificate,
// which no repetition mends, else "".
func untrusted(cause network.Cause) string {
	switch cause.Kind {
	case network.WrongHost:
		return "the server is not the one that the kubeconfig names; check server and tls-server-name"
	case network.ExpiredCertificate:
		return "check the clock of this machine, or have the cluster's certificates rotated"
	case network.UntrustedCertificate:
		return "check that the kubeconfig's certificate-authority-data is this cluster's, and that no proxy opens the connection"
	case network.NotTLS:
		return "the server does not speak TLS; check the host and port"
	case network.ClientCertificateRefused:
		return "the server does not accept the client certificate; get a new kubeconfig"
	}
	return ""
}

// unresolved explains a name that does not resolve.
func (c *Client) unresolved(cause network.Cause, err error) error {
	host := c.base.Hostname()
	switch {
	case !strings.EqualFold(cause.Host, host):
		return fmt.Errorf("%w; check HTTPS_PROXY or the kubeconfig's proxy-url", err)
	case strings.Contains(host, ".privatelink.") || strings.Contains(host, ".private."):
		return fmt.Errorf("%w; the API server's name is private: run this on a runner inside the cluster's virtual network, or in one that its private DNS zone is linked to", err)
	case strings.HasSuffix(host, ".azmk8s.io"):
		return fmt.Errorf("%w; the cluster is private, stopped or deleted: a private one needs a runner inside its virtual network, a stopped one az aks start", err)
	}
	return fmt.Errorf("%w; check the server in the kubeconfig, and that its name resolves from this runner's network", err)
}

// unanswered explains an address that does not answer.
func (c *Client) unanswered(cause network.Cause, err error) error {
	switch {
	case cause.Address.IsPrivate():
		return fmt.Errorf("%w; the address is private: run this on a runner inside that network", err)
	case strings.HasSuffix(c.base.Hostname(), ".azmk8s.io"):
		return fmt.Errorf("%w; if the cluster has authorized IP ranges, this runner's address must be among them", err)
	}
	return err
}
