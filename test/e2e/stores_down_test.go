package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// down makes GitHub's services answer that they are not there, until the returned
// function is called.
func (s *scene) down() (up func()) {
	for _, server := range s.services() {
		server.On(standin.Any, -1, standin.HTML(http.StatusServiceUnavailable))
	}
	return func() {
		for _, server := range s.services() {
			server.Reset()
		}
	}
}

// services are all servers that stand in for GitHub.
func (s *scene) services() []*standin.Server {
	return []*standin.Server{s.Stores.Results, s.Stores.REST, s.Stores.Blobs.Server}
}

// dispatchedNothing checks that a run ended before it asked the API server for
// anything but the template, and that no Job was created.
func (s *scene) dispatchedNothing() {
	s.t.Helper()
	if n := s.attempts(); n != 0 {
		s.t.Errorf("%d creates were sent", n)
	}
}

// TestStoresDownBeforeTheIntent: what is not durable in every store is not acted
// on. The message names the store, and a run that comes when it is back goes on.
func TestStoresDownBeforeTheIntent(t *testing.T) {
	t.Parallel()
	for _, at := range []setting{{"artifact", "artifact", false}, {"cache", "cache", true}, {"beside the cluster", "artifact,cluster", false}} {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			s := keep(t, harness.Template{}, at.stores)
			if at.signed {
				s.signed()
			}
			up := s.down()
			s.Inputs["timeout"] = "8s"
			e := s.run()
			name, _, _ := strings.Cut(at.stores, ",")
			s.expect(e, want{
				outcome: "refused", reason: "checkpoint-store-failed", created: 0, stored: is("false"), resumedFrom: is(""),
				says: []string{"checkpoint store " + name},
			})
			s.dispatchedNothing()
			up()
			s.Inputs["timeout"] = "2m"
			s.rerun(standin.RerunFailed)
			s.expect(s.run(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, stored: is("true")})
		})
	}
}

// TestStoresIntentThatIsNotStored: the service takes nothing at the last moment. There
// was no create, and the run after it, which may find the intent or not, makes the
// one there is.
func TestStoresIntentThatIsNotStored(t *testing.T) {
	t.Parallel()
	for name, operation := range map[string]string{"upload": "PutBlock", "block list": "PutBlockList", "finalize": "FinalizeArtifact", "create": "CreateArtifact"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := keep(t, harness.Template{}, "artifact")
			for _, server := range s.services() {
				server.On(standin.Operation(operation), -1, standin.HTML(http.StatusServiceUnavailable))
			}
			s.Inputs["timeout"] = "8s"
			s.expect(s.run(), want{
				outcome: "refused", reason: "checkpoint-store-failed", records: asPrepared, created: 0, stored: is("false"),
				says: []string{"checkpoint store artifact"},
			})
			s.dispatchedNothing()
			for _, server := range s.services() {
				server.Reset()
			}
			s.Inputs["timeout"] = "2m"
			s.rerun(standin.RerunFailed)
			s.expect(s.run(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, stored: is("true")})
		})
	}
}

// TestStoresDownAfterDispatch: the Job is waited for all the same. What could not
// be stored is told, with what a run again will find, and that is what it finds.
func TestStoresDownAfterDispatch(t *testing.T) {
	t.Parallel()
	s := keep(t, harness.Template{}, "artifact")
	s.args("sleep 1s")
	p := s.behind()
	release := make(chan struct{})
	held := p.On(harness.IsCreate, 1, harness.Hold(release))
	run := s.start()
	job := run.job()
	run.seen(held)
	up := s.down()
	close(release)
	e := run.wait()
	s.expect(e, want{
		outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, stored: is("false"),
		says: []string{"the dispatched record of " + job + " is not stored in artifact yet"},
	})
	told := strings.Join(e.Annotations("warning"), "\n")
	for _, text := range []string{unstored, "checkpoint store artifact does not have the terminal record of " + job, "reads how the Job ended from the Job"} {
		if !strings.Contains(told, text) {
			t.Errorf("%q is not in the warning %q", text, told)
		}
	}
	if !strings.Contains(e.Summary, "Records that could not be stored") || !strings.Contains(e.Summary, "reads how the Job ended from the Job") {
		t.Errorf("the summary does not say what a re-run will find:\n%s", e.Summary)
	}
	up()
	if steps := s.artifacts(); fmt.Sprint(steps) != "["+job+".dispatch-intent.1]" {
		t.Errorf("the artifacts are %q, want the intent alone", steps)
	}
	s.rerun(standin.RerunAll)
	s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1, stored: is("true"), resumedFrom: is("artifact, attempt 1")})
}

