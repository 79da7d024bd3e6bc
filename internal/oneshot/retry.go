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
)

// retry repeats a read until it succeeds, fails for good, or ctx ends. It backs
// off between tries and waits as long as the server asks to (Retry-After), but
// does not wait for a try that would come after ctx's deadline. The error is
// the last try's own.
func (r *run) retry(ctx context.Context, read func(context.Context) error) error {
	backoff := firstBackoff
	for tries := 1; ; tries++ {
		err := read(ctx)
		var call *CallError
		if err == nil || !errors.As(err, &call) || !call.Temporary() {
			return err
		}
		if !r.pause(ctx, max(backoff, call.RetryAfter), err) {
			if tries > 1 {
				return fmt.Errorf("gave up after %d tries, the last answer: %w", tries, err)
			}
			return err
		}
		backoff = min(2*backoff, maxBackoff)
	}
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
