package e2e

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

func TestTemplateDrift(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change map[string]any
		says   []string
	}{
		"schedule": {
			map[string]any{"spec": map[string]any{"schedule": "5 4 29 2 *"}},
			[]string{"contract digest", "pinned is"},
		},
		"deadline": {
			map[string]any{"spec": map[string]any{"jobTemplate": map[string]any{"spec": map[string]any{"activeDeadlineSeconds": 301}}}},
			[]string{"contract digest", "pinned is"},
		},
		"commit": {
			map[string]any{"metadata": map[string]any{"labels": map[string]any{"fdai.io/source-commit": strings.Repeat("f", 40)}}},
			[]string{"metadata.labels[fdai.io/source-commit]", strings.Repeat("f", 40), harness.SourceCommit},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := set(t, harness.Template{})
			s.patch(s.CronJobPath(), c.change)
			s.expect(s.run(), want{outcome: "refused", reason: "template-drift", created: 0, says: append(c.says, s.Name)})
			if n := s.attempts(); n != 0 {
				t.Errorf("%d creates were tried", n)
			}
		})
	}
}

// TestTemplateDriftAfterDispatch: the Job is what was reviewed, the template is
// not any more. The outcome is still there to be had, once the template is back.
func TestTemplateDriftAfterDispatch(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.expect(s.run(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
	s.patch(s.CronJobPath(), map[string]any{"spec": map[string]any{"schedule": "5 4 29 2 *"}})
	s.expect(s.run(), want{outcome: "refused", reason: "template-drift", created: 1})
	s.patch(s.CronJobPath(), map[string]any{"spec": map[string]any{"schedule": "0 0 29 2 *"}})
	s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1})
}

func TestSuspensionChanged(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{Suspended: true})
	s.Inputs["require-suspended"] = "false"
	s.expect(s.run(), want{outcome: "refused", reason: "suspension-changed", says: []string{"suspend: true", "required is false"}})
}

func TestServiceAccountDrift(t *testing.T) {
	t.Parallel()
	const clientID = "azure.workload.identity/client-id"
	for name, c := range map[string]struct {
		annotations map[string]any
		says        []string
	}{
		"changed": {map[string]any{clientID: "99999999-cccc-dddd-eeee-ffffffffffff"}, []string{clientID, "99999999-cccc-dddd-eeee-ffffffffffff", harness.ClientID}},
		"removed": {map[string]any{clientID: nil}, []string{clientID, "lacks"}},
		"added":   {map[string]any{"azure.workload.identity/service-account-token-expiration": "3600"}, []string{"service-account-token-expiration"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := set(t, harness.Template{})
			s.patch(s.ServiceAccountPath(), map[string]any{"metadata": map[string]any{"annotations": c.annotations}})
			s.expect(s.run(), want{outcome: "refused", reason: "identity-drift", says: c.says})
		})
	}
}

func TestTemplateIsNotThere(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.remove(s.CronJobPath(), "Background")
	s.expect(s.run(), want{outcome: "refused", reason: "template-unavailable", says: []string{"get cronjobs.batch " + s.Name, "namespace " + harness.Namespace, "HTTP 404"}})
}

func TestServiceAccountIsNotThere(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.remove(s.ServiceAccountPath(), "Background")
	s.expect(s.run(), want{outcome: "refused", reason: "identity-unavailable", says: []string{"get serviceaccounts " + s.Name + "-job", "HTTP 404"}})
}

// prepared runs up to the intent and not further, and returns the manifest of
// the Job that would have been created.
func (s *scene) prepared() harness.Object {
	s.t.Helper()
	p := s.behind()
	p.On(harness.IsCreate, 1, harness.Answer(422, "Invalid", "not this time"))
	e := s.run()
	s.expect(e, want{outcome: "refused", reason: "create-rejected", records: asIntended})
	records, err := s.Records()
	if err != nil {
		s.t.Fatal(err)
	}
	var manifest harness.Object
	if err := json.Unmarshal([]byte(records[e.Outputs["job-name"]+".json"]), &manifest); err != nil {
		s.t.Fatal(err)
	}
	return manifest
}

