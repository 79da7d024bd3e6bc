package control

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// together runs all functions at once and returns what went wrong; the first
// failure ends the wait of the others.
func together(ctx context.Context, fs ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, f := range fs {
		wg.Go(func() {
			if err := f(ctx); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

const (
	pollEvery  = 25 * time.Millisecond
	startLimit = 90 * time.Second // a machine that is busy with other builds, not one that hangs
)

// until tries f until it works, a watched process ends, or time is up.
func until(ctx context.Context, what string, watch []*process, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		for _, p := range watch {
			if e := p.ended(); e != nil {
				return fmt.Errorf("%s: %w", what, e)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return gaveUp(ctx, what, watch, err)
		}
	}
}

func gaveUp(ctx context.Context, what string, watch []*process, last error) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	err := fmt.Errorf("%s: not within %v: %w", what, startLimit, last)
	for _, p := range watch {
		err = fmt.Errorf("%w\nthe end of the log of %s:\n%s", err, p.name, Tail(p.log, 20))
	}
	return err
}
