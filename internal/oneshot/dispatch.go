package oneshot

import (
	"context"
	"errors"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// maxCreates bounds the creates of one run that get no usable answer.
const maxCreates = 4

// obtain returns the execution's Job: the one that is there, if records say
// that it is ours, or a new one, if records say that there can be none.
//
// The missing records are stored while the Job is read: neither depends on the
// other, and nothing is done before both are done.
func (x *execution) obtain(ctx context.Context, history checkpoint.History, missing []checkpoint.Record) (contract.Object, error) {
	stored := alongside(func() error { return x.prepare(ctx, missing) })
	job, err := x.readBack(ctx)
	if err := stored(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	if job != nil {
		if history.IntentAt == nil {
			return nil, failure.New(failure.JobWithoutIntent,
				"Job %s/%s exists (uid %s), but there is no record here that it was to be created", x.Namespace, x.Name, contract.UID(job))
		}
		x.notify(EventAdopted, "Job %s is there", x.Name)
		return job, x.adopt(ctx, job, history.Dispatched)
	}
	switch {
	case history.Dispatched:
		return nil, failure.New(failure.JobVanishedAfterDispatch,
			"Job %s/%s was dispatched by an earlier run and is gone; how it ended is not recorded, and it is not repeated", x.Namespace, x.Name)
	case history.Ambiguous:
		return nil, failure.New(failure.DispatchAmbiguous,
			"the create of Job %s/%s got no answer in an earlier run, and the Job is not there; it is not repeated", x.Namespace, x.Name)
	}
	intent, err := x.intend(ctx, history.IntentAt)
	if err != nil {
		return nil, err
	}
	return x.create(ctx, intent)
}

// intend makes sure that an intent is recorded before a create, and returns the
// time from which the TTL window counts.
func (x *execution) intend(ctx context.Context, recorded *time.Time) (time.Time, error) {
	now := x.now()
	if recorded != nil {
		if now.Before(recorded.Add(-time.Minute)) {
			return time.Time{}, failure.New(failure.ClockInvalid,
				"this machine's clock says %s, more than a minute before the recorded intent (%s)", now.UTC().Format(time.RFC3339), recorded.UTC().Format(time.RFC3339))
		}
		return *recorded, x.checkWindow(*recorded)
	}
	if err := x.stopped(); err != nil {
		return time.Time{}, err
	}
	record, err := x.binding.Intent(now)
	return now, x.put(ctx, record, err)
}

// checkWindow refuses a create when an absent Job may be one that ran and was
// removed: a Job lives at least its TTL after it finished, so inside the window
// the API server itself refuses a second one of the name.
func (x *execution) checkWindow(intent time.Time) error {
	if x.now().Before(intent.Add(x.TTL - absenceMargin)) {
		return nil
	}
	return failure.New(failure.TTLWindowElapsed,
		"Job %s/%s is not there, and the intent to create it is from %s: it may have run and been removed %s after it finished",
		x.Namespace, x.Name, intent.UTC().Format(time.RFC3339), x.TTL)
}

// create sends the create, and repeats it only where the API server is sure to
// refuse a second Job: under the same name, inside the TTL window.
func (x *execution) create(ctx context.Context, intent time.Time) (contract.Object, error) {
	backoff := firstBackoff
	for creates := 1; ; creates++ {
		if err := x.stopped(); err != nil {
			return nil, err
		}
		before := x.mayRun
		x.mayRun = true
		job, err := x.createOnce(ctx)
		if err == nil {
			x.result.Dispatched = true
			x.notify(EventDispatched, "created Job %s (uid %s)", x.Name, contract.UID(job))
			return job, x.adopt(ctx, job, false)
		}
		var call *CallError
		if !errors.As(err, &call) {
			return nil, x.callFailure(failure.DispatchAmbiguous, err)
		}
		wait := max(backoff, call.RetryAfter)
		if call.Kind.hadNoEffect() {
			x.mayRun = before
		}
		switch call.Kind {
		case AlreadyExists:
			return x.reconcile(ctx, err)
		case TimedOut:
			return x.timedOut(ctx, err)
		case Unavailable:
			if job, err := x.readBack(ctx); err != nil || job != nil {
				if err != nil {
					return nil, err
				}
				return job, x.adopt(ctx, job, false)
			}
			if creates >= maxCreates || !x.pause(ctx, wait, err) {
				if stopped := x.stopped(); stopped != nil {
					return nil, stopped
				}
				return nil, failure.New(failure.DispatchAmbiguous,
					"%d creates of Job %s/%s got no usable answer and the Job is not there; the last answer: %w", creates, x.Namespace, x.Name, err).
					WithFix("Run again when the API server is well: inside the TTL window the create is repeated under the same name")
			}
		case Throttled:
			if !x.pause(ctx, wait, err) {
				return nil, x.callFailure(failure.CreateRejected, err)
			}
			creates--
		default:
			return nil, x.callFailure(failure.CreateRejected, err)
		}
		if err := x.checkWindow(intent); err != nil {
			return nil, err
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// createOnce sends one create. It is not cut off the moment the run is told to
// stop: knowing the answer is worth a short wait. An end of the run's time, on
// the other hand, is a create that timed out.
func (x *execution) createOnce(ctx context.Context) (contract.Object, error) {
	longer, cancel := withGrace(ctx, grace)
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
func (x *execution) timedOut(ctx context.Context, cause error) (contract.Object, error) {
	record, err := x.binding.Ambiguous(x.now())
	if err := x.put(ctx, record, err); err != nil {
		return nil, err
	}
	longer, cancel := withGrace(ctx, grace)
	defer cancel()
	job, err := x.readBack(longer)
	if err != nil {
		return nil, err
	}
	if job == nil {
		return nil, failure.New(failure.DispatchAmbiguous,
			"the create of Job %s/%s got no answer and the Job is not there; it is not repeated: %w", x.Namespace, x.Name, cause)
	}
	return job, x.adopt(ctx, job, false)
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
		record, err := x.binding.Dispatched()
		if err := x.put(ctx, record, err); err != nil {
			return nil, err
		}
		return nil, failure.New(failure.JobVanished,
			"Job %s/%s was there when it was to be created and is gone now: %w", x.Namespace, x.Name, cause)
	}
	return job, x.adopt(ctx, job, false)
}

// adopt holds the Job against the execution and records that it is there.
func (x *execution) adopt(ctx context.Context, job contract.Object, recorded bool) error {
	if err := x.CheckJob(job); err != nil {
		return err
	}
	x.result.JobUID = contract.UID(job)
	if recorded {
		return nil
	}
	record, err := x.binding.Dispatched()
	return x.put(ctx, record, err)
}

// readBack returns the Job, or nil when there is none.
func (x *execution) readBack(ctx context.Context) (contract.Object, error) {
	var job contract.Object
	err := x.retry(ctx, func(ctx context.Context) (err error) {
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
