package contract

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

var (
	podPath       = []any{"spec", "jobTemplate", "spec", "template", "spec"}
	containerPath = append(append([]any{}, podPath...), "containers", 0)
)

func in(base []any, more ...any) []any { return append(append([]any{}, base...), more...) }

func TestDeriveNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		value any
		path  []any
		code  failure.Code
		field string
	}{
		{"image", "example.azurecr.io/app@sha256:" + strings.Repeat("d", 64), in(containerPath, "image"), failure.TemplateDrift, "spec.jobTemplate.spec.template.spec.containers[0].image"},
		{"command", []any{"sh"}, in(containerPath, "command"), failure.TemplateDrift, "spec.jobTemplate.spec.template.spec.containers[0].command"},
		{"service account", "other", in(podPath, "serviceAccountName"), failure.TemplateDrift, "spec.jobTemplate.spec.template.spec.serviceAccountName"},
		{"source commit", strings.Repeat("b", 40), []any{"spec", "jobTemplate", "metadata", "labels", "fdai.io/source-commit"}, failure.TemplateDrift, "spec.jobTemplate.metadata.labels[fdai.io/source-commit]"},
		{"source commit gone", remove, []any{"metadata", "labels", "fdai.io/source-commit"}, failure.TemplateDrift, "metadata.labels[fdai.io/source-commit]"},
		{"labels gone", remove, []any{"metadata", "labels"}, failure.TemplateDrift, "metadata.labels[fdai.io/source-commit]"},
		{"kind", "Job", []any{"kind"}, failure.TemplateDrift, "kind"},
		{"namespace", "default", []any{"metadata", "namespace"}, failure.TemplateDrift, "metadata.namespace"},
		{"host network", true, in(podPath, "hostNetwork"), failure.TemplateDrift, ""},
		{"privileged", true, in(containerPath, "securityContext", "privileged"), failure.TemplateDrift, ""},
		{"an annotation", map[string]any{"a": "b"}, []any{"metadata", "annotations"}, failure.TemplateDrift, ""},
		{"no env list", remove, in(containerPath, "env"), failure.ConfigInvalid, "spec.jobTemplate.spec.template.spec.containers[0].env"},
		{"two of a name", []any{map[string]any{"name": "A"}, map[string]any{"name": "A"}}, in(containerPath, "env"), failure.ConfigInvalid, "spec.jobTemplate.spec.template.spec.containers[0].env[1].name"},
		{"no name", []any{map[string]any{}}, in(podPath, "volumes"), failure.ConfigInvalid, "spec.jobTemplate.spec.template.spec.volumes[0].name"},
		{"null ports", nil, in(containerPath, "ports"), failure.ConfigInvalid, "spec.jobTemplate.spec.template.spec.containers[0].ports"},
		{"two containers", []any{map[string]any{}, map[string]any{}}, in(podPath, "containers"), failure.ConfigInvalid, "spec.jobTemplate.spec.template.spec.containers"},
		{"a list for a spec", []any{}, []any{"spec"}, failure.ConfigInvalid, "spec"},
		{"no metadata", remove, []any{"metadata"}, failure.ConfigInvalid, "metadata"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cronJob := fixture(t, "cronjob.json")
			set(cronJob, test.value, test.path...)
			_, err := Derive(cronJob, fixture(t, "serviceaccount.json"), testRequest(t))
			checkFailure(t, err, test.code, test.field)
		})
	}
}

func TestDeriveShowsBothImages(t *testing.T) {
	t.Parallel()
	cronJob := fixture(t, "cronjob.json")
	other := "example.azurecr.io/app@sha256:" + strings.Repeat("d", 64)
	set(cronJob, other, in(containerPath, "image")...)
	_, err := Derive(cronJob, fixture(t, "serviceaccount.json"), testRequest(t))
	for _, image := range []string{other, "example.azurecr.io/app@sha256:" + strings.Repeat("c", 64)} {
		if !strings.Contains(err.Error(), image) {
			t.Errorf("%s is not in %v", image, err)
		}
	}
}

