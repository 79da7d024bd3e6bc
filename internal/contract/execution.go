package contract

import (
	"fmt"
	"slices"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

const (
	maxJobName        = 63
	executionIDLength = 16

	sourceCommitLabel = "fdai.io/source-commit"
)

// Execution is one intended run of a template, made definite: the Job it
// stands for, named after the digest of everything that makes it what it is.
type Execution struct {
	Name      string
	Namespace string
	Purpose   string
	// Digest is over the purpose, the pins and the Job spec as read.
	Digest Digest
	// Manifest is the Job to create, Canonical form and all.
	Manifest       Object
	ManifestDigest Digest
	TemplateDigest Digest
	BindingDigest  Digest
	// ContractDigest is the digest of the fields of the Job under control.
	ContractDigest Digest
	// TTL is how long a finished Job is kept before the TTL controller may
	// delete it, at most what the dialect's records state.
	TTL time.Duration

	fields map[string]any
}

// Derive holds a live CronJob and ServiceAccount against the request and
// returns the execution that they stand for. Nothing is changed in the objects.
//
// The error is template-drift, suspension-changed or identity-drift, or
// config-invalid where the template has not the shape the dialect needs.
func Derive(cronJob, serviceAccount Object, q Request) (Execution, error) {
	if err := q.Pins.Binding.Verify(serviceAccount); err != nil {
		return Execution{}, err
	}
	if err := q.Validate(); err != nil {
		return Execution{}, err
	}
	if err := verifyTemplate(cronJob, q); err != nil {
		return Execution{}, err
	}
	cron := clone(map[string]any(cronJob)).(map[string]any)
	template := child(cron["spec"], "jobTemplate").(map[string]any)
	jobSpec := template["spec"].(map[string]any)
	pod := jobSpec["template"].(map[string]any)
	container := child(pod["spec"], "containers").([]any)[0].(map[string]any)
	container["args"] = texts(q.Args)
	container["env"] = withOverrides(container["env"].([]any), q.Environment)

	e := Execution{
		Namespace: q.Namespace.String(), Purpose: q.Purpose.String(),
		TemplateDigest: q.Pins.Template, BindingDigest: q.Pins.Binding.Digest(),
		TTL: ttl(jobSpec),
	}
	var err error
	if e.Digest, err = DigestOf(map[string]any{
		"purpose":                           e.Purpose,
		"source_revision":                   q.Pins.SourceCommit.String(),
		"target_binding":                    q.Pins.TargetBinding.String(),
		"template_name":                     q.Template.String(),
		"template_namespace":                e.Namespace,
		"protected_template_digest":         e.TemplateDigest.String(),
		"protected_identity_binding_digest": e.BindingDigest.String(),
		"template_spec":                     jobSpec,
	}); err != nil {
		return Execution{}, failure.New(failure.ConfigInvalid, "digesting the execution: %w", err)
	}
	e.Name = jobNamePrefix(q.Purpose) + e.Digest.String()[:executionIDLength]

	added := map[string]any{"fdai.io/one-shot": e.Purpose, sourceCommitLabel: q.Pins.SourceCommit.String()}
	podMeta := pod["metadata"].(map[string]any)
	podMeta["labels"] = merge(podMeta["labels"].(map[string]any), added)
	e.Manifest = Object{
		"apiVersion": "batch/v1",
		"kind":       "Job",
		"metadata": map[string]any{
			"name":      e.Name,
			"namespace": e.Namespace,
			"labels":    merge(child(template["metadata"], "labels").(map[string]any), added),
			"annotations": map[string]any{
				"fdai.io/execution-digest":        e.Digest.String(),
				"fdai.io/identity-binding-digest": e.BindingDigest.String(),
				"fdai.io/template-digest":         e.TemplateDigest.String(),
				"fdai.io/target-binding":          q.Pins.TargetBinding.String(),
			},
		},
		"spec": jobSpec,
	}
	err = e.seal()
	return e, err
}

// seal computes what follows from the manifest.
func (e *Execution) seal() error {
	var err error
	if e.ManifestDigest, err = DigestOf(e.Manifest); err != nil {
		return failure.New(failure.ConfigInvalid, "digesting the Job: %w", err)
	}
	r := &reader{}
	e.fields = jobFields(r, e.Manifest)
	if err := r.failure(failure.ConfigInvalid); err != nil {
		return err
	}
	if e.ContractDigest, err = DigestOf(e.fields); err != nil {
		return failure.New(failure.ConfigInvalid, "digesting the Job's contract: %w", err)
	}
	return nil
}

func jobNamePrefix(purpose Label) string { return "fdai-" + purpose.String() + "-" }

// verifyTemplate checks everything about the CronJob that Derive relies on.
func verifyTemplate(cronJob Object, q Request) error {
	r := &reader{}
	fields := cronJobFields(r, cronJob)
	if err := r.failure(failure.ConfigInvalid); err != nil {
		return err
	}
	digest, err := DigestOf(fields)
	if err != nil {
		return failure.New(failure.ConfigInvalid, "digesting CronJob %s: %w", q.Template, err)
	}
	spec := cronJob["spec"].(map[string]any)
	template := spec["jobTemplate"].(map[string]any)
	jobSpec := template["spec"].(map[string]any)
	pod := jobSpec["template"].(map[string]any)
	podSpec := pod["spec"].(map[string]any)
	container := podSpec["containers"].([]any)[0].(map[string]any)

	var differs error
	expect := func(field string, have any, want any) {
		if differs == nil && !equal(have, want) {
			differs = failure.New(failure.TemplateDrift, "CronJob %s has %s, expected %s", q.Template, show(have), show(want)).At(field)
		}
	}
	label := func(meta any) any { return child(child(meta, "labels"), sourceCommitLabel) }
	expect("apiVersion", cronJob["apiVersion"], "batch/v1")
	expect("kind", cronJob["kind"], "CronJob")
	expect("metadata.name", child(cronJob["metadata"], "name"), q.Template.String())
	expect("metadata.namespace", child(cronJob["metadata"], "namespace"), q.Namespace.String())
	const podPath = "spec.jobTemplate.spec.template"
	expect(podPath+".spec.serviceAccountName", podSpec["serviceAccountName"], q.ServiceAccount.String())
	expect(podPath+".spec.containers[0].name", container["name"], q.Container.String())
	expect(podPath+".spec.containers[0].image", container["image"], q.Image.String())
	expect(podPath+".spec.containers[0].command", container["command"], texts(q.Command))
	commit := q.Pins.SourceCommit.String()
	expect("metadata.labels["+sourceCommitLabel+"]", label(cronJob["metadata"]), commit)
	expect("spec.jobTemplate.metadata.labels["+sourceCommitLabel+"]", label(template["metadata"]), commit)
	expect(podPath+".metadata.labels["+sourceCommitLabel+"]", label(pod["metadata"]), commit)
	if differs != nil {
		return differs
	}
	if digest != q.Pins.Template {
		return failure.New(failure.TemplateDrift, "CronJob %s/%s has the contract digest %s, pinned is %s",
			q.Namespace, q.Template, digest, q.Pins.Template).
			WithFix("Compare the live CronJob with the reviewed one; a digest cannot tell which controlled field differs, but name, image, command, ServiceAccount and source commit are as expected. Then deploy the reviewed one again, or review the change and pin its digest")
	}
	if want := q.RequireSuspended; want != nil && defaulted(spec, "suspend", false) != *want {
		return failure.New(failure.SuspensionChanged, "CronJob %s has suspend: %s, required is %t",
			q.Template, show(defaulted(spec, "suspend", false)), *want).At("spec.suspend")
	}
	return verifyJobSpec(jobSpec, "spec.jobTemplate.spec")
}

// verifyJobSpec refuses a template, pinned or not, whose Job the dialect cannot
// follow to its end.
func verifyJobSpec(jobSpec map[string]any, path string) error {
	// The API server writes a default into a Job, but not into a CronJob's
	// template, and the Job would no longer be the one that was derived.
	if n, ok := integer(jobSpec["backoffLimit"]); !ok || n < 0 {
		return failure.New(failure.ConfigInvalid, "must be a count, is %s", show(jobSpec["backoffLimit"])).At(path + ".backoffLimit").
			WithFix("Set backoffLimit in the CronJob's jobTemplate, review it and pin its digest")
	}
	r := &reader{}
	checkJobBounds(r, jobSpec, path)
	if r.err == nil {
		return nil
	}
	e := *r.err
	e.Code = failure.TemplateDrift
	return e.WithFix("The fdai/v1 contract needs this; change the CronJob, review it and pin its digest")
}

// withOverrides returns env with the overrides in place, sorted by name.
func withOverrides(env []any, overrides map[string]string) []any {
	byName := map[string]any{}
	for _, entry := range env {
		byName[child(entry, "name").(string)] = entry
	}
	for name, value := range overrides {
		byName[name] = map[string]any{"name": name, "value": value}
	}
	return inOrder(byName)
}

// ttl returns for how long the Job, once finished, is sure to be there.
func ttl(jobSpec map[string]any) time.Duration {
	seconds := recordTTLSeconds
	if n, ok := integer(jobSpec["ttlSecondsAfterFinished"]); ok && n < seconds {
		seconds = max(n, 0)
	}
	return time.Duration(seconds) * time.Second
}

func texts(items []string) []any {
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = item
	}
	return out
}

// equal compares two JSON values by their canonical form.
func equal(a, b any) bool {
	x, errX := Canonical(a)
	y, errY := Canonical(b)
	return errX == nil && errY == nil && slices.Equal(x, y)
}

// show spells a value for a message, whole or not at all, as quote does.
func show(v any) string {
	data, err := Canonical(v)
	if err != nil {
		return fmt.Sprintf("%v", v)
	}
	if s, ok := v.(string); ok {
		return quote(s)
	}
	const most = 400
	if len(data) > most {
		return fmt.Sprintf("a value of %d bytes", len(data))
	}
	return string(data)
}
