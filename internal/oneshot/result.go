package oneshot

import (
	"fmt"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// Outcome is what became of a run.
type Outcome string

// The outcomes. Only the first two say how the Job ended.
const (
	// Succeeded: the Job is Complete.
	Succeeded Outcome = "succeeded"
	// Failed: the Job failed, and every successor there was to be failed too or
	// was not started; the failure's code tells which.
	Failed Outcome = "failed"
	// Invalid: the input was not usable. Nothing was changed.
	Invalid Outcome = "invalid"
	// Refused: something was not as reviewed or recorded, or could not be had.
	// This run dispatched nothing.
	Refused Outcome = "refused"
	// Unknown: a Job may run, or may have run, and how it ended is not known.
	Unknown Outcome = "unknown"
	// Cancelled: the run was told to stop. A Job that was created goes on.
	Cancelled Outcome = "cancelled"
)

// Result is what one run did and saw. It is filled as far as the run came, also
// when it failed. Where successors ran, all but Resumed and Duration is of the
// last one.
type Result struct {
	Outcome Outcome
	// Execution is the last execution that was worked on; its name is "" when
	// the run ended before there was one.
	Execution contract.Execution
	// Successor is 0 for the execution itself, n for its nth successor.
	Successor int
	// JobUID is the Job's metadata.uid, "" when no Job was seen.
	JobUID string
	// Dispatched says that this run created the Job.
	Dispatched bool
	// Resumed says that records of an earlier run were found and used.
	Resumed bool
	// Replayed says that the outcome was read from a terminal record.
	Replayed bool
	// Evidence is what was recorded of the Job's status at its end, nil before.
	Evidence contract.Object
	// Duration is how long the run took on the monotonic clock.
	Duration time.Duration
}

// Event is one thing that happened in a run, told as it happens.
type Event struct {
	// Kind is what happened.
	Kind EventKind
	// Execution names the Job it is about, "" before there is a name.
	Execution string
	// Text is the event for people: one line.
	Text string
	// At is when it happened, on the wall clock with its monotonic reading.
	At time.Time
}

func newEvent(kind EventKind, execution, format string, args ...any) Event {
	return Event{Kind: kind, Execution: execution, Text: fmt.Sprintf(format, args...), At: time.Now()}
}

// EventKind names what an [Event] tells.
type EventKind string

// The kinds of events, in the order of a run.
const (
	EventVerified   EventKind = "verified"
	EventRecorded   EventKind = "recorded"
	EventResumed    EventKind = "resumed"
	EventReplayed   EventKind = "replayed"
	EventDispatched EventKind = "dispatched"
	EventAdopted    EventKind = "adopted"
	EventWaiting    EventKind = "waiting"
	EventRetrying   EventKind = "retrying"
	EventTerminal   EventKind = "terminal"
	EventSuccessor  EventKind = "successor"
)
