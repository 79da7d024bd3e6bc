package configmap

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

const (
	// readTime and writeTime are what one request gets: an API server that has not
	// answered by then is asked again, on another connection if need be. A write has
	// to get through admission webhooks, each of which may take 30 seconds.
	// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#timeouts
	readTime, writeTime = 15 * time.Second, 35 * time.Second
	// enough is how long a Read or a Write goes on trying.
	enough = time.Minute
	// The pauses between tries double from the first to the longest.
	firstPause   = 250 * time.Millisecond
	longestPause = 10 * time.Second
	// settling is how long an API server that was not well may refuse what it
	// allows: it answers before its authorizer has loaded the roles.
	settling = 15 * time.Second
)

// errSilent is why a request ended that got no answer in time.
var errSilent = errors.New("no answer in the time that a request gets here")

// patience is what one Read or Write has, for all its requests.
type patience struct {
	ctx      context.Context
	began    time.Time
	pause    time.Duration
	troubled time.Time // when the server was last not well
}

func (s *Store) begin(ctx context.Context) *patience {
	return &patience{ctx: ctx, began: time.Now(), pause: firstPause}
}

// do sends a request, which gets the limited time, and again while it may yet
// succeed and there is patience left. It returns nil, the answer that no repetition
// changes, or a [*stoppedError].
func (p *patience) do(limit time.Duration, request func(context.Context) error) error {
	var last error
	for tries := 1; ; tries++ {
		err := try(p.ctx, limit, request)
		switch {
		case err == nil:
			return nil
		case p.ctx.Err() != nil:
			return &stoppedError{context.Cause(p.ctx), last}
		case !p.passes(err):
			return err
		}
		last = err
		wait := p.pause
		if call, ok := errors.AsType[*oneshot.CallError](err); ok {
			wait = max(wait, call.RetryAfter)
		}
		p.pause = min(2*p.pause, longestPause)
		deadline, bounded := p.ctx.Deadline()
		if time.Since(p.began)+wait > enough || bounded && time.Until(deadline) <= wait {
			return gaveUp(tries, err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-p.ctx.Done():
			timer.Stop()
			return &stoppedError{context.Cause(p.ctx), last}
		}
	}
}

func try(ctx context.Context, limit time.Duration, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSilent)
	defer cancel()
	return request(ctx)
}

// passes reports whether the same request may succeed later.
func (p *patience) passes(err error) bool {
	call, ok := errors.AsType[*oneshot.CallError](err)
	switch {
	case errors.Is(err, errSilent), ok && call.Temporary():
		p.troubled = time.Now()
		return true
	case ok && call.Kind == oneshot.Denied:
		return time.Since(p.troubled) < settling
	}
	return false
}

func gaveUp(tries int, last error) error {
	if tries == 1 {
		return last
	}
	return fmt.Errorf("gave up after %d tries, the last answer: %w", tries, last)
}

// stoppedError says that the context ended. last is what the server had answered
// before, if anything.
type stoppedError struct{ cause, last error }

func (e *stoppedError) Error() string {
	if e.last == nil {
		return e.cause.Error()
	}
	return fmt.Sprintf("%v (the last answer: %v)", e.cause, e.last)
}

func (e *stoppedError) Unwrap() error { return e.cause }

// kindOf is the kind of a call that did not succeed, 0 for anything else.
func kindOf(err error) oneshot.Kind {
	if call, ok := errors.AsType[*oneshot.CallError](err); ok {
		return call.Kind
	}
	return 0
}
