package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// Output is one value for the steps that follow.
type Output struct{ Name, Value string }

// OutputDoc says what an output holds.
type OutputDoc struct{ Name, Description string }

// OutputDocs describes every output, in the order of [Outputs].
func OutputDocs() []OutputDoc { return slices.Clone(outputDocs) }

var outputDocs = []OutputDoc{
	{"outcome", "What became of the run: succeeded, failed, invalid, refused, unknown or cancelled."},
	{"reason", "The failure code when the run did not succeed, else empty."},
	{"job-name", "The name of the Job; of the last one where successors ran. Empty when the run ended before there was a name."},
	{"job-uid", "The metadata.uid of the Job, empty when no Job was seen."},
	{"namespace", "The namespace of the Job, also when there is none yet; empty only when the input was wrong."},
	{"execution-digest", "The SHA-256 of everything that makes the execution what it is, in hexadecimal."},
	{"resumed", "true when records of an earlier run were found and used, else false."},
	{"dispatched", "true when this run is known to have created the Job, else false."},
	{"successor", "0 for the execution itself, n for its nth successor."},
	{"terminal-evidence", "The conditions and counts of the Job at its end, as JSON; empty when the end was not seen. Of more than 32 KiB a part, with \"shortened\": true."},
	{"checkpoint-dir", "The folder that holds the records."},
	{"checkpoint-stores", "Where else records are kept: some of artifact, cluster and cache, with commas between them; empty when nowhere."},
	{"checkpoint-artifacts", "The artifacts that this run stored, as JSON: a list of objects with name and id, [] when there are none."},
	{"checkpoints-stored", "true when there are records and each is in every one of checkpoint-stores, so that a run on another machine finds them all; else false, also when there was nothing to record and when checkpoint-stores is empty."},
	{"resumed-from", "Where the records were found that this run resumed from: a store and, where it was one of this workflow run, the attempt that stored them, as in artifact, attempt 1, or work-dir; empty when it resumed from none."},
	{"duration-seconds", "How long the run took, in seconds with three decimals."},
}

// Outputs returns every output of a run, in a fixed order; those of which
// nothing is known are "". err is the run's error, or nil. What the inputs said
// stands in for what an execution would, which a refused run never had.
func Outputs(result oneshot.Result, err error, facts Facts) []Output {
	e := result.Execution
	digest := ""
	if !e.Digest.IsZero() {
		digest = e.Digest.String()
	}
	return []Output{
		{"outcome", string(result.Outcome)},
		{"reason", string(failure.CodeOf(err))},
		{"job-name", e.Name},
		{"job-uid", leftOut(result.JobUID)},
		{"namespace", cmp.Or(e.Namespace, facts.Namespace)},
		{"execution-digest", digest},
		{"resumed", strconv.FormatBool(result.Resumed)},
		{"dispatched", strconv.FormatBool(result.Dispatched)},
		{"successor", strconv.Itoa(result.Successor)},
		{"terminal-evidence", evidenceJSON(result.Evidence)},
		{"checkpoint-dir", facts.CheckpointDir},
		{"checkpoint-stores", strings.Join(facts.Stores, ",")},
		{"checkpoint-artifacts", artifactsJSON(facts.Artifacts)},
		{"checkpoints-stored", strconv.FormatBool(facts.stored())},
		{"resumed-from", leftOut(facts.ResumedFrom)},
		{"duration-seconds", strconv.FormatFloat(result.Duration.Seconds(), 'f', 3, 64)},
	}
}

// ExitStatus returns the exit status that stands for an outcome: 0 only for
// success, and 4, not known, for anything it has not heard of. 130 is what a
// shell reports of a process that SIGINT ended.
func ExitStatus(outcome oneshot.Outcome) int {
	switch outcome {
	case oneshot.Succeeded:
		return 0
	case oneshot.Failed:
		return 1
	case oneshot.Invalid:
		return 2
	case oneshot.Refused:
		return 3
	case oneshot.Cancelled:
		return 130
	case oneshot.Unknown:
	}
	return 4
}
