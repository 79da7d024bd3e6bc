package oneshot

import (
	"context"
	"errors"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// obtain returns the execution's Job: the one that is there, if records say
// that it is ours, or a new one, if records say that there can be none.
//
// The missing records are stored while the Job is read: neither depends on the
// other, and nothing is done before both are done.
func (x *execution) obtain(ctx context.Context, history checkpoint.History, missing []checkpoint.Record) (contract.Object, error) {
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	stored := alongside(func() error {
		err := x.prepare(missing)
		if err != nil {
			cancel() // what the read would find no longer matters
		}
		return err
	})
	job, err := x.readBack(reading)
	x.readTo = x.now()
	if err := stored(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	if job != nil {
		if history.IntentAt == nil {
			// Whoever created it recorded that before; perhaps since the records were
			// read.
			if history, _, err = x.open(ctx); err != nil {
				return nil, err
			}
		}
		if history.IntentAt == nil && history.Outcome == "" {
			return nil, failure.New(failure.JobWithoutIntent,
				"Job %s/%s exists (uid %s), but there is no record here that it was to be created", x.Namespace, x.Name, contract.UID(job))
		}
		x.notify(EventAdopted, "Job %s is there", x.Name)
		return job, x.adopt(job, history.Dispatched)
	}
	if err := x.Store.Doubt(x.Name); err != nil {
		return nil, x.storeFailure("finding out what became of "+x.Name, err)
	}
	switch {
	case history.Dispatched:
		return nil, failure.New(failure.JobVanishedAfterDispatch,
			"Job %s/%s was dispatched by an earlier run and is gone; how it ended is not recorded, and it is not repeated", x.Namespace, x.Name)
	case history.Ambiguous:
		return nil, failure.New(failure.DispatchAmbiguous,
			"the create of Job %s/%s got no answer in an earlier run, and the Job is not there; it is not repeated", x.Namespace, x.Name)
	}
	w, err := x.intend(ctx, history.IntentAt)
	if err != nil {
		return nil, err
	}
	return x.create(ctx, w)
}

// intend makes sure that an intent is recorded before a create, and returns the
// window in which that may be sent.
func (x *execution) intend(ctx context.Context, recordedAt *time.Time) (window, error) {
	now := x.now()
	w := window{intent: now, ttl: x.TTL, fresh: recordedAt == nil || x.own(recordedAt)}
	if recordedAt != nil {
		w.intent = *recordedAt
		if now.Before(w.intent.Add(-time.Minute)) {
			return window{}, failure.New(failure.ClockInvalid,
				"this machine's clock says %s, more than a minute before the recorded intent (%s)", now.UTC().Format(time.RFC3339), w.intent.UTC().Format(time.RFC3339))
		}
		return w, x.mayCreate(ctx, w)
	}
	if err := x.mayCreate(ctx, w); err != nil {
		return window{}, err
	}
	if err := x.upToDate(); err != nil {
		return window{}, err
	}
	err := x.put(x.binding.Intent(now))
	if errors.Is(err, checkpoint.ErrTaken) {
		return window{}, &overtaken{why: err, first: true}
	}
	if err == nil {
		x.intended = now
	}
	return w, err
}

// window is the time in which a create may be sent. A finished Job is kept for
// its TTL, so for that long after the intent the API server itself refuses a
// second one of the name; afterwards an absent Job may be one that ran and was
// removed.
type window struct {
	intent time.Time
	ttl    time.Duration
	// fresh says that this run recorded the intent and has sent nothing yet.
	fresh bool
}

// open reports whether a create may be sent now. A fresh intent of this moment
// has nothing behind it, whatever the TTL.
func (w window) open(now time.Time) bool {
	// The monotonic clock stands still while a machine is suspended, and the
	// wall clock may be set back; the later of the two counts.
	age := max(now.Sub(w.intent), now.Round(0).Sub(w.intent.Round(0)))
	return w.fresh && age < absenceMargin || age < w.ttl-absenceMargin
}

// mayCreate refuses a create that comes too late: after the run was told to
// stop, after its time, or after the window.
func (x *execution) mayCreate(ctx context.Context, w window) error {
	if err := x.stopped(); err != nil {
		return err
	}
	// The deadline itself is asked, too: after the process stood still, the timer
	// that ends the context may not have fired yet.
	if deadline, ok := ctx.Deadline(); ctx.Err() != nil || ok && !time.Now().Before(deadline) {
		return failure.New(failure.DeadlineExceeded, "the time was up before Job %s/%s could be created", x.Namespace, x.Name).
			WithFix("Run again, or give a longer timeout")
	}
	if !w.open(x.now()) {
		return failure.New(failure.TTLWindowElapsed,
			"Job %s/%s is not there, and the intent to create it is from %s: it may have run and been removed %s after it finished",
			x.Namespace, x.Name, w.intent.UTC().Format(time.RFC3339), w.ttl)
	}
	return nil
}

// adopt holds the Job against the execution and records that it is there. One
// that is there after a create of this run is taken for that create's, and
// recorded, even where the server altered it: it must not be created again when
// it is gone.
func (x *execution) adopt(job contract.Object, isRecorded bool) error {
	differs := x.CheckJob(job)
	if differs != nil && x.exposure != sent {
		return differs
	}
	// Whoever created it: from here on a Job of this execution may be running.
	x.exposure = max(x.exposure, recorded)
	x.result.JobUID = contract.UID(job)
	if !isRecorded {
		if err := x.put(x.binding.Dispatched()); err != nil {
			return err
		}
	}
	return differs
}
