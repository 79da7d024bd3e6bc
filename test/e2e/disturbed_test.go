package e2e

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// disturbed starts a cluster that a test may do anything to.
func disturbed(t *testing.T) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Start(t.Context(), cluster.Options{Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestClusterInTrouble has one cluster for everything that would disturb the
// other tests, one after the other.
func TestClusterInTrouble(t *testing.T) {
	t.Parallel()
	c := disturbed(t)
	t.Run("namespace missing", func(t *testing.T) { namespaceMissing(t, c) })
	w, err := harness.NewWorld(t.Context(), c, program, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := harness.FollowJobs(t.Context(), w.API)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *harness.World, *harness.JobLog)
	}{
		{"quota of Jobs", jobQuota},
		{"quota of pods", podQuota},
		{"API server restarted", restarted},
		{"API server down and up", down},
		{"API server frozen", frozen},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, w, jobs) })
	}
}

// namespaceMissing takes a step that is right for the shared cluster to one
// that has no namespace yet.
func namespaceMissing(t *testing.T, c *cluster.Cluster) {
	s := set(t, harness.Template{Name: "namespace-missing"})
	s.Token = c.Token(cluster.Admin)
	s.secrets = append(s.secrets, s.Token)
	ca, err := os.ReadFile(c.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ConnectTo(c.Server(), ca); err != nil {
		t.Fatal(err)
	}
	s.expect(s.run(), want{
		outcome: "refused", reason: "template-unavailable",
		says: []string{"get cronjobs.batch " + s.Name + " in namespace fdai-runtime (HTTP 404)", "Check its name and namespace"},
	})
	jobs, err := c.Audit(t.Context(), func(e cluster.AuditEvent) bool {
		return e.Resource == "jobs" && strings.HasPrefix(e.UserAgent, harness.UserAgent)
	})
	if err != nil || len(jobs) > 0 {
		t.Errorf("Jobs were asked for: %+v %v", jobs, err)
	}
}

const (
	quotas = "/api/v1/namespaces/" + harness.Namespace + "/resourcequotas"
	pods   = "/api/v1/namespaces/" + harness.Namespace + "/pods"
)

// quota limits the namespace until the returned function is called.
func (s *scene) quota(resource string) (lift func()) {
	s.t.Helper()
	s.post(quotas, map[string]any{
		"apiVersion": "v1", "kind": "ResourceQuota", "metadata": map[string]any{"name": s.Name},
		"spec": map[string]any{"hard": map[string]any{resource: "0"}},
	})
	s.until(quotas+"/"+s.Name, "the quota counts", func(o harness.Object) bool {
		return harness.Member(o, "status", "hard", resource) == "0" && harness.Member(o, "status", "used", resource) != nil
	})
	return func() {
		s.remove(quotas+"/"+s.Name, "Background")
		s.until(quotas+"/"+s.Name, "the quota is gone", func(o harness.Object) bool { return o == nil })
	}
}

// jobQuota: the words of the quota reach the user. It is not a matter of
// permission, and no Role is printed.
func jobQuota(t *testing.T, w *harness.World, jobs *harness.JobLog) {
	s := setIn(t, w, jobs, harness.Template{Name: "job-quota"})
	lift := s.quota("count/jobs.batch")
	e := s.run()
	s.expect(e, want{
		outcome: "refused", reason: "create-rejected", records: asIntended,
		says: []string{"create jobs.batch", "HTTP 403", "exceeded quota: " + s.Name, "limited: count/jobs.batch=0"},
	})
	if strings.Contains(e.Stdout, "kind: Role") {
		t.Errorf("a Role is printed, which would change nothing:\n%s", e.Stdout)
	}
	lift()
	s.eventually("Jobs are let in", func() bool { e = s.run(); return e.Outputs["reason"] != "create-rejected" })
	s.expect(e, want{outcome: "succeeded", dispatched: true, resumed: true, records: asTerminal, created: 1})
}

// podQuota: the Job is there and cannot start. The wait is bounded, and goes on
// with a re-run.
func podQuota(t *testing.T, w *harness.World, jobs *harness.JobLog) {
	s := setIn(t, w, jobs, harness.Template{Name: "pod-quota"})
	lift := s.quota("pods")
	s.Inputs["timeout"] = "3s"
	e := s.run()
	s.expect(e, want{outcome: "unknown", reason: "deadline-exceeded", dispatched: true, records: asDispatched, created: 1})
	list, err := w.API.Get(t.Context(), pods+"?labelSelector=job-name%3D"+e.Outputs["job-name"])
	if err != nil {
		t.Fatal(err)
	}
	if items, _ := list["items"].([]any); len(items) > 0 {
		t.Errorf("there is a pod: this test shows nothing: %v", items)
	}
	lift()
	s.Inputs["timeout"] = "2m"
	s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1})
}

// restarted: the API server goes and comes back while the run waits, as in an
// upgrade of the control plane.
func restarted(t *testing.T, w *harness.World, jobs *harness.JobLog) {
	s := setIn(t, w, jobs, harness.Template{Name: "restarted"})
	s.args("sleep 3s")
	run := s.start()
	run.until("waiting for Job")
	if err := w.Cluster.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.expect(run.wait(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
}

// down: a run that begins while the API server is not there waits for it, also
// for the moment in which it answers and does not know its roles yet.
func down(t *testing.T, w *harness.World, jobs *harness.JobLog) {
	s := setIn(t, w, jobs, harness.Template{Name: "down"})
	if err := w.Cluster.StopAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	run := s.start()
	run.until("trying again")
	if err := w.Cluster.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.expect(run.wait(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
}

// frozen: the API server accepts connections and says nothing for longer than
// a silence may last. That is noticed, and the run goes on when it is back.
func frozen(t *testing.T, w *harness.World, jobs *harness.JobLog) {
	s := setIn(t, w, jobs, harness.Template{Name: "frozen"})
	s.args("sleep 1s")
	s.Inputs["timeout"] = "5m"
	run := s.start()
	run.until("waiting for Job")
	if err := w.Cluster.PauseAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	run.until("waiting for Job fdai-runtime/" + run.job() + ", trying again: ")
	if noticed := time.Since(begin); noticed > 31*time.Second {
		t.Errorf("it took %s to notice that the API server is silent", noticed)
	} else {
		t.Logf("noticed after %s", noticed)
	}
	time.Sleep(time.Until(begin.Add(41 * time.Second)))
	if !run.Running() {
		t.Fatalf("the run ended:\n%s", run.Log())
	}
	if err := w.Cluster.ResumeAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.expect(run.wait(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
}
