package e2e

import (
	"fmt"
	"net/http"
	"slices"
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
				says: []string{"checkpoint store " + lost + " does not have the intent of " + job + "; storing it there from " + kept},
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

// TestStoresSignalWhileOneHangs: a run that is told to stop does not wait for a store
// that says nothing.
func TestStoresSignalWhileOneHangs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hangs string
		w     want
	}{
		"before the intent": {"PutBlock", want{outcome: "cancelled", reason: "cancelled", records: asPrepared}},
		"while looking":     {"ListRunArtifacts", want{outcome: "cancelled", reason: "cancelled"}},
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

// TestStoresConfigMapsAreDenied: without the verbs on ConfigMaps nothing is
// dispatched, and the Role that is printed is enough.
func TestStoresConfigMapsAreDenied(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		without []string
		records []string
	}{
		"read":   {[]string{"get configmaps", "list configmaps"}, nil},
		"create": {[]string{"create configmaps"}, asPrepared},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := keep(t, harness.Template{}, "cluster")
			s.limited(c.without...)
			e := s.run()
			verb, _, _ := strings.Cut(c.without[0], " ")
			s.expect(e, want{
				outcome: "refused", reason: "permission-denied", created: 0, records: c.records,
				says: []string{"checkpoint store cluster", "cannot " + verb + " resource \"configmaps\"", s.User, "Apply the Role that is printed in the log"},
			})
			s.dispatchedNothing()
			if printed := printedRole(t, e); printed != roleText {
				t.Errorf("the Role that was printed is\n%s\nwant\n%s", printed, roleText)
			}
			if err := s.World.API.Create(t.Context(), "/apis/rbac.authorization.k8s.io/v1/namespaces/"+harness.Namespace+"/rolebindings",
				rebound(harness.RoleName, s)); err != nil {
				t.Fatal(err)
			}
			s.eventually("the Role counts", func() bool {
				e = s.run()
				return e.Outputs["reason"] != "permission-denied"
			})
			s.expect(e, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, stored: is("true")})
		})
	}
}

// TestStoresUpdatesAreDenied: the intent is there, and the rest is told to be
// missing.
func TestStoresUpdatesAreDenied(t *testing.T) {
	t.Parallel()
	s := keep(t, harness.Template{}, "cluster")
	s.limited("update configmaps")
	e := s.run()
	s.expect(e, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, stored: is("false")})
	if told := strings.Join(e.Annotations("warning"), "\n"); !strings.Contains(told, "checkpoint store cluster does not have the terminal record") ||
		!strings.Contains(told, `cannot update resource "configmaps"`) {
		t.Errorf("the warning is %q", told)
	}
}

// TestStoresExpiredConfigMaps: those whose time is over are removed by a later run of the
// same CronJob, and no others.
func TestStoresExpiredConfigMaps(t *testing.T) {
	t.Parallel()
	s := keep(t, harness.Template{}, "cluster")
	first := s.run()
	s.expect(first, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, stored: is("true")})
	expired := first.Outputs["job-name"]
	s.patch(harness.ConfigMapPath(expired), map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		"aks-oneshot/expires-at": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339),
	}}})
	s.elsewhere()
	s.args("print second")
	second := s.run()
	s.expect(second, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 2, stored: is("true")})
	kept := second.Outputs["job-name"]
	s.eventually("the expired ConfigMap is gone", func() bool { return s.configMap(expired) == nil })
	s.elsewhere()
	s.args("print third", "sleep 2s")
	s.expect(s.run(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 3})
	object := s.configMap(kept)
	if object == nil {
		t.Fatal("a ConfigMap is gone whose time is not over")
	}
	labels, _ := harness.Member(object, "metadata", "labels").(map[string]any)
	for key, value := range map[string]string{
		"app.kubernetes.io/managed-by": "aks-oneshot", "app.kubernetes.io/component": "checkpoint",
		"aks-oneshot/cronjob": s.Name, "aks-oneshot/purpose": s.Name,
	} {
		if labels[key] != value {
			t.Errorf("label %s is %v, want %s", key, labels[key], value)
		}
	}
	if owners := harness.Member(object, "metadata", "ownerReferences"); owners != nil {
		t.Errorf("the ConfigMap belongs to %v", owners)
	}
	names := func() (verbs []string) {
		for _, r := range s.requests() {
			if r.Verb == "delete" {
				verbs = append(verbs, r.Name)
			}
		}
		return verbs
	}()
	if !slices.Equal(names, []string{"aks-oneshot-" + expired}) {
		t.Errorf("what was deleted is %q", names)
	}
}
