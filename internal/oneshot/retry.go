package oneshot

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	firstBackoff = 250 * time.Millisecond
	maxBackoff   = 10 * time.Second

	// settling is how long an API server that was not well may refuse what it
	// allows: it answers before its authorizer has loaded the roles.
	settling = 15 * time.Second
)

// retry repeats a read until it succeeds, fails for good, or ctx ends. It backs
// off between tries and waits as long as the server asks to (Retry-After), but
// does not wait for a try that would come after ctx's deadline. A server that
// answers nothing at all is given up after unanswered, unless that is 0. The
// error is the server's last answer, if there was one.
func (r *run) retry(ctx context.Context, unanswered time.Duration, read func(context.Context) error) error {
	start, backoff, answered := time.Now(), firstBackoff, unanswered == 0
	var last error
	var troubled time.Time // when the server was last not well
	for tries := 1; ; tries++ {
		err := read(ctx)
		var call *CallError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &call) && (call.Temporary() || call.Kind == Denied && time.Since(troubled) < settling):
			last = err
			if call.Temporary() {
				troubled = time.Now()
			}
		case call == nil && ctx.Err() != nil && last != nil:
			// The end of the time cut this try off; what came before says more.
			return gaveUp(tries-1, last)
		default:
			return err
		}
		answered = answered || call.Status != 0
		wait := max(backoff, call.RetryAfter)
		if !answered && time.Since(start)+wait > unanswered || !r.pause(ctx, wait, err) {
			return gaveUp(tries, err)
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

func gaveUp(tries int, last error) error {
	if tries == 1 {
		return last
	}
	return fmt.Errorf("gave up after %d tries, the last answer: %w", tries, last)
}

// pause waits before a request is repeated because of err. It reports whether
// there is time for another try; if not, it returns at once.
func (r *run) pause(ctx context.Context, d time.Duration, err error) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	r.notify(EventRetrying, "trying again in %s: %v", d.Round(time.Millisecond), err)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// withGrace returns a context that outlives ctx by d, for what must not be left
// half done: a create that is under way, a record that makes a step safe.
func withGrace(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(d, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() { stop(); cancel() }
}
