// Package oneshot runs one execution at most once. It is the state machine
// between the records and the cluster: it decides, from what was recorded and
// what is there, whether to create the Job, adopt it, replay its outcome or
// refuse, and it records each step before and after it acts.
//
// It knows Kubernetes and stores only as the small interfaces it is given.
package oneshot

import (
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// Plan is what one run is to do.
type Plan struct {
	Request contract.Request
	// Successors is how many successors may follow a failure, at most
	// [MaxSuccessors].
	Successors int
	// SuccessorEnvironments holds the environment of each of them, in order.
	// The number is stated twice on purpose, as the reference has it: a list
	// that lost an entry is noticed.
	SuccessorEnvironments []map[string]string
	// Timeout is how long each execution gets, from its first request to the
	// end of its Job.
	Timeout time.Duration
}

// MaxSuccessors is the reference's bound on successors.
const MaxSuccessors = 2

// Engine runs plans against one cluster and one store.
type Engine struct {
	Cluster Cluster
	Store   checkpoint.Store
	// Notify is told of each event, in order and one at a time. The run waits for
	// it, so it must not block for long. Nil is fine.
	Notify func(Event)
	// Now is the wall clock, for recorded times. Nil is [time.Now]. Deadlines
	// are on the monotonic clock.
	Now func() time.Time
}
