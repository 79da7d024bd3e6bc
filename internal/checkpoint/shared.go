package checkpoint

import (
	"context"
	"errors"
)

// Shared is a place for records that other machines can reach, and that others
// may have written to. It keeps documents as they are and judges none of them:
// that is the same for every place, and is done by who reads it.
//
// Its methods end early when ctx ends. The error then wraps ctx's cause and has
// no code.
type Shared interface {
	// Name is the word of the input checkpoint-stores for it.
	Name() string

	// Read returns every copy of every document that can be found of the named
	// execution, in no order. None is not an error. The error is
	// checkpoint-store-failed, or permission-denied.
	Read(ctx context.Context, execution string) (Found, error)

	// Write stores the documents of one step, and returns when they are durable:
	// that of the step is the last one, and what is kept with it comes before.
	//
	// What is there with equal content already is left alone. Where the step is
	// there with other content, nothing is written and the error wraps [ErrTaken].
	// After any other error it may be stored all the same, and the same call may
	// be made again. Those have the codes of Read.
	Write(ctx context.Context, execution string, documents ...Document) error
}

// Reserver is a [Shared] that can begin to store a step before its content is
// known. It returns at once; what comes of it shows in the Write that follows. A
// reservation that is never used does no harm.
type Reserver interface {
	Reserve(ctx context.Context, execution string, step Step)
}

// ErrTaken is the error of a write that came second: somebody else has stored the
// step, with other content.
var ErrTaken = errors.New("another run has stored this step first, with other content")

// Found is what was read of one execution in a [Shared] place.
type Found struct {
	Copies []Copy
	// Complete says that there is no more than what was found: that a step which
	// is missing was never stored. It is false of a place that forgets.
	Complete bool
	// Local says that the place is in the cluster that the executions are of.
	Local bool
	// Blind is why records may be there that could not be looked for, and what can
	// be done about it; nil when everything was looked at.
	Blind error
}

// Copy is one copy of a document.
type Copy struct {
	Document
	// Where names the copy for people: an artifact, a key, an object.
	Where string
	// Attempt is the attempt of the workflow that stored it, 0 when not known.
	Attempt int
	// Err is why the copy cannot be read; there is no content then.
	Err error
}

// Document is one record as it is kept in a [Shared] place.
type Document struct {
	Step Step
	// Data is the record as [Record.Encode] has it.
	Data []byte
	// Seal is made by [Key.Seal]: one line, "" when it says nothing.
	Seal string
}

// SharedSteps lists the steps that are kept in shared places, in order. The
// manifest stays in the work folder: the environment of the Job is in it.
func SharedSteps() []Step { return []Step{Prepared, Intent, Dispatched, Ambiguous, Terminal} }
