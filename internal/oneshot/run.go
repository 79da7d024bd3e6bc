package oneshot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// Run does what the plan says, or finds out that it was done, and returns what
// became of it. The result is filled as far as the run came; the error, always
// a [*failure.Error], is nil only when the Job succeeded.
//
// When ctx ends, the run ends with cancelled as soon as its records are safe;
// a Job that was created goes on.
func (e *Engine) Run(ctx context.Context, plan Plan) (Result, error) {
	start := time.Now()
	r := &run{Engine: e, caller: ctx}
	err := r.plan(ctx, plan)
	r.result.Outcome = r.outcome(err)
	r.result.Duration = time.Since(start)
	return r.result, err
}

// run is one call of [Engine.Run].
type run struct {
	*Engine
	caller   context.Context
	result   Result
	exposure exposure
	// failed is set once an execution failed that has a successor.
	failed bool
	notes  sync.Mutex
}

// outcome says what a failure means for the run. A successor that was refused
// does not undo that its predecessor ran and failed.
func (r *run) outcome(err error) Outcome {
	code := failure.CodeOf(err)
	if err != nil && code == "" {
		return Unknown // a bug; nothing may be concluded from it
	}
	o := outcomeOf(code, r.exposure)
	if r.failed && (o == Refused || o == Invalid) {
		if r.exposure != nothing {
			return Unknown
		}
		return Failed
	}
	return o
}

func (r *run) plan(ctx context.Context, plan Plan) error {
	if err := plan.validate(); err != nil {
		return err
	}
	request := plan.Request
	for n := 0; ; n++ {
		predecessor := r.result
		r.result.Successor = n
		err := r.execute(ctx, request, plan.Timeout)
		if n > 0 && err != nil && r.exposure == nothing && r.result.Evidence == nil {
			// The successor never came to be. What is known is how its
			// predecessor ended.
			r.result = predecessor
			return notStarted(err, predecessor.Execution.Name, n)
		}
		if failure.CodeOf(err) != failure.JobFailed || n == plan.Successors {
			return err
		}
		r.failed = true
		var invalid error
		if request, invalid = plan.Request.Successor(n+1, plan.SuccessorEnvironments[n]); invalid != nil {
			return invalid
		}
		r.notify(EventSuccessor, "%s failed; starting successor %d of %d", r.result.Execution.Name, n+1, plan.Successors)
	}
}

// notStarted tells a failure that came before its successor's create together
// with why there was to be a successor.
func notStarted(err error, predecessor string, n int) error {
	e := coded(err)
	c := *e
	c.Message = fmt.Sprintf("Job %s failed, and its successor %d was not started: %s", predecessor, n, e.Message)
	return &c
}

// validate refuses a plan that could only be found out to be impossible later,
// when something has been dispatched.
func (p Plan) validate() error {
	if err := p.Request.Validate(); err != nil {
		return err
	}
	if p.Timeout <= 0 {
		return failure.New(failure.ConfigInvalid, "must be more than 0, is %s", p.Timeout).At("timeout")
	}
	if p.Successors < 0 || p.Successors > MaxSuccessors {
		return failure.New(failure.ConfigInvalid, "must be from 0 to %d, is %d", MaxSuccessors, p.Successors).At("retries")
	}
	if p.Successors != len(p.SuccessorEnvironments) {
		return failure.New(failure.ConfigInvalid, "%d retries need as many retry environments, %d are given", p.Successors, len(p.SuccessorEnvironments)).At("retry-env")
	}
	for i, environment := range p.SuccessorEnvironments {
		if _, err := p.Request.Successor(i+1, environment); err != nil {
			return err
		}
	}
	return nil
}

// execute takes one execution from the reviewed template to its outcome.
func (r *run) execute(ctx context.Context, request contract.Request, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	late, cancelLate := withGrace(ctx, grace)
	defer cancelLate()
	r.exposure = nothing
	r.result = Result{Successor: r.result.Successor, Resumed: r.result.Resumed}

	e, err := r.derive(ctx, request)
	if err != nil {
		return err
	}
	r.result.Execution = e
	x := &execution{run: r, Execution: e, binding: checkpoint.Bind(e), late: late}
	for readings := 1; ; readings++ {
		err := x.once(ctx)
		late, ok := errors.AsType[*overtaken](err)
		switch {
		case !ok:
			return err
		case late.first && x.second || readings == maxReadings:
			return late.why
		}
		x.notify(EventRetrying, "reading the records of %s again: %v", x.Name, late)
		x.second = x.second || late.first
	}
}

// once takes an execution from its records to its outcome. The error is an
// [*overtaken] when the records that it began with have become old.
func (x *execution) once(ctx context.Context) error {
	history, missing, err := x.open(ctx)
	if err == nil && x.second && history.Outcome == "" {
		// What the other run has done since it recorded its intent is not in what
		// was read: it may have recorded that its create must not be repeated.
		if err = x.awaitOther(ctx); err == nil {
			history, missing, err = x.open(ctx)
		}
	}
	if err != nil {
		return err
	}
	if history.Outcome != "" {
		if err := x.prepare(missing); err != nil {
			return err
		}
		return x.replay(history)
	}
	job, err := x.obtain(ctx, history, missing)
	if err != nil {
		return err
	}
	return x.wait(ctx, job)
}

// stopped returns the cancelled failure when the caller ended the run, else nil.
func (r *run) stopped() error {
	if r.caller.Err() == nil {
		return nil
	}
	cause := context.Cause(r.caller)
	if r.exposure == nothing {
		return failure.New(failure.Cancelled, "the run was told to stop before anything was dispatched: %w", cause)
	}
	return failure.New(failure.Cancelled, "the run was told to stop while Job %s may be running: %w", r.result.Execution.Name, cause)
}

func (r *run) notify(kind EventKind, format string, args ...any) {
	if r.Notify != nil {
		r.notes.Lock()
		defer r.notes.Unlock()
		r.Notify(newEvent(kind, r.result.Execution.Name, format, args...))
	}
}

func (r *run) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}
