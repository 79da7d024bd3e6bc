package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// transportError tells what it means that a request got no answer, or, with a
// status, that its answer was cut off. ctx is the caller's, limited has the time
// that the request gets.
func (c *Client) transportError(ctx, limited context.Context, call call, x *exchange, status int, err error) error {
	if _, held := errors.AsType[waiting](err); held && !call.reads() {
		// Whoever's time is up, it had no effect, which its sender has to know.
		return call.failed(oneshot.Throttled, 0, err)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("could not %s %s in namespace %s: %w", call.verb, call.target(), call.namespace, context.Cause(ctx))
	}
	kind, err := c.meaning(err, limited.Err() != nil, x.sent.Load())
	failed := call.failed(kind, status, err)
	if w, ok := errors.AsType[*worded](err); ok {
		failed.Fix = w.fix
	}
	return failed
}

// meaning returns the kind of a failure, and the failure in words, with a hint where
// one helps. expired says that the request's own time was up, sent that a server may
// have seen something of it.
func (c *Client) meaning(err error, expired, sent bool) (oneshot.Kind, error) {
	if coded, ok := errors.AsType[*failure.Error](err); ok {
		// A credential that could not be had: the wrapper that gets it has tried
		// what there is to try. Its code is told by whoever tells of the run.
		return oneshot.Unreachable, &worded{text: strings.Replace(err.Error(), string(coded.Code)+": ", "", 1), err: err}
	}
	if _, ok := errors.AsType[waiting](err); ok {
		return oneshot.Throttled, err
	}
	cause := network.CauseOf(err)
	if lasts(cause) {
		return oneshot.Unreachable, c.explained(cause, err, true)
	}
	timedOut := expired || cause.Kind == network.TimedOut
	switch {
	case timedOut && sent && expired:
		return oneshot.TimedOut, errors.New("no answer in the time that a request gets")
	case timedOut && sent:
		return oneshot.TimedOut, fmt.Errorf("the connection fell silent: %w", err)
	case expired && (!cause.Dialing || cause.Proxy):
		text := "no connection in the time that a request gets"
		return oneshot.Unavailable, errors.New(text + "; " + c.hints().connection(network.Cause{Kind: network.TimedOut}))
	}
	return oneshot.Unavailable, c.explained(cause, err, false)
}

// waiting is an error of a wrapper whose request had no effect, since what it needs
// has not come or had to be waited for, a token for example. Like one that a server
// wants to have later, it may be sent again by whoever sees that it still should.
type waiting interface {
	error
	// Waiting tells what for.
	Waiting() string
}

// lasts reports whether a cause is one that no repetition mends. A SOCKS proxy does
// not say so of its refusal, nor does a peer that ends a handshake.
func lasts(cause network.Cause) bool {
	switch cause.Kind {
	case network.ProxyRefused:
		return cause.Status/100 == 4
	case network.HandshakeRefused:
		return false
	}
	return !cause.Temporary()
}

// explained is an error in plain words, with what can be done about it: beside the
// words of one that ends a run, and in them where it is told while others are tried.
func (c *Client) explained(cause network.Cause, err error, final bool) error {
	text := cause.Text(strings.TrimSuffix(c.base.Host, ":443"))
	if _, cut := errors.AsType[*cutError](err); cut || text == "" {
		text = err.Error()
	}
	hint := c.hints().connection(cause)
	switch {
	case hint == "":
		return &worded{text: text, err: err}
	case final:
		return &worded{text: text, fix: strings.ToUpper(hint[:1]) + hint[1:], err: err}
	}
	return &worded{text: text + "; " + hint, err: err}
}

// worded is an error in other words. fix is a sentence on what can be done, where
// the words do not say it.
type worded struct {
	text, fix string
	err       error
}

func (e *worded) Error() string { return e.text }
func (e *worded) Unwrap() error { return e.err }

// cutError says that an answer ended before it was whole.
type cutError struct {
	what string
	err  error
}

func (e *cutError) Error() string { return e.what + " was cut off: " + e.err.Error() }
func (e *cutError) Unwrap() error { return e.err }
