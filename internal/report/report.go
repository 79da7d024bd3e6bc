// Package report tells people what a run did: a job summary, an annotation, the
// outputs and the exit status.
//
// It knows the result and the events of a run and nothing of how they came
// about. Every value in a report may come from a cluster or a workload, so each
// is shown as text, on one line and bounded; see document.go.
package report

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// Facts is what was known of a run from its inputs. What is not known is "".
type Facts struct {
	// Cluster is the cluster's name, or the host of its API server.
	Cluster string
	// Namespace, Template, Purpose, ServiceAccount, Container and Image are as
	// given, valid or not.
	Namespace, Template, Purpose, ServiceAccount, Container, Image string
	// Args replace the container's args.
	Args []string
	// EnvironmentNames are the names of the overrides. Values are never shown.
	EnvironmentNames []string
	// TemplateDigest and BindingDigest are what the context pins.
	TemplateDigest, BindingDigest string
	// Contract is the dialect: fdai/v1.
	Contract string
	// CheckpointDir is the work folder.
	CheckpointDir string
	// Stores are the places for records beside it, by their words in
	// checkpoint-stores; empty for none.
	Stores []string
	// ResumedFrom is where the records were found that this run resumed from: a
	// store and, where it is known, the attempt that stored them; or the work folder.
	ResumedFrom string
	// Artifacts are what this run stored as artifacts.
	Artifacts []Artifact
	// Stored says that there are records of the execution, and that each of them is
	// in every one of Stores.
	Stored bool
	// Missing tells of each record that is not what a run again will find, in a
	// sentence.
	Missing []string
}

// Report is everything there is to tell of one run.
type Report struct {
	Facts  Facts
	Result oneshot.Result
	// Err is why the run did not succeed, nil when it did.
	Err error
	// Started is the wall-clock time the run began at.
	Started time.Time
	// Events are what happened, in order.
	Events []oneshot.Event
	// Hide takes secrets out of a text. A host's own masking comes too late for
	// a secret that is too long to be shown whole. Nil hides nothing.
	Hide func(string) string
}

func (r Report) hide(text string) string {
	if r.Hide == nil {
		return text
	}
	return r.Hide(text)
}

// Markdown returns the report for a job summary, in GitHub's flavour of
// Markdown. It is always far below the 1 MiB that GitHub shows.
func (r Report) Markdown() string { return r.document().markdown(r.hide) }

// Plain returns the report for a terminal.
func (r Report) Plain() string { return r.document().plain(r.hide) }

// Status returns what happened, in a sentence or two.
func (r Report) Status() string {
	w := writer{hide: r.hide}
	return w.plain(r.status())
}

// maxAnnotation is a little less than the 4096 UTF-16 units that a runner keeps
// of an annotation's message (actions/runner, ExecutionContext).
const maxAnnotation = 4000

// Annotation returns what to point people at: for a run that did not succeed,
// the failure, its code as the first word of both.
func (r Report) Annotation() (title, message string) {
	job := r.Result.Execution.Name
	if job == "" {
		job = r.Facts.Template
	}
	if job == "" {
		job = "aks-oneshot"
	}
	if r.Err == nil {
		return bound(string(r.outcome())+": "+r.hide(job), maxValue, visible), r.Status()
	}
	code := string(failure.CodeOf(r.Err))
	if code == "" {
		code = string(r.outcome())
	}
	message = r.message()
	// A failure that wraps another has the text of that one, with the field.
	if e := r.failure(); e != nil && e.Field != "" && !strings.HasPrefix(message, e.Field+": ") && !strings.Contains(message, ": "+e.Field+": ") {
		message = e.Field + ": " + message
	}
	if _, do := r.advice(); do != "" {
		message = sentenced(message) + " " + sentenced(do)
	}
	return bound(code+": "+r.hide(job), maxValue, visible), code + ": " + bound(r.hide(message), maxAnnotation-len(code), visibleLines)
}

// outcome is the result's, or unknown where a run was cut short before it had
// one: the careful reading.
func (r Report) outcome() oneshot.Outcome {
	if r.Result.Outcome == "" {
		return oneshot.Unknown
	}
	return r.Result.Outcome
}

// failure returns the failure in the error's tree, or nil.
func (r Report) failure() *failure.Error {
	if e, ok := errors.AsType[*failure.Error](r.Err); ok {
		return e
	}
	return nil
}

// message returns what the error says: without the code, field and advice, which
// have a place of their own, when it is nothing but the failure.
func (r Report) message() string {
	//nolint:errorlint // A failure further down the tree is not all there is to say.
	if e, ok := r.Err.(*failure.Error); ok {
		return e.Message
	}
	return r.Err.Error()
}

// advice returns what the failure's code means, and what to do about it: what the
// failure itself says, or else what its code advises in general. Each may be "".
// Never both: what is written for every failure of a kind repeats or contradicts
// what was written for one.
func (r Report) advice() (means, do string) {
	e := r.failure()
	if e == nil {
		return "", ""
	}
	for _, m := range failure.Meanings() {
		if m.Code == e.Code {
			means, do = m.Means, m.Do
		}
	}
	return means, cmp.Or(e.Fix, do)
}
