package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

func TestSucceeds(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.args("print hello", "sleep 200ms")
	e := s.run()
	s.expect(e, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, says: []string{"Complete (CompletionsReached)"}})
	job, err := s.World.API.Get(t.Context(), harness.JobPath(e.Outputs["job-name"]))
	if err != nil {
		t.Fatal(err)
	}
	if uid := harness.Member(job, "metadata", "uid"); uid != e.Outputs["job-uid"] {
		t.Errorf("output job-uid is %q, the Job has %v", e.Outputs["job-uid"], uid)
	}
	for _, fact := range []string{`"succeeded":1`, `"type":"Complete"`, `"reason":"CompletionsReached"`} {
		if !strings.Contains(e.Outputs["terminal-evidence"], fact) {
			t.Errorf("%s is not in the evidence %s", fact, e.Outputs["terminal-evidence"])
		}
	}
	if owners := harness.Member(job, "metadata", "ownerReferences"); owners != nil {
		t.Errorf("the Job belongs to %v: the CronJob's history limits would remove it", owners)
	}
}

// TestReplaysAfterTheJobIsGone: the wait for completion of a Job that its TTL
// removed is where a plain re-run would start the work again.
func TestReplaysAfterTheJobIsGone(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{TTL: 1})
	first := s.run()
	s.expect(first, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
	s.gone(first.Outputs["job-name"])
	before := s.requests()
	again := s.run()
	s.expect(again, want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1, says: []string{"nothing is dispatched"}})
	for _, name := range []string{"job-name", "execution-digest", "terminal-evidence"} {
		if again.Outputs[name] != first.Outputs[name] {
			t.Errorf("output %s was %q and is %q", name, first.Outputs[name], again.Outputs[name])
		}
	}
	for _, r := range s.requests()[len(before):] {
		if r.Resource == "jobs" {
			t.Errorf("a replay asked for the Job: %s %s", r.Verb, r.RequestURI)
		}
	}
}

// TestFailsByBackoff: a wait for completion that goes on for ever when the Job
// fails is what people meet first.
func TestFailsByBackoff(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.args("warn no database", "exit 3")
	e := s.run()
	s.expect(e, want{outcome: "failed", reason: "job-failed", dispatched: true, records: asTerminal, created: 1, says: []string{"BackoffLimitExceeded"}})
	if code := s.exitCode(e.Outputs["job-name"]); code != "3" {
		t.Errorf("the pod's exit code is %s, want 3", code)
	}
	again := s.run()
	s.expect(again, want{outcome: "failed", reason: "job-failed", resumed: true, records: asTerminal, created: 1, says: []string{"BackoffLimitExceeded"}})
}

func TestFailsByDeadline(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{ActiveDeadline: 2})
	s.args("sleep 1m")
	e := s.run()
	s.expect(e, want{outcome: "failed", reason: "job-failed", dispatched: true, records: asTerminal, created: 1, says: []string{"DeadlineExceeded"}})
}

// TestInterimConditionsAreNotTheEnd: since Kubernetes 1.31 FailureTarget comes
// before Failed, here for as long as the pod takes to end. (With a backoff limit
// of 0 the dialect would count the pod that is ending and call it the end.)
func TestInterimConditionsAreNotTheEnd(t *testing.T) {
	t.Parallel()
	needRealNode(t)
	s := set(t, harness.Template{ActiveDeadline: 2, BackoffLimit: 3, Edit: func(cronJob harness.Object) {
		podSpec(cronJob)["terminationGracePeriodSeconds"] = 4
	}})
	s.args("ignore-term", "sleep 1m")
	run := s.start()
	path := harness.JobPath(run.job())
	s.until(path, "FailureTarget is set", func(job harness.Object) bool { return condition(job, "FailureTarget") != nil })
	begin := time.Now()
	for time.Since(begin) < time.Second {
		if job, err := s.World.API.Get(t.Context(), path); err != nil || condition(job, "Failed") != nil {
			t.Fatalf("no time between FailureTarget and Failed: %v %v", job, err)
		}
		if !run.Running() {
			t.Fatalf("the run ended with FailureTarget:\n%s", run.Log())
		}
		time.Sleep(50 * time.Millisecond)
	}
	e := run.wait()
	s.expect(e, want{outcome: "failed", reason: "job-failed", dispatched: true, records: asTerminal, created: 1, says: []string{"Failed (DeadlineExceeded)"}})
}