// TestStoresRecoverBeforeTheEnd: what could not be stored at first is stored while
// the Job runs, and nobody has to be told of it.
func TestStoresRecoverBeforeTheEnd(t *testing.T) {
	t.Parallel()
	for _, stores := range []string{"artifact", "cluster"} {
		t.Run(stores, func(t *testing.T) {
			t.Parallel()
			s := keep(t, harness.Template{}, stores)
			s.args("sleep 4s")
			p := s.behind()
			release := make(chan struct{})
			held := p.On(harness.IsCreate, 1, harness.Hold(release))
			run := s.start()
			job := run.job()
			run.seen(held)
			up := s.down()
			rule := p.On(harness.IsConfigMapUpdate, 2, harness.Answer(http.StatusServiceUnavailable, "ServiceUnavailable", "please try again"))
			close(release)
			run.until("waiting for Job")
			if stores == "cluster" {
				run.seen(rule)
			} else {
				run.until("the dispatched record of " + job + " is not stored in " + stores + " yet")
			}
			up()
			e := run.wait()
			s.expect(e, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, stored: is("true")})
			for _, step := range []string{"dispatch-intent", "dispatched", "terminal"} {
				if !s.hasStep(stores, job, step) {
					t.Errorf("the store does not have %s", step)
				}
			}
			if told := e.Annotations("warning"); len(told) > 0 {
				t.Errorf("there is a warning: %q", told)
			}
		})
	}
}

// TestStoresSignalWhileOneHangs: a run that is told to stop does not wait for a store
// that says nothing.
func TestStoresSignalWhileOneHangs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hangs string
		w     want
	}{
		"before the intent": {"PutBlock", want{outcome: "cancelled", reason: "cancelled", records: asPrepared}},
		"while looking":     {"ListArtifacts", want{outcome: "cancelled", reason: "cancelled"}},
		"after dispatch":    {"FinalizeArtifact", want{outcome: "cancelled", reason: "cancelled", dispatched: true, records: asDispatched, created: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := keep(t, harness.Template{}, "artifact")
			s.args("sleep 20s")
			hang := func() {
				for _, server := range s.services() {
					server.On(standin.Operation(c.hangs), -1, standin.Hang())
				}
			}
			release := make(chan struct{})
			held := s.behind().On(harness.IsCreate, 1, harness.Hold(release))
			if !c.w.dispatched {
				hang()
			}
			run := s.start()
			if c.w.dispatched {
				run.seen(held)
				hang()
				close(release)
				run.until("waiting for Job")
			}
			s.eventually("the store hangs", func() bool { return s.Stores.Count(c.hangs) > 0 && (!c.w.dispatched || s.Stores.Count(c.hangs) > 1) })
			run.signal(syscall.SIGTERM)
			begin := time.Now()
			e := run.wait()
			took := time.Since(begin)
			if took > 5*time.Second {
				t.Errorf("the run ended %s after SIGTERM", took)
			}
			figure("SIGTERM while a store hangs, "+name, "ended after %.1f s", took.Seconds())
			s.expect(e, c.w)
			if c.w.dispatched && !strings.Contains(strings.Join(e.Annotations("warning"), "\n"), unstored) {
				t.Errorf("nothing says that a record is not stored:\n%s", e.Log())
			}
		})
	}
}
