package artifact

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// pace says how often a request is made, and how long the pauses are. The official
// client makes 5 tries with pauses from 3 s on; something waits here, so that the
// first are shorter.
type pace struct {
	tries  int
	first  time.Duration // the first pause
	factor int           // each is so many times the one before
	most   time.Duration // the longest pause that a service may ask for
	try    time.Duration // what one try may take
	sleep  func(context.Context, time.Duration)
}

// pause is the sleep of a store that is given no other.
func pause(ctx context.Context, d time.Duration) { _ = network.Sleep(ctx, d) } // Who pauses looks at ctx.

// do tries until there is an answer that is none of those that may pass. It returns
// nil, a *trouble, or what ended ctx.
func (p pace) do(ctx context.Context, doing string, try func(context.Context) *trouble) error {
	unsure := false
	for n := 1; ; n++ {
		if err := context.Cause(ctx); err != nil {
			return ended(doing, err)
		}
		t := p.once(ctx, try)
		if t == nil {
			return nil
		}
		if err := context.Cause(ctx); err != nil {
			return ended(doing, err)
		}
		// A later try may be refused because of what an earlier one did.
		unsure = unsure || t.unsure()
		t.doing, t.tries, t.mayBeDone = doing, n, unsure
		// Who asks for a longer pause than there is time for would refuse until then.
		if n == p.tries || !t.temporary() || t.after > p.most {
			return t
		}
		p.sleep(ctx, p.pause(n, t.after))
	}
}

func (p pace) once(ctx context.Context, try func(context.Context) *trouble) *trouble {
	ctx, cancel := context.WithTimeout(ctx, p.try)
	defer cancel()
	return try(ctx)
}

// pause is how long to wait after so many tries, when the service asked for a pause,
// 0 when it did not.
func (p pace) pause(tries int, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	pause := p.first
	for range tries - 1 {
		pause *= time.Duration(p.factor)
	}
	return time.Duration(float64(pause) * (0.8 + rand.Float64()*0.4)) //nolint:gosec // It spreads requests, no more.
}

// endedError says that ctx ended; it has no code.
type endedError struct {
	doing string
	cause error
}

func ended(doing string, cause error) error { return &endedError{doing, cause} }

// Error tells what was being done.
func (e *endedError) Error() string { return fmt.Sprintf("%s: %v", e.doing, e.cause) }

// Unwrap returns what ended ctx.
func (e *endedError) Unwrap() error { return e.cause }

func isEnded(err error) bool {
	_, ok := errors.AsType[*endedError](err)
	return ok
}

func isPanic(err error) bool {
	_, ok := errors.AsType[*checkpoint.PanicError](err)
	return ok
}

// passing reports whether an answer may be another one soon.
func passing(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}
