package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// mainSettings are those that tests go through which have more to say of attempts
// than of stores.
func mainSettings() []setting {
	return slices.DeleteFunc(slices.Clone(settings), func(at setting) bool { return at.name == "auto" })
}

// eachSetting plays a scene in each of the main settings.
func eachSetting(t *testing.T, template harness.Template, play func(s *scene, at setting)) {
	for _, at := range mainSettings() {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			s := keep(t, template, at.stores)
			if at.signed {
				s.signed()
			}
			play(s, at)
		})
	}
}

// TestStoresRunnerThoughtDead: a runner was given up that goes on. Its create comes
// after that of the next attempt, and both see the one Job to its end. What they
// store of it does not contradict each other.
func TestStoresRunnerThoughtDead(t *testing.T) {
	t.Parallel()
	eachSetting(t, harness.Template{}, func(s *scene, _ setting) {
		s.args("sleep 1s")
		release := make(chan struct{})
		held := s.behind().On(harness.IsCreate, 1, harness.Hold(release))
		first := s.start()
		first.seen(held)
		// The work folder is left to the one that is alive.
		old := s.Inputs["work-dir"]
		s.Inputs["work-dir"] = old + "-of-the-next"
		s.In(s.Stores.NextAttempt(standin.RerunAll))
		second := s.run()
		s.expect(second, want{outcome: "succeeded", dispatched: true, resumed: true, records: asTerminal, created: 1, stored: is("true")})
		close(release)
		s.Inputs["work-dir"] = old
		s.expect(first.wait(), want{outcome: "succeeded", records: asTerminal, created: 1, stored: is("true")})
		s.rerun(standin.RerunAll)
		s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asReplayed, created: 1, stored: is("true")})
	})
}

// TestStoresAmbiguousElsewhere: a create got no answer in its time. That is known
// to every later attempt, none of which sends it again.
func TestStoresAmbiguousElsewhere(t *testing.T) {
	t.Parallel()
	eachSetting(t, harness.Template{}, func(s *scene, _ setting) {
		s.behind().On(harness.IsCreate, 1, harness.Hold(nil))
		s.Inputs["timeout"] = "4s"
		e := s.run()
		s.expect(e, want{outcome: "unknown", reason: "dispatch-ambiguous", records: asAmbiguous, created: 0, stored: is("true")})
		s.rerun(standin.RerunAll)
		s.Inputs["timeout"] = "1m"
		s.expect(s.run(), want{outcome: "unknown", reason: "dispatch-ambiguous", resumed: true, records: asAmbiguous, created: 0, stored: is("true")})
		if n := s.attempts(); n != 0 {
			s.t.Errorf("%d creates were sent again", n)
		}
	})
}

// TestStoresSuccessorElsewhere: the runner is lost while the successor of an
// execution runs. The next attempt neither runs the execution again, nor its
// successor.
func TestStoresSuccessorElsewhere(t *testing.T) {
	t.Parallel()
	eachSetting(t, harness.Template{}, func(s *scene, _ setting) {
		s.args("exit 1")
		s.Inputs["retries"], s.Inputs["retry-env"] = "1", `[{"ATTEMPT": "second"}]`
		created := 0
		held := s.behind().On(func(r *http.Request) bool {
			if harness.IsCreate(r) {
				created++
			}
			return harness.IsCreate(r) && created == 2
		}, 1, harness.HoldAnswer(nil))
		run := s.start()
		run.seen(held)
		run.kill()
		s.expectCreated(2)
		s.rerun(standin.RerunAll)
		s.expect(s.run(), want{outcome: "failed", reason: "job-failed", resumed: true, successor: "1", records: asTerminal, created: 2, stored: is("true")})
		s.rerun(standin.RerunAll)
		s.expect(s.run(), want{outcome: "failed", reason: "job-failed", resumed: true, successor: "1", records: asReplayed, created: 2, stored: is("true")})
	})
}

// TestStoresHalfAnIntent: the runner is lost when one store has the intent and the
// other has not. The next attempt stores what is missing before it creates the Job.
func TestStoresHalfAnIntent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		operation string
		hang      standin.Answer
	}{
		"before-the-upload":       {"PutBlock", standin.Hang()},
		"before-the-end":          {"FinalizeArtifact", standin.Hang()},
		"the-end-got-no-answer":   {"FinalizeArtifact", standin.Lost()},
		"the-block-list-was-lost": {"PutBlockList", standin.Lost()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := keep(t, harness.Template{}, "artifact,cluster")
			for _, server := range s.services() {
				server.On(standin.Operation(c.operation), -1, c.hang)
			}
			run := s.start()
			job := run.job()
			s.eventually("the upload hangs", func() bool { return s.Stores.Count(c.operation) > 0 })
			run.kill()
			s.expectCreated(0)
			if !s.hasStep("cluster", job, "dispatch-intent") {
				t.Fatal("the cluster, which decides between two runs, was not asked first")
			}
			for _, server := range s.services() {
				server.Reset()
			}
			s.rerun(standin.RerunAll)
			s.expect(s.run(), want{outcome: "succeeded", dispatched: true, resumed: true, records: asTerminal, created: 1, stored: is("true")})
			if !s.hasStep("artifact", job, "dispatch-intent") {
				t.Errorf("the artifacts are %q, and lack the intent", s.artifacts())
			}
		})
	}
}

// TestStoresKeyIsChanged: what was stored without a key, or with another one, is
// not believed, and not taken for nothing either.
func TestStoresKeyIsChanged(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"set": "", "changed": otherKey} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := keep(t, harness.Template{}, "artifact,cluster")
			if first != "" {
				s.Sign(first)
			}
			s.args("sleep 1s")
			run := s.start()
			run.until("created Job")
			run.kill()
			s.rerun(standin.RerunAll)
			s.Sign(signingKey)
			e := s.run()
			s.expect(e, want{outcome: "refused", reason: "checkpoint-differs", created: 1, resumedFrom: is(""), says: []string{"the retained record is not signed", "the key was set or changed since"}})
			// With what it was, the run goes on.
			s.rerun(standin.RerunAll)
			delete(s.Inputs, "checkpoint-key")
			if first != "" {
				s.Sign(first)
			}
			s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1, stored: is("true")})
		})
	}
}

// TestStoresRESTIsDown: an outage, unlike a permission, is nothing that the user
// can mend; the run says what it could not look at, and dispatches nothing.
func TestStoresRESTIsDown(t *testing.T) {
	t.Parallel()
	s := keep(t, harness.Template{}, "artifact")
	s.args("sleep 1s")
	run := s.start()
	run.until("created Job")
	run.kill()
	s.Stores.REST.On(standin.Any, -1, standin.HTML(http.StatusServiceUnavailable))
	s.rerun(standin.RerunAll)
	e := s.run()
	s.expect(e, want{outcome: "refused", reason: "checkpoint-store-failed", created: 1, says: []string{"may be there and cannot be looked for"}})
	if strings.Contains(e.Log(), "actions: read") {
		t.Errorf("a permission is asked for, which would change nothing:\n%s", e.Log())
	}
	s.Stores.REST.Reset()
	s.rerun(standin.RerunAll)
	s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1, stored: is("true"), resumedFrom: is("artifact, attempt 1")})
}
