// Package checkpoint keeps the records of an execution: one small document for
// each step it takes, written before or after the step acts, so that a later
// run knows what was done and what may have been done.
package checkpoint

import (
	"fmt"
	"slices"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// Step names what a record is about.
type Step string

// The steps of an execution, in the order in which they are recorded.
const (
	// Manifest is the Job itself, as it will be created. It is kept beside the
	// records in the work folder and goes to no shared store.
	Manifest Step = "manifest"
	// Prepared says that the execution was derived and verified.
	Prepared Step = "prepared"
	// Intent says that a create may follow at any moment.
	Intent Step = "dispatch-intent"
	// Dispatched says that the API server has the Job.
	Dispatched Step = "dispatched"
	// Ambiguous says that a create got no answer and must not be repeated.
	Ambiguous Step = "dispatch-ambiguous"
	// Terminal says how the Job ended.
	Terminal Step = "terminal"
)

// Steps lists every step in order.
func Steps() []Step {
	return []Step{Manifest, Prepared, Intent, Dispatched, Ambiguous, Terminal}
}

// Record is one stored document about a step of an execution.
type Record struct {
	Step Step
	// Content is the document. What is written is canonical JSON; what was read
	// is whatever a store found and has to be validated before it is believed.
	Content contract.Object
}

// Encode returns the record as it is stored: canonical JSON and a newline.
func (r Record) Encode() ([]byte, error) {
	data, err := contract.Canonical(r.Content)
	if err != nil {
		return nil, fmt.Errorf("encoding the %s record: %w", r.Step, err)
	}
	return append(data, '\n'), nil
}

// Equal reports whether both records say the same, however they are spelt.
func (r Record) Equal(other Record) bool {
	a, errA := r.Encode()
	b, errB := other.Encode()
	return errA == nil && errB == nil && r.Step == other.Step && slices.Equal(a, b)
}

// Records are what a store holds of one execution, at most one a step.
type Records map[Step]Record
