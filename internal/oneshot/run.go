package oneshot

import (
	"context"
	"errors"
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
	caller context.Context
	result Result
	notes  sync.Mutex
	// mayRun is set once a Job may exist: an intent was found, or a create was
	// sent that may have had its effect.
	mayRun bool
}

func (r *run) plan(ctx context.Context, plan Plan) error {
	if err := plan.validate(); err != nil {
		return err
	}
	request := plan.Request
	for n := 0; ; n++ {
		r.result.Successor = n
		err := r.execute(ctx, request, plan.Timeout)
		if failure.CodeOf(err) != failure.JobFailed || n == plan.Successors {
			return err
		}
		var invalid error
		if request, invalid = plan.Request.Successor(n+1, plan.SuccessorEnvironments[n]); invalid != nil {
			return invalid
		}
		r.notify(EventSuccessor, "%s failed; starting successor %d of %d", r.result.Execution.Name, n+1, plan.Successors)
	}
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
	r.result.JobUID, r.result.Evidence = "", nil

	e, err := r.derive(ctx, request)
	if err != nil {
		return err
	}
	r.result.Execution = e
	x := &execution{run: r, Execution: e, binding: checkpoint.Bind(e)}
	history, missing, err := x.open(ctx)
	if err != nil {
		return err
	}
	if history.Outcome != "" {
		if err := x.prepare(ctx, missing); err != nil {
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

// outcome says what an error means for the run as a whole.
func (r *run) outcome(err error) Outcome {
	switch failure.CodeOf(err) {
	case "":
		return Succeeded
	case failure.JobFailed:
		return Failed
	case failure.Cancelled:
		return Cancelled
	case failure.DispatchAmbiguous, failure.TTLWindowElapsed, failure.JobVanished, failure.JobVanishedAfterDispatch,
		failure.StatusInconsistent, failure.DeadlineExceeded, failure.WorkloadCannotStart:
		return Unknown
	case failure.ConfigInvalid, failure.ContextIncomplete:
		if !r.mayRun {
			return Invalid
		}
		return Unknown
	case failure.ReadbackFailed, failure.PermissionDenied, failure.ClusterUnreachable,
		failure.CheckpointStoreFailed, failure.ClockInvalid:
		if r.mayRun {
			return Unknown
		}
	}
	return Refused
}

// stopped returns the cancelled failure when the caller ended the run, else nil.
func (r *run) stopped() error {
	if r.caller.Err() == nil {
		return nil
	}
	cause := context.Cause(r.caller)
	if !r.mayRun {
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

// callFailure tells a request that did not succeed with the code that fits what
// was asked: its own for what can be said of any request, else the given one.
func (r *run) callFailure(code failure.Code, err error) error {
	if stopped := r.stopped(); stopped != nil {
		return stopped
	}
	var call *CallError
	if errors.As(err, &call) {
		switch call.Kind {
		case Denied:
			return failure.New(failure.PermissionDenied, "%w", err).
				WithFix("Grant the verb %s on %s in namespace %s to the identity of this run", call.Verb, call.Resource, call.Namespace)
		case Unreachable:
			return failure.New(failure.ClusterUnreachable, "%w", err)
		}
	}
	return failure.New(code, "%w", err)
}
