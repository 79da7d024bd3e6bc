package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// TestStoresNamesTaken: the names that a run would use are taken in its own
// attempt, which is no failure of the run.
func TestStoresNamesTaken(t *testing.T) {
	t.Parallel()
	steps := []string{"dispatch-intent", "dispatched", "terminal"}
	// By uploads that were never finalized: names are held by them for good.
	t.Run("never-finalized", func(t *testing.T) {
		t.Parallel()
		s := keep(t, harness.Template{}, "artifact")
		job := s.planned()
		for _, step := range steps {
			s.Stores.ReserveArtifact(s.Stores.Attempt(), job+"."+step+".1")
		}
		e := s.run()
		s.expect(e, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, stored: is("true")})
		if e.Outputs["job-name"] != job {
			t.Fatalf("the Job is %s, the names were those of %s", e.Outputs["job-name"], job)
		}
		have := e.Outputs["checkpoint-artifacts"]
		for _, step := range steps {
			if !strings.Contains(have, `"name":"`+job+"."+step+`.1.2"`) {
				t.Errorf("the artifacts of the run are %s", have)
			}
		}
		s.rerun(standin.RerunAll)
		s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asReplayed, created: 1, stored: is("true"), resumedFrom: is("artifact, attempt 1")})
	})
	// By another job of the attempt, whose runner was lost.
	t.Run("by-another-job", func(t *testing.T) {
		t.Parallel()
		s := keep(t, harness.Template{}, "artifact")
		s.args("sleep 2s")
		run := s.start()
		job := run.job()
		run.until("waiting for Job")
		s.storedStep(job, "dispatched")
		run.kill()
		s.In(s.Stores.NextJob())
		s.elsewhere()
		s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1, stored: is("true"), resumedFrom: is("artifact, attempt 1")})
		want := []string{job + ".dispatch-intent.1", job + ".dispatched.1", job + ".terminal.1"}
		if have := s.artifacts(); !slices.Equal(have, want) {
			t.Errorf("the artifacts are %q, want %q", have, want)
		}
	})
}

// planned returns the name of the Job that the scenario would create, and leaves
// nothing behind: the run ends before it may create one.
func (s *scene) planned() string {
	s.t.Helper()
	stores, env, token := s.Inputs["checkpoint-stores"], s.Env, s.Inputs["github-token"]
	s.Inputs["checkpoint-stores"] = "none"
	p := s.behind()
	held := p.On(harness.IsRead, 1, harness.Hold(nil))
	run := s.start()
	job := run.job()
	run.seen(held)
	run.kill()
	s.expectCreated(0)
	s.elsewhere()
	s.Inputs["checkpoint-stores"], s.Env, s.Inputs["github-token"] = stores, env, token
	return job
}

// TestStoresDisagree: two stores say different things of one step. Nobody can know
// which of them is right, so both are shown and nothing is done.
func TestStoresDisagree(t *testing.T) {
	t.Parallel()
	s := keep(t, harness.Template{}, "artifact,cluster")
	held := s.behind().On(harness.IsCreate, 1, harness.Hold(nil))
	run := s.start()
	job := run.job()
	run.seen(held)
	run.kill()
	path := harness.ConfigMapPath(job)
	text, _ := harness.Member(s.configMap(job), "data", "dispatch-intent.json").(string)
	s.remove(path, "Background")
	s.rerun(standin.RerunAll)
	// Another run, which knows nothing of the first: its intent has another time.
	s.Inputs["checkpoint-stores"] = "cluster"
	held = s.behind().On(harness.IsCreate, 1, harness.Hold(nil))
	run = s.start()
	run.seen(held)
	run.kill()
	other, _ := harness.Member(s.configMap(job), "data", "dispatch-intent.json").(string)
	if text == "" || other == "" || text == other {
		t.Fatalf("the intents do not differ: %q %q", text, other)
	}
	s.Inputs["checkpoint-stores"] = "artifact,cluster"
	s.rerun(standin.RerunAll)
	s.expect(s.run(), want{
		outcome: "refused", reason: "checkpoint-differs", created: 0,
		says: []string{"the checkpoint stores disagree", "artifact (", "cluster (ConfigMap fdai-runtime/aks-oneshot-" + job, job + ".dispatch-intent.json#recorded_at"},
	})
	s.dispatchedNothing()
}

