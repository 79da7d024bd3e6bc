package e2e

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// behind makes the scenario speak to the API server through a proxy.
func (s *scene) behind() *harness.Proxy {
	s.t.Helper()
	return s.through(harness.NewProxy(s.World.Cluster))
}

// behindOf is behind with an authority that makes the server another cluster's.
func (s *scene) behindOf(authority *standin.Authority) *harness.Proxy {
	s.t.Helper()
	return s.through(harness.NewProxyOf(authority, s.World.Cluster))
}

func (s *scene) through(p *harness.Proxy, err error) *harness.Proxy {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := p.Close(); err != nil {
			s.t.Error(err)
		}
	})
	if err := s.ConnectTo(p.URL, p.CA); err != nil {
		s.t.Fatal(err)
	}
	return p
}

// seen waits until a rule was applied.
func (r *running) seen(rule *harness.Rule) {
	r.scene.t.Helper()
	select {
	case <-rule.Seen:
	case <-time.After(time.Minute):
		r.scene.t.Fatalf("the request that the test is about did not come:\n%s", r.Log())
	}
}

func TestKilledBetweenIntentAndCreate(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	held := s.behind().On(harness.IsCreate, 1, harness.Hold(nil))
	run := s.start()
	job := run.job()
	run.seen(held)
	run.kill()
	s.expectRecords(job, asIntended)
	s.expectCreated(0)
	s.expect(s.run(), want{outcome: "succeeded", dispatched: true, resumed: true, records: asTerminal, created: 1})
}

// TestKilledBeforeTheAnswer: the Job is there, and the records do not know it.
func TestKilledBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	held := s.behind().On(harness.IsCreate, 1, harness.HoldAnswer(nil))
	run := s.start()
	job := run.job()
	run.seen(held)
	run.kill()
	s.expectRecords(job, asIntended)
	s.expectCreated(1)
	s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1})
}

func TestKilledRightAfterCreate(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.args("sleep 1s")
	run := s.start()
	run.until("created Job")
	run.kill()
	s.expectCreated(1)
	s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1})
}

// TestKilledWhileWaitingAndTheJobIsGone: how the Job ended cannot be known any
// more, and it is not run again to find out.
func TestKilledWhileWaitingAndTheJobIsGone(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{TTL: 1})
	run := s.start()
	job := run.job()
	run.until("waiting for Job")
	run.kill()
	s.gone(job)
	again := want{
		outcome: "unknown", reason: "job-vanished-after-dispatch", resumed: true, records: asDispatched, created: 1,
		says: []string{job, "was dispatched by an earlier run and is gone", "is not repeated"},
	}
	s.expect(s.run(), again)
	s.expect(s.run(), again)
}

// TestKilledAgainAndAgain kills runs after times that grow, until one of them
// lives to see the end.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	for after := 2 * time.Millisecond; ; after = after*5/4 + time.Millisecond {
		run := s.start()
		timer := time.AfterFunc(after, func() {
			if err := run.Signal(syscall.SIGKILL); err != nil && run.Running() {
				t.Error(err)
			}
		})
		e := run.wait()
		timer.Stop()
		if e.Signal == 0 {
			s.expect(e, want{
				outcome: "succeeded", resumed: true, dispatched: e.Outputs["dispatched"] == "true", records: asTerminal, created: 1,
			})
			t.Logf("after %d runs that were killed, one had %s", len(s.ends)-1, after)
			return
		}
	}
}

func TestSignalWhileWaiting(t *testing.T) {
	t.Parallel()
	for _, sig := range []struct {
		name   string
		signal os.Signal
	}{{"SIGTERM", syscall.SIGTERM}, {"SIGINT", syscall.SIGINT}} {
		t.Run(sig.name, func(t *testing.T) {
			t.Parallel()
			s := set(t, harness.Template{})
			s.args("sleep 3s")
			run := s.start()
			path := harness.JobPath(run.job())
			run.until("waiting for Job")
			run.signal(sig.signal)
			begin := time.Now()
			e := run.wait()
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("the run ended %s after %s", took, sig.name)
			}
			s.expect(e, want{
				outcome: "cancelled", reason: "cancelled", dispatched: true, records: asDispatched, created: 1,
				says: []string{"received " + sig.name, "may be running"},
			})
			if job := s.until(path, "the Job is there", func(o harness.Object) bool { return o != nil }); harness.Member(job, "metadata", "deletionTimestamp") != nil {
				t.Error("the Job is being deleted, it should go on")
			}
			s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1})
		})
	}
}

// TestSignalDuringCreate: the answer comes within the time that a run has left
// for what is under way, and is recorded.
func TestSignalDuringCreate(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	release := make(chan struct{})
	held := s.behind().On(harness.IsCreate, 1, harness.HoldAnswer(release))
	run := s.start()
	run.seen(held)
	run.signal(syscall.SIGTERM)
	time.AfterFunc(500*time.Millisecond, func() { close(release) })
	s.expect(run.wait(), want{outcome: "cancelled", reason: "cancelled", dispatched: true, records: asDispatched, created: 1})
	s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1})
}

// TestSignalDuringCreateWithoutAnswer: the run cannot wait for ever. What it
// recorded before the create is enough for the next one.
func TestSignalDuringCreateWithoutAnswer(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	held := s.behind().On(harness.IsCreate, 1, harness.HoldAnswer(nil))
	run := s.start()
	run.seen(held)
	run.signal(syscall.SIGTERM)
	begin := time.Now()
	e := run.wait()
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the run ended %s after SIGTERM", took)
	}
	s.expect(e, want{outcome: "cancelled", reason: "cancelled", records: asIntended, created: 1, says: []string{"may be running"}})
	s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1})
}

// TestSecondSignalEndsAtOnce: a user who asks twice does not want to wait.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	held := s.behind().On(harness.IsCreate, 1, harness.Hold(nil))
	run := s.start()
	job := run.job()
	run.seen(held)
	run.signal(syscall.SIGINT)
	time.Sleep(200 * time.Millisecond)
	run.signal(syscall.SIGINT)
	begin := time.Now()
	e, err := run.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if e.Status != 130 || time.Since(begin) > time.Second || !strings.Contains(e.Stderr, "received SIGINT as well") {
		t.Errorf("status %d after %s\n%s", e.Status, time.Since(begin), e.Log())
	}
	s.expectRecords(job, asIntended)
	s.expectCreated(0)
	s.expect(s.run(), want{outcome: "succeeded", dispatched: true, resumed: true, records: asTerminal, created: 1})
}
