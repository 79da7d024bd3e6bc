package oneshot

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// fault is one thing that goes wrong in a run, at one call.
type fault struct {
	// at is the call: what it does and the how manieth of its kind it is.
	at   string
	kind faultKind
}

// faultKind is how a call goes wrong.
type faultKind string

const (
	// failBefore: the call fails and had no effect.
	failBefore faultKind = "fail before"
	// failAfter: the call had its effect, and fails all the same.
	failAfter faultKind = "fail after taking effect"
	// failLate: the call fails, and has its effect some seconds later.
	failLate faultKind = "fail, take effect late"
	// crashBefore, crashAfter: the process dies before or after the effect.
	crashBefore faultKind = "crash before"
	crashAfter  faultKind = "crash after"
	// hangBefore, hangAfter: no answer until the deadline, without or with the
	// effect.
	hangBefore faultKind = "hang until the deadline"
	hangAfter  faultKind = "take effect, hang until the deadline"
	// timeOutBefore, timeOutAfter: the request's own time is up.
	timeOutBefore faultKind = "time out"
	timeOutAfter  faultKind = "take effect, time out"
	timeOutLate   faultKind = "time out, take effect late"
	// slow: the call takes until just after the deadline, and goes well.
	slow faultKind = "slow"
	// slowOn: the call takes until shortly before the deadline, and each one after
	// it longer than usual, so that the deadline passes between two of them.
	slowOn faultKind = "slow from then on"
	// answerAltered: a create is answered with a Job that differs.
	answerAltered faultKind = "answer altered"
	// cancelBefore: the run is told to stop at that moment.
	cancelBefore faultKind = "cancel"
	// staleRead: a read lacks what was written last.
	staleRead faultKind = "stale read"
	// lostRecord: what was written, or was written last when it is read, is gone
	// from then on.
	lostRecord faultKind = "lost record"
	// unreadable: what was written last is there and cannot be read this time.
	unreadable faultKind = "unreadable"
	// reordered: a read has it all the other way round.
	reordered faultKind = "reordered rows"
)

// faultKinds returns the ways in which a call can go wrong that differ. A read
// has no effect, so that there is no before and after; and how a store fails is
// one error to the engine.
func faultKinds(call string) []faultKind {
	switch {
	case strings.HasPrefix(call, "read "):
		return []faultKind{failBefore, crashBefore, crashAfter, hangBefore, cancelBefore, staleRead, lostRecord, unreadable, reordered}
	case strings.HasPrefix(call, "reserve "):
		return []faultKind{crashBefore, crashAfter, cancelBefore}
	case strings.HasPrefix(call, "write "), strings.HasPrefix(call, "clean "):
		return []faultKind{failBefore, failAfter, failLate, crashBefore, crashAfter, hangBefore, hangAfter, slow, cancelBefore, lostRecord}
	case strings.HasPrefix(call, "create"):
		return []faultKind{
			failBefore, failAfter, failLate, crashBefore, crashAfter, hangBefore, hangAfter,
			timeOutBefore, timeOutAfter, timeOutLate, answerAltered, cancelBefore,
		}
	case strings.HasPrefix(call, "put"):
		return []faultKind{failBefore, failAfter, failLate, crashBefore, crashAfter, hangBefore, hangAfter, slow, cancelBefore}
	}
	kinds := []faultKind{failBefore, crashBefore, hangBefore, timeOutBefore, cancelBefore}
	if strings.HasPrefix(call, "get serviceaccount") { // the last before the records are read
		kinds = append(kinds, slowOn)
	}
	return kinds
}

var errFault = errors.New("an injected fault")

// lateBy is how long an effect takes that comes after its caller gave up.
const lateBy = 7 * time.Second

func (k faultKind) strike(ctx context.Context, p *process, what string, effect func() error) error {
	failed := func(kind Kind) error {
		switch verb, _, _ := strings.Cut(what, " "); verb {
		case "load", "put":
			return errFault
		case "read", "write", "clean":
			return failure.New(failure.CheckpointStoreFailed, "could not %s: %w", what, errFault)
		}
		return &CallError{Verb: what, Kind: kind, Err: errFault}
	}
	take := func() { _ = p.do(effect) } // its caller never learns how it went
	switch k {
	case failBefore:
		return failed(Unavailable)
	case failAfter:
		take()
		return failed(Unavailable)
	case failLate:
		time.AfterFunc(lateBy, take)
		return failed(Unavailable)
	case crashBefore:
		p.kill()
		return p.block(ctx)
	case crashAfter:
		take()
		p.kill()
		return p.block(ctx)
	case hangBefore:
		return p.block(ctx)
	case hangAfter:
		take()
		return p.block(ctx)
	case timeOutBefore:
		return failed(TimedOut)
	case timeOutAfter:
		take()
		return failed(TimedOut)
	case timeOutLate:
		time.AfterFunc(lateBy, take)
		return failed(TimedOut)
	case slow:
		select {
		case <-time.After(matrixTimeout + time.Second):
			return p.do(effect)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case slowOn:
		if !slept(ctx, matrixTimeout-time.Second) {
			return context.Cause(ctx)
		}
		p.mu.Lock()
		p.latency = 300 * time.Millisecond
		p.mu.Unlock()
		return p.do(effect)
	case cancelBefore:
		p.stop()
		return p.do(effect)
	}
	return p.do(effect)
}
