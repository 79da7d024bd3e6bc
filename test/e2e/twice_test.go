package e2e

import (
	"maps"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// twin is the same execution in a process of its own, with a work folder of its
// own.
func (s *scene) twin() *scene {
	copied := *s.Scenario
	copied.Inputs = maps.Clone(s.Inputs)
	copied.Inputs["work-dir"] = filepath.Join(s.Dir, "records-of-the-twin")
	return &scene{Scenario: &copied, t: s.t, jobs: s.jobs, secrets: s.secrets}
}

// TestTwoWithOneWorkFolder: the second one is told at once.
func TestTwoWithOneWorkFolder(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.args("sleep 3s")
	first := s.start()
	first.until("waiting for Job")
	begin := time.Now()
	second := s.run()
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("it took %s to say that the work folder is in use", took)
	}
	s.expectCreated(1)
	for name, value := range map[string]string{"outcome": "refused", "reason": "checkpoint-store-failed", "job-name": "", "dispatched": "false"} {
		if have := second.Outputs[name]; have != value {
			t.Errorf("output %s is %q, want %q", name, have, value)
		}
	}
	s.expect(first.wait(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
}

// TestTwoWithTwoWorkFolders: the second one finds a Job that its records know
// nothing of.
func TestTwoWithTwoWorkFolders(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.args("sleep 3s")
	first := s.start()
	first.until("waiting for Job")
	twin := s.twin()
	twin.expect(twin.run(), want{outcome: "refused", reason: "job-without-intent", records: asPrepared, created: 1})
	s.expect(first.wait(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
}

// TestTwoCreatesAtOnce: both saw that there is no Job, both recorded an intent,
// and the API server lets one of them have its way. The other waits for the
// same Job.
func TestTwoCreatesAtOnce(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.args("sleep 2s")
	release := make(chan struct{})
	held := s.behind().On(harness.IsCreate, 1, harness.Hold(release))
	first := s.start()
	first.seen(held)
	twin := s.twin()
	second := twin.start()
	second.until("waiting for Job")
	close(release)
	s.expect(first.wait(), want{outcome: "succeeded", records: asTerminal, created: 1})
	twin.expect(second.wait(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
	if n := s.attempts(); n != 2 {
		t.Errorf("%d creates reached the API server, want 2", n)
	}
}

// TestManyAtOnce: whatever their order, one Job.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	const runs = 6
	ends := make([]harness.Ended, runs)
	var all sync.WaitGroup
	for i := range runs {
		one := s.twin()
		one.Inputs["work-dir"] = filepath.Join(s.Dir, "records-of-one", string(rune('a'+i)))
		if i%2 == 1 { // two of them share a folder
			one.Inputs["work-dir"] = filepath.Join(s.Dir, "records-of-one", string(rune('a'+i-1)))
		}
		run := one.start()
		all.Go(func() { ends[i], _ = run.Wait() })
	}
	all.Wait()
	s.expectCreated(1)
	dispatched := 0
	for _, e := range ends {
		s.ended(e)
		if e.Outputs["dispatched"] == "true" {
			dispatched++
		}
		switch e.Outputs["reason"] {
		case "", "job-without-intent", "checkpoint-store-failed":
		default:
			t.Errorf("a run ended with %s:\n%s", e.Outputs["reason"], e.Log())
		}
	}
	if dispatched != 1 {
		t.Errorf("%d runs say that they created the Job", dispatched)
	}
}
