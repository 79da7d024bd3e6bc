package e2e

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// TestCreateThatIsStoredAndLost: the API server has stored the Job, and what it
// answers says something else, or nothing.
func TestCreateThatIsStoredAndLost(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]harness.Fault{
		"leader":      harness.AnswerOver(500, "InternalError", "etcdserver: leader changed"),
		"unavailable": harness.AnswerOver(503, "ServiceUnavailable", "apiserver is shutting down", "Retry-After", "1"),
		"gateway":     harness.AnswerOver(504, "Timeout", "request did not complete within the allotted time"),
		"cut":         harness.CutAnswer(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := set(t, harness.Template{})
			s.behind().On(harness.IsCreate, 1, fault)
			s.expect(s.run(), want{outcome: "succeeded", records: asTerminal, created: 1})
			if n := s.attempts(); n != 1 {
				t.Errorf("%d creates reached the API server", n)
			}
		})
	}
}

// TestCreateThatNeverArrives: nothing was stored, and the create is repeated
// under the same name.
func TestCreateThatNeverArrives(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]harness.Fault{
		"leader": harness.Answer(500, "InternalError", "etcdserver: leader changed"),
		"cut":    harness.Cut(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := set(t, harness.Template{})
			s.behind().On(harness.IsCreate, 2, fault)
			s.expect(s.run(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
			if n := s.attempts(); n != 1 {
				t.Errorf("%d creates reached the API server", n)
			}
		})
	}
}

// TestCreateThatNeverGetsThrough: after a few tries the run gives up, and a
// re-run takes it up again.
func TestCreateThatNeverGetsThrough(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.behind().On(harness.IsCreate, 4, harness.Answer(500, "InternalError", "etcdserver: request timed out"))
	s.expect(s.run(), want{
		outcome: "unknown", reason: "dispatch-ambiguous", records: asIntended,
		says: []string{"etcdserver: request timed out", "Run again"},
	})
	s.expect(s.run(), want{outcome: "succeeded", dispatched: true, resumed: true, records: asTerminal, created: 1})
}

// TestCreateThatTimesOut: no answer at all. It is never sent again, neither by
// this run nor by a later one.
func TestCreateThatTimesOut(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.behind().On(harness.IsCreate, 1, harness.Hold(nil))
	s.Inputs["timeout"] = "3s"
	s.expect(s.run(), want{
		outcome: "unknown", reason: "dispatch-ambiguous", records: asAmbiguous, says: []string{"got no answer", "not repeated"},
	})
	s.Inputs["timeout"] = "2m"
	s.expect(s.run(), want{
		outcome: "unknown", reason: "dispatch-ambiguous", resumed: true, records: asAmbiguous, says: []string{"in an earlier run"},
	})
	if n := s.attempts(); n != 0 {
		t.Errorf("%d creates reached the API server", n)
	}
}

// TestCreateThatTimesOutAndIsStored: one read settles it.
func TestCreateThatTimesOutAndIsStored(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.args("sleep 6s")
	s.behind().On(harness.IsCreate, 1, harness.HoldAnswer(nil))
	s.Inputs["timeout"] = "3s"
	both := []string{"", "dispatch-ambiguous", "dispatch-intent", "dispatched", "prepared"}
	s.expect(s.run(), want{outcome: "unknown", reason: "deadline-exceeded", records: both, created: 1})
	s.Inputs["timeout"] = "2m"
	s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: append(both, "terminal"), created: 1})
	if n := s.attempts(); n != 1 {
		t.Errorf("%d creates reached the API server", n)
	}
}

// TestThrottledCreate: Retry-After is honoured, and the create had no effect.
func TestThrottledCreate(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.behind().On(harness.IsCreate, 1, harness.Answer(429, "TooManyRequests", "too many requests", "Retry-After", "2"))
	e := s.run()
	s.expect(e, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, says: []string{"trying again in 2s", "HTTP 429"}})
	if e.Took < 2*time.Second {
		t.Errorf("the run took %s, the server had asked for 2 s", e.Took)
	}
}

// TestThrottledBeyondTheDeadline: nobody waits for what cannot come in time.
func TestThrottledBeyondTheDeadline(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.behind().On(harness.IsCreate, 1, harness.Answer(429, "TooManyRequests", "too many requests", "Retry-After", "100"))
	s.Inputs["timeout"] = "10s"
	e := s.run()
	s.expect(e, want{outcome: "refused", reason: "create-rejected", records: asIntended, says: []string{"HTTP 429", "too many requests"}})
	if e.Took > 9*time.Second {
		t.Errorf("the run took %s", e.Took)
	}
	s.Inputs["timeout"] = "2m"
	s.expect(s.run(), want{outcome: "succeeded", dispatched: true, resumed: true, records: asTerminal, created: 1})
}

// TestReadsAreRepeated: what fails for a moment is read again.
func TestReadsAreRepeated(t *testing.T) {
	t.Parallel()
	for name, match := range map[string]func(*http.Request) bool{"template": harness.IsTemplate, "job": harness.IsRead, "watch": harness.IsWatch} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := set(t, harness.Template{})
			p := s.behind()
			p.On(match, 1, harness.Answer(500, "InternalError", "etcdserver: leader changed"))
			p.On(match, 1, harness.Answer(429, "TooManyRequests", "too many requests", "Retry-After", "1"))
			p.On(match, 1, harness.Cut())
			s.expect(s.run(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
		})
	}
}

