package cluster

import (
	"context"
	"errors"
	"fmt"

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
		err = c.proxyRefused(cause, err)
		if cause.Status/100 == 4 {
			return oneshot.Unreachable, err
		}
	case network.NoSuchHost:
		return oneshot.Unreachable, hinted(err, c.unresolved(cause))
	default:
		if hint := c.hints().untrusted(cause); hint != "" {
			return oneshot.Unreachable, hinted(err, hint)
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
		return oneshot.Unavailable, hinted(err, c.hints().unanswered(c.base.Hostname(), cause.Address))
	case expired:
		return oneshot.Unavailable, errors.New("no connection in the time that a request gets")
	}
	return oneshot.Unavailable, err
}
