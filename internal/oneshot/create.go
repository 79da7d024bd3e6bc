package oneshot

import (
	"context"
	"errors"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// maxCreates bounds the creates of one run that get no usable answer.
const maxCreates = 4

// create sends the create, and repeats it only where the API server is sure to
// refuse a second Job: under the same name, inside the TTL window.
func (x *execution) create(ctx context.Context, w window) (contract.Object, error) {
	backoff := firstBackoff
	for creates := 1; ; creates++ {
		if err := x.mayCreate(ctx, w); err != nil {
			return nil, err
		}
		if err := x.upToDate(); err != nil {
			return nil, err
		}
		job, err := x.createOnce(ctx)
		if err == nil {
			x.exposure, x.result.Dispatched = sent, true
			err := x.adopt(job, false)
			x.notify(EventDispatched, "created Job %s (uid %s)", x.Name, contract.UID(job))
			return job, err
		}
		w.fresh = false
		var call *CallError
		if !errors.As(err, &call) {
			x.exposure = sent
			return nil, x.callFailure(failure.DispatchAmbiguous, err)
		}
		wait := max(backoff, call.RetryAfter)
		switch call.Kind {
		case Rejected, NotFound, Denied, Unreachable:
			return nil, x.callFailure(failure.CreateRejected, err)
		case AlreadyExists:
			return x.reconcile(ctx, err)
		case TimedOut:
			x.exposure = sent
			return x.timedOut(err)
		case Throttled:
			if !x.pause(ctx, wait, err) {
				return nil, x.heldBack(call, err)
			}
			creates--
		default:
			x.exposure = sent
			if job, err := x.readBack(ctx); err != nil {
				return nil, err
			} else if job != nil {
				return job, x.adopt(job, false)
			}
			if creates >= maxCreates || !x.pause(ctx, wait, err) {
				return nil, x.callFailure(failure.DispatchAmbiguous, failure.New(failure.DispatchAmbiguous,
					"%d creates of Job %s/%s got no usable answer and the Job is not there; the last answer: %w", creates, x.Namespace, x.Name, err).
					WithFix("Run again when the API server is well: inside the TTL window the create is repeated under the same name"))
			}
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// heldBack tells a create that had no effect and for which no time is left.
func (x *execution) heldBack(call *CallError, err error) error {
	if call.Status != 0 {
		return x.callFailure(failure.CreateRejected, err)
	}
	// No server has rejected it: it was held back on this side.
	if stopped := x.stopped(); stopped != nil {
		return stopped
	}
	return failure.New(failure.DeadlineExceeded, "the time was up before Job %s/%s could be created: %w", x.Namespace, x.Name, err).
		WithFix("Run again, or give a longer timeout")
}

// createOnce sends one create. It is not cut off the moment the run is told to
// stop: knowing the answer is worth a short wait. An end of the run's time, on
// the other hand, is a create that timed out.
func (x *execution) createOnce(ctx context.Context) (contract.Object, error) {
	longer, cancel := withGrace(ctx, createGrace)
	defer cancel()
	job, err := x.Cluster.CreateJob(longer, x.Namespace, x.Manifest)
	var call *CallError
	if err != nil && !errors.As(err, &call) && x.caller.Err() == nil && ctx.Err() != nil {
		err = &CallError{Verb: "create", Resource: "jobs.batch", Namespace: x.Namespace, Name: x.Name, Kind: TimedOut, Err: err}
	}
	return job, err
}

// timedOut goes the dialect's way with a create that got no answer: it is
// recorded as ambiguous and never repeated; one read may still settle it.
func (x *execution) timedOut(cause error) (contract.Object, error) {
	if err := x.put(x.binding.Ambiguous(x.now())); err != nil {
		return nil, err
	}
	if err := x.stopped(); err != nil {
		return nil, err
	}
	job, err := x.readBack(x.late)
	if err != nil {
		return nil, err
	}
	if job == nil {
		return nil, failure.New(failure.DispatchAmbiguous,
			"the create of Job %s/%s got no answer and the Job is not there; it is not repeated: %w", x.Namespace, x.Name, cause)
	}
	return job, x.adopt(job, false)
}

// reconcile settles a create that was refused because the name is taken.
func (x *execution) reconcile(ctx context.Context, cause error) (contract.Object, error) {
	job, err := x.readBack(ctx)
	if err != nil {
		return nil, err
	}
	if job == nil {
		// The name was taken a moment ago. A re-run must not take the absence
		// for a Job that never was.
		if err := x.put(x.binding.Dispatched()); err != nil {
			return nil, err
		}
		return nil, failure.New(failure.JobVanished,
			"Job %s/%s was there when it was to be created and is gone now: %w", x.Namespace, x.Name, cause)
	}
	return job, x.adopt(job, false)
}

// readBack returns the Job, or nil when there is none.
func (x *execution) readBack(ctx context.Context) (contract.Object, error) {
	var job contract.Object
	err := x.retry(ctx, 0, func(ctx context.Context) (err error) {
		job, err = x.Cluster.Job(ctx, x.Namespace, x.Name)
		return err
	})
	var call *CallError
	if errors.As(err, &call) && call.Kind == NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, x.callFailure(failure.ReadbackFailed, err)
	}
	return job, nil
}