// TestServerThatIsNotThere: nothing was recorded, so nothing is unknown.
func TestServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	p := s.behind()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	s.Inputs["timeout"] = "2s"
	s.expect(s.run(), want{outcome: "refused", reason: "cluster-unreachable", says: []string{"refused the connection"}})
}

// TestServerOfAnotherCA: a certificate that is not trusted ends the run, which
// sends nobody its token.
func TestServerOfAnotherCA(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	p := s.behind()
	var reached atomic.Bool
	p.On(func(*http.Request) bool { reached.Store(true); return false }, -1, harness.Cut())
	other, err := standin.NewAuthority("other")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ConnectTo(p.URL, other.PEM); err != nil {
		t.Fatal(err)
	}
	s.expect(s.run(), want{outcome: "refused", reason: "cluster-unreachable", says: []string{"certificate-authority-data"}})
	if reached.Load() {
		t.Error("a request was sent to a server that is not trusted")
	}
}

// TestLostWatch: the connection is cut while the run waits, and the end of the
// Job is seen all the same.
func TestLostWatch(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.args("sleep 2s")
	p := s.behind()
	cuts := p.On(harness.IsWatch, 3, harness.Cut())
	run := s.start()
	run.seen(cuts)
	s.expect(run.wait(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
}

// TestTTLOfZeroUnseen: the Job is removed before anybody saw it finish.
func TestTTLOfZeroUnseen(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{Edit: func(cronJob harness.Object) { jobSpec(cronJob)["ttlSecondsAfterFinished"] = 0 }})
	p := s.behind()
	var blind atomic.Bool
	blind.Store(true)
	p.On(func(r *http.Request) bool { return blind.Load() && harness.IsWatch(r) }, -1, harness.Answer(503, "ServiceUnavailable", "not now"))
	readBack := true
	p.On(func(r *http.Request) bool {
		if !harness.IsRead(r) || readBack { // the one before the create
			readBack = readBack && !harness.IsRead(r)
			return false
		}
		return blind.Load()
	}, -1, harness.Answer(503, "ServiceUnavailable", "not now"))
	run := s.start()
	job := run.job()
	run.until("waiting for Job")
	s.gone(job)
	blind.Store(false)
	s.expect(run.wait(), want{
		outcome: "unknown", reason: "job-vanished", dispatched: true, records: asDispatched, created: 1,
		says: []string{job, "is not created again"},
	})
	s.expect(s.run(), want{outcome: "unknown", reason: "job-vanished-after-dispatch", resumed: true, records: asDispatched, created: 1})
}

// TestTTLOfZeroAfterAKill: an intent whose Job may have come and gone is not
// acted on a second time.
func TestTTLOfZeroAfterAKill(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{Edit: func(cronJob harness.Object) { jobSpec(cronJob)["ttlSecondsAfterFinished"] = 0 }})
	held := s.behind().On(harness.IsCreate, 1, harness.HoldAnswer(nil))
	run := s.start()
	job := run.job()
	run.seen(held)
	run.kill()
	s.gone(job)
	e := s.run()
	s.expect(e, want{outcome: "unknown", reason: "ttl-window-elapsed", resumed: true, records: asIntended, created: 1})
	if text := strings.Join(e.Annotations("error"), ""); !strings.Contains(text, job) {
		t.Errorf("%s is not in %q", job, text)
	}
}

func TestJobDeletedWhileWaiting(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.args("sleep 1m")
	run := s.start()
	job := run.job()
	run.until("waiting for Job")
	s.remove(harness.JobPath(job), "Background")
	s.expect(run.wait(), want{
		outcome: "unknown", reason: "job-vanished", dispatched: true, records: asDispatched, created: 1,
		says: []string{job, "was deleted before it ended", "is not created again"},
	})
	s.gone(job)
	s.expect(s.run(), want{outcome: "unknown", reason: "job-vanished-after-dispatch", resumed: true, records: asDispatched, created: 1})
}

// TestJobBeingDeleted: a Job that a finalizer holds still answers reads.
func TestJobBeingDeleted(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.args("sleep 1m")
	run := s.start()
	job := run.job()
	path := harness.JobPath(job)
	run.until("waiting for Job")
	s.patch(path, map[string]any{"metadata": map[string]any{"finalizers": []any{"example.com/hold"}}})
	t.Cleanup(func() {
		if err := s.World.API.Patch(context.Background(), path, map[string]any{"metadata": map[string]any{"finalizers": nil}}); err != nil && !harness.IsStatus(err, 404) {
			t.Log(err)
		}
	})
	s.remove(path, "Foreground")
	vanishing := want{
		outcome: "unknown", reason: "job-vanished", dispatched: true, records: asDispatched, created: 1,
		says: []string{job, "is being deleted before it ended"},
	}
	s.expect(run.wait(), vanishing)
	if object := s.until(path, "the Job is there", func(o harness.Object) bool { return o != nil }); harness.Member(object, "metadata", "deletionTimestamp") == nil {
		t.Error("the Job is not being deleted: this test shows nothing")
	}
	vanishing.dispatched, vanishing.resumed = false, true
	s.expect(s.run(), vanishing)
	s.patch(path, map[string]any{"metadata": map[string]any{"finalizers": nil}})
	s.gone(job)
}
