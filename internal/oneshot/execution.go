package oneshot

import (
	"context"
	"errors"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

const (
	// grace is how long what is under way may go on after the run was told to
	// stop or its time is up: all of it together, below the five seconds in which
	// a stopped run has to be safe.
	grace = 4 * time.Second
	// createGrace is the part of it that a create may take, so that there is time
	// left to record what came of it.
	createGrace = grace / 2

	// absenceMargin is how long before the end of the TTL window an absent Job
	// stops being a Job that was never created. It covers what clocks and the TTL
	// controller are off by.
	absenceMargin = time.Minute
)

// execution is one execution at work.
type execution struct {
	*run
	contract.Execution
	binding checkpoint.Binding
	// late outlives the run's own context by grace. What makes a step safe is
	// done in it: what is recorded has been done, or is about to be.
	late context.Context
	// second says that another run was first, and this one goes on after it.
	second bool
	// readFrom and readTo are when the records began to be read, and when the Job
	// was; intended is when this run recorded its own intent, if it did.
	readFrom, readTo, intended time.Time
}

// own reports whether an intent is the one that this run recorded.
func (x *execution) own(intentAt *time.Time) bool {
	return intentAt != nil && !x.intended.IsZero() && intentAt.Equal(x.intended.Truncate(time.Microsecond))
}

// open reads what is recorded of the execution. It returns what that says of
// the past, and the records that have to be there before anything is done and
// are not yet.
func (x *execution) open(ctx context.Context) (checkpoint.History, []checkpoint.Record, error) {
	x.readFrom = x.now()
	records, err := x.Store.Load(ctx, x.Name)
	if err != nil {
		return checkpoint.History{}, nil, x.storeFailure("reading the records of "+x.Name, err)
	}
	prepared, err := x.binding.Prepared()
	if err != nil {
		return checkpoint.History{}, nil, failure.New(failure.ConfigInvalid, "%w", err)
	}
	var missing []checkpoint.Record
	for _, record := range []checkpoint.Record{x.binding.Manifest(), prepared} {
		retained, ok := records[record.Step]
		if !ok {
			missing = append(missing, record)
		} else if err := x.binding.Same(record, retained); err != nil {
			return checkpoint.History{}, nil, err
		}
	}
	history, err := x.binding.Validate(records, x.now())
	if err != nil {
		return checkpoint.History{}, nil, err
	}
	if err := x.Store.Heal(x.late, x.Name); err != nil {
		return checkpoint.History{}, nil, x.storeFailure("storing again the records of "+x.Name+" where they are missing", err)
	}
	if history.IntentAt != nil && !x.own(history.IntentAt) || history.Dispatched || history.Ambiguous || history.Outcome != "" {
		x.result.Resumed, x.exposure = true, recorded
		x.notify(EventResumed, "an earlier run left records of %s: %s", x.Name, history)
	}
	return history, missing, nil
}

// prepare stores the records that are missing.
func (x *execution) prepare(missing []checkpoint.Record) error {
	for _, record := range missing {
		if err := x.put(record, nil); err != nil {
			return err
		}
	}
	return nil
}

// replay returns the outcome that a terminal record states. Nothing is read
// from the cluster: the Job may long be gone.
func (x *execution) replay(history checkpoint.History) error {
	x.result.Replayed, x.result.Evidence = true, history.Evidence
	x.notify(EventReplayed, "the terminal record says that %s %s; nothing is dispatched", x.Name, history.Outcome)
	return x.ended(history.Outcome)
}

// ended returns the error for a Job that ended in the given state.
func (x *execution) ended(state contract.State) error {
	if state == contract.Succeeded {
		return nil
	}
	return failure.New(failure.JobFailed, "Job %s/%s failed%s", x.Namespace, x.Name, reasons(x.result.Evidence))
}

// put stores a record durably. It takes what made the record, err included.
func (x *execution) put(record checkpoint.Record, err error) error {
	if err != nil {
		return failure.New(failure.CheckpointStoreFailed, "%w", err)
	}
	switch err := x.Store.Put(x.late, x.Name, record); {
	case errors.Is(err, checkpoint.ErrLater):
		x.notify(EventRecorded, "not recorded yet: %s (%v)", record.Step, err)
	case err != nil:
		return x.storeFailure("storing the "+string(record.Step)+" record of "+x.Name, err)
	default:
		x.notify(EventRecorded, "recorded: %s", record.Step)
	}
	return nil
}
