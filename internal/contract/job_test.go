package contract

import (
	"encoding/json"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

func TestCheckJobAcceptsWhatTheServerAdds(t *testing.T) {
	t.Parallel()
	e := testExecution(t)
	for name, job := range map[string]Object{"its manifest": e.Manifest, "the live Job": fixture(t, "job-complete.json")} {
		if err := e.CheckJob(job); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
}

func TestCheckJobNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	pod := []any{"spec", "template", "spec"}
	tests := []struct {
		name  string
		value any
		path  []any
		field string
	}{
		{"node selector", map[string]any{"pool": "other"}, in(pod, "nodeSelector"), "spec.template.spec.nodeSelector.fdai.io/pool"},
		{"deadline", json.Number("1"), []any{"spec", "activeDeadlineSeconds"}, "spec.activeDeadlineSeconds"},
		{"an argument", []any{"--other"}, in(pod, "containers", 0, "args"), "spec.template.spec.containers[0].args[0]"},
		{"a digest", "x", []any{"metadata", "annotations", "fdai.io/execution-digest"}, "metadata.annotations.fdai.io/execution-digest"},
		{"a value", "x", in(pod, "containers", 0, "env", 1, "value"), "spec.template.spec.containers[0].env[1].value"},
		{"completions", json.Number("2"), []any{"spec", "completions"}, "spec.completions"},
		{"no spec", remove, []any{"spec"}, "spec"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			job := fixture(t, "job-complete.json")
			set(job, test.value, test.path...)
			checkFailure(t, testExecution(t).CheckJob(job), failure.JobContractChanged, test.field)
		})
	}
}

func TestDeletingJobIsKnown(t *testing.T) {
	t.Parallel()
	job := fixture(t, "job-complete.json")
	if Deleting(job) {
		t.Error("a Job without deletionTimestamp is being deleted")
	}
	set(job, "2026-09-27T01:00:42Z", "metadata", "deletionTimestamp")
	if !Deleting(job) {
		t.Error("a Job with deletionTimestamp is not being deleted")
	}
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	have, err := Evidence(fixture(t, "job-complete.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"completion_time":"2026-09-27T01:00:42Z","conditions":[{"reason":"CompletionsReached","status":"True","type":"Complete"},` +
		`{"reason":"CompletionsReached","status":"True","type":"SuccessCriteriaMet"}],"failed":0,"succeeded":1}`
	if string(must(Canonical(have))) != want {
		t.Errorf("evidence is %s, want %s", must(Canonical(have)), want)
	}
	for _, bad := range []string{`{}`, `{"status":{"conditions":[{"type":1}]}}`, `{"status":{"conditions":["x"]}}`} {
		if _, err := Evidence(must(ParseObject([]byte(bad)))); failure.CodeOf(err) != failure.StatusInconsistent {
			t.Errorf("evidence of %s: %v, want status-inconsistent", bad, err)
		}
	}
}

// Since Kubernetes 1.31 the interim conditions come before the terminal ones,
// so that reading the first condition only is wrong.
func TestStateReadsEveryCondition(t *testing.T) {
	t.Parallel()
	job := must(ParseObject([]byte(`{"spec":{"backoffLimit":1},"status":{"succeeded":1,"conditions":[
		{"type":"SuccessCriteriaMet","status":"True"},{"type":"Suspended","status":"False"},{"type":"Complete","status":"True"}]}}`)))
	if state, err := StateOf(job); err != nil || state != Succeeded {
		t.Errorf("state is %q (%v), want succeeded", state, err)
	}
}