// TestOnePodFailsThenOneSucceeds: the Job's conditions decide, not the number of
// pods that failed.
func TestOnePodFailsThenOneSucceeds(t *testing.T) {
	t.Parallel()
	needRealNode(t)
	s := set(t, withFolder(t, harness.Template{BackoffLimit: 2}))
	s.args("fail-until 2 /shared/tries")
	e := s.run()
	s.expect(e, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
	for _, fact := range []string{`"succeeded":1`, `"failed":1`} {
		if !strings.Contains(e.Outputs["terminal-evidence"], fact) {
			t.Errorf("%s is not in the evidence %s", fact, e.Outputs["terminal-evidence"])
		}
	}
}

func TestSuccessorSucceeds(t *testing.T) {
	t.Parallel()
	needRealNode(t)
	s := set(t, withFolder(t, harness.Template{}))
	s.args("fail-until 2 /shared/tries")
	s.Inputs["retries"], s.Inputs["retry-env"] = "1", `[{"ATTEMPT": "second"}]`
	e := s.run()
	s.expect(e, want{outcome: "succeeded", dispatched: true, successor: "1", records: asTerminal, created: 2})
	if !strings.HasPrefix(e.Outputs["job-name"], "fdai-"+s.Name+"-retry-1-") {
		t.Errorf("the successor is %s", e.Outputs["job-name"])
	}
	s.expectRecords(s.other(e.Outputs["job-name"]), asTerminal)
	again := s.run()
	s.expect(again, want{outcome: "succeeded", resumed: true, successor: "1", records: asTerminal, created: 2})
}

func TestAllSuccessorsFail(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.args("exit 1")
	s.Inputs["retries"], s.Inputs["retry-env"] = "2", `[{"ATTEMPT": "second"}, {"ATTEMPT": "third"}]`
	e := s.run()
	s.expect(e, want{outcome: "failed", reason: "job-failed", dispatched: true, successor: "2", records: asTerminal, created: 3})
	again := s.run()
	s.expect(again, want{outcome: "failed", reason: "job-failed", resumed: true, successor: "2", records: asTerminal, created: 3})
}

// TestSuspendedJobWaits: a queue holds the Job back and lets it go later.
func TestSuspendedJobWaits(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{Suspended: true, Edit: func(cronJob harness.Object) { jobSpec(cronJob)["suspend"] = true }})
	s.Inputs["require-suspended"] = "true"
	run := s.start()
	path := harness.JobPath(run.job())
	s.until(path, "the Job is suspended", func(job harness.Object) bool { return condition(job, "Suspended") != nil })
	run.until("waiting for Job")
	if !run.Running() {
		t.Fatalf("the run does not wait for a suspended Job:\n%s", run.Log())
	}
	s.patch(path, map[string]any{"spec": map[string]any{"suspend": false}})
	s.expect(run.wait(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
}

// TestTimeIsUp: the Job goes on, and a re-run waits for it.
func TestTimeIsUp(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.args("sleep 6s")
	s.Inputs["timeout"] = "3s"
	e := s.run()
	s.expect(e, want{outcome: "unknown", reason: "deadline-exceeded", dispatched: true, records: asDispatched, created: 1, says: []string{"it goes on"}})
	if e.Took > 5*time.Second {
		t.Errorf("with a timeout of 3 s the run took %s", e.Took)
	}
	s.Inputs["timeout"] = "2m"
	s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1})
}
