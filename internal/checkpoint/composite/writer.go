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
	// tryLimit is what one try gets, and turnLimit what it gets once something newer
	// waits behind it.
	tryLimit  = 30 * time.Second
	turnLimit = 5 * time.Second
)

// writer gives records to one place in the background, and again those that it
// did not take. The newest comes first, since the last one says most, and none
// holds up the others for long.
type writer struct {
	place  string
	ctx    context.Context //nolint:containedctx // its work outlives every call
	write  func(context.Context, *item) error
	notify func(string)

	mu sync.Mutex
	// pending are on their way; lost are those that are not tried any more.
	pending, lost []*item
	// running says that a goroutine is at work: one at most, so that a place gets
	// one record at a time. idle is closed when it is done, nil when none ever was.
	running bool
	idle    chan struct{}
	// wake ends a pause, and cut ends the present try.
	wake chan struct{}
	cut  context.CancelCauseFunc
	// closing says that nobody will mend a permission any more.
	closing bool
}

// item is one record on its way to a place.
type item struct {
	execution string
	record    checkpoint.Record
	// tried, if there is one, gets the first answer. It has room for it.
	tried chan error
	// err is the last answer, and says so before there was one.
	err error
	// cleaned says that with it the older steps of its execution were removed.
	cleaned bool
}

func (i *item) is(execution string, step checkpoint.Step) bool {
	return i.execution == execution && i.record.Step == step
}

var (
	errNotTried = errors.New("there was no time to store it")
	errTooLong  = fmt.Errorf("it took longer than %s", tryLimit)
	errTurn     = fmt.Errorf("it took longer than %s, and another record was waiting", turnLimit)
)

func newWriter(ctx context.Context, place string, notify func(string), write func(context.Context, *item) error) *writer {
	return &writer{place: place, ctx: ctx, write: write, notify: notify, wake: make(chan struct{}, 1)}
}

// add has a record written, unless it is on its way already.
func (w *writer) add(i *item) {
	i.err = errNotTried
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forget(i.execution, i.record.Step)
	at := slices.IndexFunc(w.pending, func(other *item) bool { return other.is(i.execution, i.record.Step) && other.record.Equal(i.record) })
	if at >= 0 && i.tried == nil {
		return
	}
	w.pending = append(w.pending, i)
	if w.running {
		if cut := w.cut; cut != nil {
			time.AfterFunc(turnLimit, func() { cut(errTurn) })
		}
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
	w.forget(i.execution, i.record.Step)
	w.lost = append(w.lost, i)
}

// found keeps that the place has a record, whatever became of it before.
func (w *writer) found(execution string, step checkpoint.Step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forget(execution, step)
}

// lacks reports whether the place is known not to have a record.
func (w *writer) lacks(execution string, step checkpoint.Step) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.lost, func(i *item) bool { return i.is(execution, step) })
}

// forget is called with the lock held.
func (w *writer) forget(execution string, step checkpoint.Step) {
	w.lost = slices.DeleteFunc(w.lost, func(i *item) bool { return i.is(execution, step) })
}

// hurry ends a pause.
func (w *writer) hurry() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// close has what waits be tried at once, and no more than once where a permission
// is missing: there is nobody left who could grant it in time.
func (w *writer) close() {
	w.mu.Lock()
	w.closing = true
	w.mu.Unlock()
	w.hurry()
}

// run ends, and closes idle, when nothing is pending or the store ends.
func (w *writer) run(idle chan struct{}) {
	defer close(idle)
	for pause := firstPause; ; {
		tried := map[*item]bool{}
		for i := w.next(tried); i != nil; i = w.next(tried) {
			tried[i] = true
			w.settle(i, w.try(i))
		}
		w.mu.Lock()
		w.running = len(w.pending) > 0 && w.ctx.Err() == nil
		running, added := w.running, slices.ContainsFunc(w.pending, func(i *item) bool { return !tried[i] })
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

// next returns the newest record that was not tried in this round, nil when there
// is none or the store ends.
func (w *writer) next(tried map[*item]bool) *item {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil {
		return nil
	}
	for _, i := range slices.Backward(w.pending) {
		if !tried[i] {
			return i
		}
	}
	return nil
}

// try gives a record to the place once. A bug in one place must not take the
// whole run with it.
func (w *writer) try(i *item) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = checkpoint.Differs(string(i.record.Step), "a bug in aks-oneshot ended the writing to %s (panic: %v)", w.place, p)
		}
	}()
	limited, cancel := context.WithTimeoutCause(w.ctx, tryLimit, errTooLong)
	defer cancel()
	ctx, cut := context.WithCancelCause(limited)
	defer cut(nil)
	w.mu.Lock()
	w.cut = cut
	w.mu.Unlock()
	return w.write(ctx, i)
}

// settle keeps what came of a try.
func (w *writer) settle(i *item, err error) {
	w.mu.Lock()
	ending := w.ctx.Err() != nil
	news := err != nil && !ending && i.err.Error() != err.Error()
	if !ending {
		i.err = err // else what came before says more than that there was no more time
	}
	if i.tried != nil {
		i.tried <- err
		i.tried = nil
	}
	// What contradicts a record that is there will do so for ever.
	code := failure.CodeOf(err)
	forGood := errors.Is(err, checkpoint.ErrTaken) || code == failure.CheckpointDiffers || w.closing && code == failure.PermissionDenied
	// Nothing older must come after older steps were removed.
	superfluous := err == nil && i.cleaned
	if err == nil || forGood {
		w.pending = slices.DeleteFunc(w.pending, func(other *item) bool {
			return other == i || superfluous && other.execution == i.execution
		})
	}
	if forGood {
		i.err = err
		w.lost = append(w.lost, i)
	}
	w.mu.Unlock()
	if news {
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