// TestStoresLostStepIsHealed: what one store lost is stored there again, from another.
func TestStoresLostStepIsHealed(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"artifact", "cluster"} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			s := keep(t, harness.Template{}, "artifact,cluster")
			s.args("sleep 2s")
			run := s.start()
			job := run.job()
			run.until("waiting for Job")
			s.storedStep(job, "dispatched")
			run.kill()
			if lost == "cluster" {
				s.remove(harness.ConfigMapPath(job), "Background")
			} else {
				for _, a := range s.Stores.Artifacts() {
					s.Stores.RemoveArtifact(a.ID)
				}
			}
			s.rerun(standin.RerunAll)
			kept := map[string]string{"artifact": "cluster", "cluster": "artifact"}[lost]
			s.expect(s.run(), want{
				outcome: "succeeded", resumed: true, records: asTerminal, created: 1, stored: is("true"), resumedFrom: is(kept + ", attempt 1"),
				says: []string{"checkpoint store " + lost + " does not have the dispatch-intent record of " + job + "; storing it there from " + kept},
			})
			for _, step := range []string{"dispatch-intent", "dispatched", "terminal"} {
				if !s.hasStep(lost, job, step) {
					t.Errorf("%s still lacks %s", lost, step)
				}
			}
			// Each of them is enough now.
			s.rerun(standin.RerunAll)
			s.Inputs["checkpoint-stores"] = lost
			s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asReplayed, created: 1, stored: is("true")})
		})
	}
}

// TestStoresCleanup: the artifacts of earlier steps are removed when the terminal one is
// stored and was read back, and not before.
func TestStoresCleanup(t *testing.T) {
	t.Parallel()
	s := keep(t, harness.Template{}, "artifact")
	s.Inputs["checkpoint-cleanup"] = "true"
	e := s.run()
	job := e.Outputs["job-name"]
	s.expect(e, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, stored: is("true")})
	if have := s.artifacts(); fmt.Sprint(have) != "["+job+".terminal.1]" {
		t.Errorf("the artifacts are %q, want the terminal one alone", have)
	}
	finalized, read, removed := -1, -1, -1
	for i, r := range s.Stores.Requests() {
		switch r.Operation {
		case "FinalizeArtifact":
			finalized = i
		case "GetBlob":
			read = i
		case "DeleteArtifact", "DeleteRepositoryArtifact":
			if removed < 0 {
				removed = i
			}
		}
	}
	if finalized < 0 || read < finalized || removed < read {
		t.Errorf("the last artifact was stored with request %d, read back with %d, and the first one removed with %d", finalized, read, removed)
	}
	s.rerun(standin.RerunAll)
	s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: []string{"", "prepared", "terminal"}, created: 1, resumedFrom: is("artifact, attempt 1")})
}

// TestStoresCleanupWaitsForTheEnd: one that cannot be read back leaves all
// where it is, and is no failure.
func TestStoresCleanupWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	s := keep(t, harness.Template{}, "artifact")
	s.Inputs["checkpoint-cleanup"] = "true"
	s.args("sleep 2s")
	run := s.start()
	job := run.job()
	run.until("waiting for Job")
	s.storedStep(job, "dispatched")
	s.Stores.Blobs.On(standin.Operation("GetBlob"), -1, standin.HTML(http.StatusServiceUnavailable))
	e := run.wait()
	s.expect(e, want{
		outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, stored: is("true"),
		says: []string{"the older records of " + job + " are kept"},
	})
	if have := s.artifacts(); len(have) != 3 {
		t.Errorf("the artifacts are %q, want all three", have)
	}
}
