package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

func TestOutputs(t *testing.T) {
	t.Parallel()
	full := execution(t, jobName)
	tests := []struct {
		name   string
		result oneshot.Result
		err    error
		want   map[string]string
	}{
		{
			name: "succeeded",
			result: oneshot.Result{
				Outcome: oneshot.Succeeded, Execution: full, JobUID: jobUID, Dispatched: true,
				Evidence: complete(), Duration: 12345678 * time.Microsecond,
			},
			want: map[string]string{
				"outcome": "succeeded", "reason": "", "job-name": jobName, "job-uid": jobUID, "namespace": "fdai-runtime",
				"execution-digest": full.Digest.String(), "resumed": "false", "dispatched": "true", "successor": "0",
				"terminal-evidence": `{"completion_time":"2026-11-30T09:15:16Z","conditions":[` +
					`{"reason":"CompletionsReached","status":"True","type":"Complete"},` +
					`{"reason":"CompletionsReached","status":"True","type":"SuccessCriteriaMet"}],"failed":0,"succeeded":1}`,
				"checkpoint-dir": "/records", "checkpoint-stores": "", "checkpoint-artifacts": "[]", "checkpoints-stored": "false", "resumed-from": "",
				"duration-seconds": "12.346",
			},
		},
		{
			name:   "refused before there was an execution",
			result: oneshot.Result{Outcome: oneshot.Refused, Duration: time.Second},
			err:    fmt.Errorf("deriving: %w", failure.New(failure.TemplateDrift, "another digest")),
			want: map[string]string{
				"outcome": "refused", "reason": "template-drift", "job-name": "", "job-uid": "", "namespace": "fdai-runtime",
				"execution-digest": "", "resumed": "false", "dispatched": "false", "successor": "0",
				"terminal-evidence": "", "checkpoint-dir": "/records", "checkpoint-stores": "", "checkpoint-artifacts": "[]", "checkpoints-stored": "false", "resumed-from": "",
				"duration-seconds": "1.000",
			},
		},
		{
			name:   "second successor failed on resumption",
			result: oneshot.Result{Outcome: oneshot.Failed, Execution: full, Resumed: true, Successor: 2, Evidence: contract.Object{}},
			err:    failure.New(failure.JobFailed, "it failed"),
			want: map[string]string{
				"outcome": "failed", "reason": "job-failed", "job-name": jobName, "job-uid": "", "namespace": "fdai-runtime",
				"execution-digest": full.Digest.String(), "resumed": "true", "dispatched": "false", "successor": "2",
				"terminal-evidence": "{}", "checkpoint-dir": "/records", "checkpoint-stores": "", "checkpoint-artifacts": "[]", "checkpoints-stored": "false", "resumed-from": "",
				"duration-seconds": "0.000",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			for _, o := range Outputs(tt.result, tt.err, Facts{Namespace: "fdai-runtime", CheckpointDir: "/records"}) {
				got[o.Name] = o.Value
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOutputsOfCheckpoints(t *testing.T) {
	t.Parallel()
	both := []string{"artifact", "cluster"}
	for name, c := range map[string]struct {
		facts                            Facts
		stores, artifacts, stored, found string
	}{
		"everything is everywhere": {
			Facts{Stores: both, Stored: true, Artifacts: []Artifact{{"j.dispatch-intent.1", 9007199254740993}, {"j.terminal.1", 3}}},
			"artifact,cluster", `[{"name":"j.dispatch-intent.1","id":9007199254740993},{"name":"j.terminal.1","id":3}]`, "true", "",
		},
		"found in a store": {
			Facts{Stores: both[1:], Stored: true, ResumedFrom: "cluster, attempt 2"}, "cluster", "[]", "true", "cluster, attempt 2",
		},
		"something is missing somewhere":         {Facts{Stores: both, Stored: true, Missing: []string{"x"}}, "artifact,cluster", "[]", "false", ""},
		"nothing was recorded":                   {Facts{Stores: both}, "artifact,cluster", "[]", "false", ""},
		"all that is recorded is on one machine": {Facts{Stored: true, ResumedFrom: "work-dir"}, "", "[]", "false", "work-dir"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			for _, o := range Outputs(oneshot.Result{}, nil, c.facts) {
				if strings.HasPrefix(o.Name, "checkpoint") || o.Name == "resumed-from" {
					got[o.Name] = o.Value
				}
			}
			want := map[string]string{"checkpoint-dir": "", "checkpoint-stores": c.stores, "checkpoint-artifacts": c.artifacts, "checkpoints-stored": c.stored, "resumed-from": c.found}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
		})
	}
}

// The table is what the documents are held against, so it has to be whole.
func TestOutputDocsAreTheOutputs(t *testing.T) {
	t.Parallel()
	var documented, set []string
	for _, d := range OutputDocs() {
		documented = append(documented, d.Name)
		if !strings.HasSuffix(d.Description, ".") {
			t.Errorf("the description of %s is no sentence: %q", d.Name, d.Description)
		}
	}
	for _, o := range Outputs(oneshot.Result{}, nil, Facts{}) {
		set = append(set, o.Name)
	}
	if diff := cmp.Diff(documented, set); diff != "" {
		t.Errorf("documented and set outputs differ (-documented +set):\n%s", diff)
	}
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[oneshot.Outcome]int{
		oneshot.Succeeded: 0, oneshot.Failed: 1, oneshot.Invalid: 2, oneshot.Refused: 3, oneshot.Unknown: 4, oneshot.Cancelled: 130,
		"": 4, "no such outcome": 4,
	} {
		if got := ExitStatus(outcome); got != want {
			t.Errorf("exit status of %q is %d, want %d", outcome, got, want)
		}
	}
}

// The status says of the Job only what the result says was seen.
func TestStatus(t *testing.T) {
	t.Parallel()
	e := execution(t, "j")
	drift := failure.New(failure.JobContractChanged, "x")
	tests := []struct {
		name   string
		result oneshot.Result
		err    error
		want   string
	}{
		{"created after resuming", oneshot.Result{Outcome: oneshot.Succeeded, Execution: e, Resumed: true, Dispatched: true, JobUID: "u"}, nil,
			"Job j in namespace fdai-runtime succeeded. This run resumed from the records of an earlier one and created a Job."},
		{"found, not created", oneshot.Result{Outcome: oneshot.Succeeded, Execution: e, JobUID: "u"}, nil,
			"Job j in namespace fdai-runtime succeeded. This run found it and created no Job."},
		{"predecessor replayed, successor adopted", oneshot.Result{Outcome: oneshot.Succeeded, Execution: e, Resumed: true, Replayed: true, Successor: 1, JobUID: "u"}, nil,
			"Job j in namespace fdai-runtime, successor 1, succeeded after its predecessor had failed. This run resumed from the records of an earlier one and created no Job."},
		{"failure replayed", oneshot.Result{Outcome: oneshot.Failed, Execution: e, Resumed: true, Replayed: true, Evidence: backoff()}, failure.New(failure.JobFailed, "x"),
			"Job j in namespace fdai-runtime failed (BackoffLimitExceeded) in an earlier run. That is what the records say; this run neither read nor created the Job."},
		{"refused after dispatch", oneshot.Result{Outcome: oneshot.Refused, Execution: e, Dispatched: true, JobUID: "u"}, drift,
			"Refused (job-contract-changed): The Job in the cluster is not the one this execution describes."},
		{"refused before dispatch", oneshot.Result{Outcome: oneshot.Refused, Execution: e}, drift,
			"Refused (job-contract-changed): The Job in the cluster is not the one this execution describes. This run created no Job."},
		{"cancelled early", oneshot.Result{Outcome: oneshot.Cancelled}, nil,
			"Cancelled before there was a Job; run again."},
		{"cancelled before the Job was seen", oneshot.Result{Outcome: oneshot.Cancelled, Execution: e}, nil,
			"Cancelled before Job j in namespace fdai-runtime was seen; run again to resume."},
		{"nothing known", oneshot.Result{}, nil,
			"How the run ended is not known."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := (Report{Result: tt.result, Err: tt.err}).Status(); got != tt.want {
				t.Errorf("status is\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// A create without an answer may have had its effect: "no" would be a guess.
func TestCreatedIsNotGuessed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		result oneshot.Result
		want   string
	}{
		{oneshot.Result{Outcome: oneshot.Unknown}, "not known"},
		{oneshot.Result{Outcome: oneshot.Cancelled}, "not known"},
		{oneshot.Result{Outcome: oneshot.Unknown, JobUID: "u"}, "no"},
		{oneshot.Result{Outcome: oneshot.Unknown, Dispatched: true}, "yes"},
		{oneshot.Result{Outcome: oneshot.Refused}, "no"},
		{oneshot.Result{Outcome: oneshot.Succeeded, Dispatched: true}, "yes"},
	} {
		if got := (Report{Result: tt.result}).created(); got != tt.want {
			t.Errorf("created of %+v is %q, want %q", tt.result, got, tt.want)
		}
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0 ms", 999 * time.Millisecond: "999 ms", 1500 * time.Millisecond: "1.5 s",
		59990 * time.Millisecond: "59.9 s", time.Minute: "1 min 00 s", 3599 * time.Second: "59 min 59 s",
		time.Hour: "1 h 00 min", 26*time.Hour + 3*time.Minute: "26 h 03 min",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%s) = %q, want %q", d, got, want)
		}
	}
}

func TestOutputDocsCannotBeChangedFromOutside(t *testing.T) {
	t.Parallel()
	OutputDocs()[0].Name = "x"
	if name := OutputDocs()[0].Name; name != "outcome" {
		t.Errorf("the first output is %q", name)
	}
}

func TestOutputsAreBounded(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("R", 3<<20)
	condition := func(reason string) map[string]any {
		return map[string]any{"type": "Complete", "status": "True", "reason": reason}
	}
	many := make([]any, 1000)
	for i := range many {
		many[i] = condition(strings.Repeat("r", 300))
	}
	deep := any("x")
	for range 150 {
		deep = []any{deep, strings.Repeat("d", 320)}
	}
	for name, c := range map[string]struct {
		evidence contract.Object
		want     string
	}{
		"a reason": {contract.Object{"conditions": []any{condition(huge)}, "succeeded": json.Number("1")},
			`{"conditions":[{"reason":"(left out: 3145728 bytes)","status":"True","type":"Complete"}],"shortened":true,"succeeded":1}`},
		"nested": {contract.Object{"completion_time": deep}, `"shortened":true`},
		"many":   {contract.Object{"conditions": many}, `"shortened":true`},
		"names":  {contract.Object{huge: "x"}, `{"shortened":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			artifacts := slices.Repeat([]Artifact{{strings.Repeat("n", maxValue), math.MaxInt64}}, 500)
			artifacts[len(artifacts)-1] = Artifact{huge, 7}
			for _, output := range Outputs(oneshot.Result{JobUID: huge, Evidence: c.evidence}, nil, Facts{ResumedFrom: huge, Artifacts: artifacts}) {
				if len(output.Value) > maxEvidence {
					t.Errorf("%s has %d bytes", output.Name, len(output.Value))
				}
				switch output.Name {
				case "checkpoint-artifacts":
					if !strings.HasSuffix(output.Value, `,{"name":"(left out: 3145728 bytes)","id":7}]`) {
						t.Errorf("the last artifact is not there: %.300s", output.Value)
					}
				case "job-uid", "resumed-from":
					if output.Value != "(left out: 3145728 bytes)" {
						t.Errorf("%s is %.100s", output.Name, output.Value)
					}
				case "terminal-evidence":
					if _, err := contract.ParseObject([]byte(output.Value)); err != nil || !strings.Contains(output.Value, c.want) {
						t.Errorf("the evidence is %.300s, want %s (%v)", output.Value, c.want, err)
					}
				}
			}
		})
	}
}
