package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// needRealNode leaves a test out where pods are only played. A machine that is
// there to test everything does not get this far without real ones.
func needRealNode(t *testing.T) {
	t.Helper()
	if !shared.RealNode() {
		t.Skip("left out: pods are only played here; run as root on Linux for real containers")
	}
}

// podSpec and jobSpec find their way into a CronJob.
func podSpec(cronJob harness.Object) map[string]any {
	return harness.Member(jobSpec(cronJob), "template", "spec").(map[string]any)
}

func jobSpec(cronJob harness.Object) map[string]any {
	return harness.Member(cronJob, "spec", "jobTemplate", "spec").(map[string]any)
}

// withFolder mounts a folder of this machine at /shared, which outlives the pods.
func withFolder(t *testing.T, template harness.Template) harness.Template {
	t.Helper()
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o777); err != nil { // the workload is another user
		t.Fatal(err)
	}
	template.Edit = func(cronJob harness.Object) {
		pod := podSpec(cronJob)
		pod["volumes"] = []any{map[string]any{"name": "shared", "hostPath": map[string]any{"path": folder, "type": "Directory"}}}
		container := pod["containers"].([]any)[0].(map[string]any)
		container["volumeMounts"] = []any{map[string]any{"name": "shared", "mountPath": "/shared"}}
	}
	return template
}

// condition returns a condition of an object that is True, or nil.
func condition(object harness.Object, kind string) any {
	list, _ := harness.Member(object, "status", "conditions").([]any)
	for _, c := range list {
		if harness.Member(c, "type") == kind && harness.Member(c, "status") == "True" {
			return c
		}
	}
	return nil
}

// until waits until an object is as wanted.
func (s *scene) until(path, what string, wanted func(harness.Object) bool) harness.Object {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	object, err := s.World.API.Until(ctx, path, what, wanted)
	if err != nil {
		s.t.Fatal(err)
	}
	return object
}

// gone waits until a Job is not there any more.
func (s *scene) gone(job string) {
	s.t.Helper()
	s.until(harness.JobPath(job), "Job "+job+" is gone", func(o harness.Object) bool { return o == nil })
}

func (s *scene) patch(path string, change map[string]any) {
	s.t.Helper()
	if err := s.World.API.Patch(s.t.Context(), path, change); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) remove(path, propagation string) {
	s.t.Helper()
	if err := s.World.API.Delete(s.t.Context(), path, propagation); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) post(path string, object any) {
	s.t.Helper()
	if _, err := s.World.API.Do(s.t.Context(), http.MethodPost, path, object); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) requests() []cluster.AuditEvent {
	s.t.Helper()
	all, err := s.Requests(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// attempts counts the creates that reached the API server.
func (s *scene) attempts() int {
	s.t.Helper()
	all, err := s.Attempts(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return len(all)
}

// other returns the scenario's only other Job.
func (s *scene) other(job string) string {
	s.t.Helper()
	jobs, err := s.Jobs(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	if len(jobs) != 2 {
		s.t.Fatalf("%d Jobs, want 2", len(jobs))
	}
	if name := harness.JobName(jobs[0]); name != job {
		return name
	}
	return harness.JobName(jobs[1])
}

// exitCode returns the exit code of the Job's one pod.
func (s *scene) exitCode(job string) string {
	s.t.Helper()
	list, err := s.World.API.Get(s.t.Context(), "/api/v1/namespaces/"+harness.Namespace+"/pods?labelSelector=job-name%3D"+job)
	if err != nil {
		s.t.Fatal(err)
	}
	pods, _ := list["items"].([]any)
	if len(pods) != 1 {
		s.t.Fatalf("Job %s has %d pods, want 1", job, len(pods))
	}
	states, _ := harness.Member(pods[0], "status", "containerStatuses").([]any)
	if len(states) != 1 {
		s.t.Fatalf("the pod has %d containers, want 1", len(states))
	}
	return fmt.Sprint(harness.Member(states[0], "state", "terminated", "exitCode"))
}

// eventually waits until something holds.
func (s *scene) eventually(what string, holds func() bool) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("after a minute it is not so that %s", what)
		}
	}
}

// cleanUp deletes an object after the test.
func (s *scene) cleanUp(path string) {
	if err := s.World.API.Delete(context.Background(), path, "Background"); err != nil && !harness.IsStatus(err, http.StatusNotFound) {
		s.t.Error(err)
	}
}
