package composite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// Status is what became of the records of a run.
type Status struct {
	// Missing are the records that a place does not have for all that is known.
	Missing []Missing
	// Recorded says that there is an intent or more: that there is something to be
	// found again.
	Recorded bool
	// Resumed is where the run resumed from, nil when nothing was found.
	Resumed *Origin
}

// Missing is a record that could not be stored.
type Missing struct {
	// Place is the name of a shared place, or [WorkFolder].
	Place     string
	Execution string
	Step      checkpoint.Step
	// Err is what the place last said.
	Err error
}

// String tells what is missing, why, and what a run finds that comes after.
func (m Missing) String() string {
	return fmt.Sprintf("checkpoint store %s does not have the %s record of %s: %s. %s",
		m.Place, m.Step, m.Execution, strings.TrimSuffix(failureText(m.Err), "."), m.consequence())
}

// consequence is what a run finds that has only this place to look at.
func (m Missing) consequence() string {
	if errors.Is(m.Err, checkpoint.ErrTaken) || failure.CodeOf(m.Err) == failure.CheckpointDiffers {
		return "A run that finds both is refused (checkpoint-differs): find out which of them is right"
	}
	switch m.Step {
	case checkpoint.Dispatched:
		return "A run that finds nothing else knows only that the Job was to be created: it goes on with the Job where that is there, " +
			"and may send the create again, under the same name, within the TTL window"
	case checkpoint.Ambiguous:
		return "A run that finds nothing else does not know that a create got no answer, and may send it again, under the same name, within the TTL window"
	case checkpoint.Terminal:
		return "A run that finds nothing else reads how the Job ended from the Job, and refuses when that is gone"
	case checkpoint.Intent:
		return "A run that finds nothing else does not know that the Job may have been created, and refuses where it is there"
	case checkpoint.Manifest, checkpoint.Prepared:
	}
	return "A run that finds nothing else does not know of it"
}

// parting is how long a place may take to notice that the store has ended. What
// is slower than that is left behind: a disk can take for ever.
const parting = 200 * time.Millisecond

// Finish waits until every record is stored, or ctx ends, and ends the store. A
// record that was waiting to be tried again is tried at once.
func (s *Store) Finish(ctx context.Context) Status {
	for _, w := range s.writers {
		w.close()
	}
	for _, w := range s.writers {
		if idle := w.working(); idle != nil {
			select {
			case <-idle:
			case <-ctx.Done():
			}
		}
	}
	s.cancel()
	timer := time.NewTimer(parting)
	defer timer.Stop()
	status := Status{}
	for _, w := range s.writers {
		if idle := w.working(); idle != nil {
			select {
			case <-idle:
			case <-timer.C:
				timer.Reset(0) // the others have had the time, too
			}
		}
		status.Missing = append(status.Missing, w.missing()...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	status.Recorded, status.Resumed = s.recorded, s.resumed
	return status
}

// working returns what is closed when nothing is pending any more, nil when
// nothing ever was.
func (w *writer) working() chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.idle
}

// missing returns what the place does not have, in order.
func (w *writer) missing() []Missing {
	w.mu.Lock()
	defer w.mu.Unlock()
	var missing []Missing
	for _, items := range [][]*item{w.lost, w.pending} {
		for _, i := range items {
			missing = append(missing, Missing{Place: w.place, Execution: i.execution, Step: i.record.Step, Err: i.err})
		}
	}
	return missing
}