// TestForeignJob: somebody else made a Job of the very name. Even one that is
// equal is not adopted without a record that it was to be.
func TestForeignJob(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	manifest := s.prepared()
	s.post("/apis/batch/v1/namespaces/"+harness.Namespace+"/jobs", manifest)
	s.Inputs["work-dir"] = filepath.Join(s.Dir, "other-records")
	s.expect(s.run(), want{
		outcome: "refused", reason: "job-without-intent", records: asPrepared, created: 1,
		says: []string{harness.JobName(manifest), "no record here"},
	})
	if n := s.attempts(); n != 0 {
		t.Errorf("%d creates reached the API server", n)
	}
}

// TestChangedJobIsNeitherAdoptedNorPatched: an apply of the Job would fail on an
// immutable field, a patch would hide who changed it.
func TestChangedJobIsNeitherAdoptedNorPatched(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	manifest := s.prepared()
	manifest["spec"].(map[string]any)["activeDeadlineSeconds"] = 17
	s.post("/apis/batch/v1/namespaces/"+harness.Namespace+"/jobs", manifest)
	s.expect(s.run(), want{
		outcome: "refused", reason: "job-contract-changed", resumed: true, records: asIntended, created: 1,
		says: []string{harness.JobName(manifest), "activeDeadlineSeconds"},
	})
}

func TestJobChangedWhileWaiting(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	s.args("sleep 1m")
	run := s.start()
	path := harness.JobPath(run.job())
	run.until("waiting for Job")
	s.patch(path, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"fdai.io/target-binding": strings.Repeat("0", 64)}}})
	s.expect(run.wait(), want{
		outcome: "unknown", reason: "job-contract-changed", dispatched: true, records: asDispatched, created: 1,
		says: []string{"fdai.io/target-binding"},
	})
}

// TestAdmissionRejects: the words of a policy reach the user.
func TestAdmissionRejects(t *testing.T) {
	t.Parallel()
	s := set(t, harness.Template{})
	const admission, message = "/apis/admissionregistration.k8s.io/v1", "no one-shot Jobs during the freeze"
	s.post(admission+"/validatingadmissionpolicies", map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": map[string]any{"name": s.Name},
		"spec": map[string]any{
			"failurePolicy": "Fail",
			"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
				"apiGroups": []any{"batch"}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE"}, "resources": []any{"jobs"},
			}}},
			"validations": []any{map[string]any{
				"expression": "!object.metadata.name.startsWith('fdai-" + s.Name + "-')", "message": message,
			}},
		},
	})
	s.post(admission+"/validatingadmissionpolicybindings", map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": map[string]any{"name": s.Name},
		"spec": map[string]any{"policyName": s.Name, "validationActions": []any{"Deny"}},
	})
	t.Cleanup(func() {
		s.cleanUp(admission + "/validatingadmissionpolicybindings/" + s.Name)
		s.cleanUp(admission + "/validatingadmissionpolicies/" + s.Name)
	})
	s.rejectedNow()
	s.expect(s.run(), want{
		outcome: "refused", reason: "create-rejected", records: asIntended,
		says: []string{"create jobs.batch", "HTTP 422", message},
	})
	if n := s.attempts(); n != 1 {
		t.Errorf("%d creates were sent, a rejection is final", n)
	}
}

// rejectedNow waits until the API server rejects a Job of the scenario, which a
// policy takes a moment for. Nothing is created.
func (s *scene) rejectedNow() {
	s.t.Helper()
	dry := map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "fdai-" + s.Name + "-0"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "containers": []any{map[string]any{"name": "c", "image": "i"}},
		}}},
	}
	s.eventually("Jobs are rejected", func() bool {
		_, err := s.World.API.Do(s.t.Context(), http.MethodPost, "/apis/batch/v1/namespaces/"+harness.Namespace+"/jobs?dryRun=All", dry)
		return err != nil
	})
}