func TestDeriveChecksBoundsOfAPinnedTemplate(t *testing.T) {
	t.Parallel()
	for key, value := range map[string]any{
		"activeDeadlineSeconds": json.Number("1801"), "completions": json.Number("2"), "parallelism": remove,
	} {
		cronJob, q := fixture(t, "cronjob.json"), testRequest(t)
		set(cronJob, value, "spec", "jobTemplate", "spec", key)
		q.Pins.Template = must(TemplateDigest(cronJob))
		_, err := Derive(cronJob, fixture(t, "serviceaccount.json"), q)
		checkFailure(t, err, failure.TemplateDrift, "spec.jobTemplate.spec."+key)
	}
}

// The API server defaults it in the Job only, which would then differ from the
// one that was derived, when it is running already.
func TestDeriveNeedsABackoffLimit(t *testing.T) {
	t.Parallel()
	for _, value := range []any{remove, nil, json.Number("-1"), "1"} {
		cronJob, q := fixture(t, "cronjob.json"), testRequest(t)
		set(cronJob, value, "spec", "jobTemplate", "spec", "backoffLimit")
		q.Pins.Template = must(TemplateDigest(cronJob))
		_, err := Derive(cronJob, fixture(t, "serviceaccount.json"), q)
		checkFailure(t, err, failure.ConfigInvalid, "spec.jobTemplate.spec.backoffLimit")
	}
}

func TestDeriveLeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	cronJob, account := fixture(t, "cronjob.json"), fixture(t, "serviceaccount.json")
	if _, err := Derive(cronJob, account, testRequest(t)); err != nil {
		t.Fatal(err)
	}
	if !equal(cronJob, fixture(t, "cronjob.json")) || !equal(account, fixture(t, "serviceaccount.json")) {
		t.Error("Derive changed the objects it was given")
	}
}

func TestDeriveRefusesASuspensionThatIsNotAsked(t *testing.T) {
	t.Parallel()
	q := testRequest(t)
	want := true
	q.RequireSuspended = &want
	_, err := Derive(fixture(t, "cronjob.json"), fixture(t, "serviceaccount.json"), q)
	checkFailure(t, err, failure.SuspensionChanged, "spec.suspend")
}

func TestServiceAccountDrift(t *testing.T) {
	t.Parallel()
	const annotation = "azure.workload.identity/client-id"
	tests := []struct {
		name  string
		value any
		path  []any
		field string
	}{
		{"another client", "x", []any{"metadata", "annotations", annotation}, "metadata.annotations[" + annotation + "]"},
		{"gone", remove, []any{"metadata", "annotations"}, "metadata.annotations[" + annotation + "]"},
		{"one more", "true", []any{"metadata", "annotations", "azure.workload.identity/extra"}, "metadata.annotations[azure.workload.identity/extra]"},
		{"not text", json.Number("1"), []any{"metadata", "annotations", annotation}, `metadata.annotations["azure.workload.identity/client-id"]`},
		{"another name", "x", []any{"metadata", "name"}, "metadata.name"},
		{"kind", "Secret", []any{"kind"}, "kind"},
		{"no metadata", remove, []any{"metadata"}, "metadata"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			account := fixture(t, "serviceaccount.json")
			set(account, test.value, test.path...)
			_, err := Derive(fixture(t, "cronjob.json"), account, testRequest(t))
			checkFailure(t, err, failure.IdentityDrift, test.field)
		})
	}
}

func TestTTLIsAtMostWhatRecordsState(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value any
		want  time.Duration
	}{
		{json.Number("3600"), time.Hour}, {json.Number("7200"), time.Hour}, {remove, time.Hour},
		{json.Number("5"), 5 * time.Second}, {json.Number("0"), 0},
	}
	for _, test := range tests {
		cronJob, q := fixture(t, "cronjob.json"), testRequest(t)
		set(cronJob, test.value, "spec", "jobTemplate", "spec", "ttlSecondsAfterFinished")
		q.Pins.Template = must(TemplateDigest(cronJob))
		e, err := Derive(cronJob, fixture(t, "serviceaccount.json"), q)
		if err != nil || e.TTL != test.want {
			t.Errorf("TTL for %v is %s (%v), want %s", test.value, e.TTL, err, test.want)
		}
	}
}

func checkFailure(t *testing.T, err error, code failure.Code, field string) {
	t.Helper()
	f, ok := err.(*failure.Error) //nolint:errorlint // the type itself is promised
	if !ok || f.Code != code || f.Field != field {
		t.Errorf("the error is %v, want %s at %q", err, code, field)
	}
}
