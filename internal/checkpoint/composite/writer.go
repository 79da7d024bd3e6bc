package composite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

const (
	// A record that a place did not take is given to it again after a pause that
	// begins with firstPause and doubles up to mostPause.
	firstPause = time.Second
	mostPause  = 30 * time.Second
)

// writer gives records to one place in the background, and again those that it
// did not take. A record that is not taken does not hold up the ones behind it:
// the last one says most.
type writer struct {
	place  string
	ctx    context.Context //nolint:containedctx // its work outlives every call
	write  func(context.Context, *item) error
	notify func(string)

	mu sync.Mutex
	// pending are on their way; lost are those that will never be taken.
	pending, lost []*item
	// running says that a goroutine is at work: one at most, so that a place gets
	// one record at a time. idle is closed when it is done, nil when none ever was.
	running bool
	idle    chan struct{}
	// wake ends a pause.
	wake chan struct{}
}

// item is one record on its way to a place.
type item struct {
	execution string
	record    checkpoint.Record
	// tried, if there is one, gets the first answer. It has room for it.
	tried chan error
	// err is the last answer, and says so before there was one.
	err error
}

var errNotTried = errors.New("there was no time to store it")

func newWriter(ctx context.Context, place string, notify func(string), write func(context.Context, *item) error) *writer {
	return &writer{place: place, ctx: ctx, write: write, notify: notify, wake: make(chan struct{}, 1)}
}

// add has a record written.
func (w *writer) add(i *item) {
	i.err = errNotTried
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = append(w.pending, i)
	if w.running {
		w.hurry()
		return
	}
	w.running, w.idle = true, make(chan struct{})
	go w.run(w.idle)
}

// lose keeps that the place may not have a record, which is not written.
func (w *writer) lose(i *item, why error) {
	i.err = why
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = append(w.lost, i)
}

// hurry ends a pause.
func (w *writer) hurry() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run ends, and closes idle, when nothing is pending or the store ends.
func (w *writer) run(idle chan struct{}) {
	defer close(idle)
	for pause := firstPause; ; {
		w.mu.Lock()
		batch := slices.Clone(w.pending)
		w.mu.Unlock()
		for _, i := range batch {
			w.settle(i, w.attempt(i))
		}
		w.mu.Lock()
		w.running = len(w.pending) > 0 && w.ctx.Err() == nil
		running, added := w.running, slices.ContainsFunc(w.pending, func(i *item) bool { return errors.Is(i.err, errNotTried) })
		w.mu.Unlock()
		switch {
		case !running:
			return
		case added:
			pause = firstPause
		default:
			w.sleep(pause)
			pause = min(2*pause, mostPause)
		}
	}
}

// attempt gives a record to the place once. A bug in one place must not take the
// whole run with it.
func (w *writer) attempt(i *item) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = checkpoint.Differs(string(i.record.Step), "a bug in aks-oneshot ended the writing to %s (panic: %v)", w.place, p)
		}
	}()
	return w.write(w.ctx, i)
}

// settle keeps what came of a try.
func (w *writer) settle(i *item, err error) {
	w.mu.Lock()
	news := err != nil && (i.err == nil || i.err.Error() != err.Error())
	ending := w.ctx.Err() != nil
	if !ending || err == nil || errors.Is(i.err, errNotTried) {
		i.err = err // what came before says more than that there was no more time
	}
	if i.tried != nil {
		i.tried <- err
		i.tried = nil
	}
	// What contradicts a record that is there will do so for ever.
	forGood := errors.Is(err, checkpoint.ErrTaken) || failure.CodeOf(err) == failure.CheckpointDiffers
	if err == nil || forGood {
		w.pending = slices.DeleteFunc(w.pending, func(other *item) bool { return other == i })
	}
	if forGood {
		w.lost = append(w.lost, i)
	}
	w.mu.Unlock()
	if news && !ending {
		w.notify(fmt.Sprintf("the %s record of %s is not stored in %s yet: %s", i.record.Step, i.execution, w.place, failureText(err)))
	}
}

func (w *writer) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.wake:
	case <-w.ctx.Done():
	}
}
