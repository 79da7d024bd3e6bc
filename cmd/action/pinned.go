package main

import (
	"errors"
	"fmt"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

const (
	pinNamespace      = "fdai-runtime"
	sourceCommitLabel = "fdai.io/source-commit"
)

// contextOf returns the context that a CronJob stands for, with the members that
// the reference's has.
func contextOf(cronJob contract.Object, given map[string]string) (contract.Object, error) {
	meta := under(cronJob, "metadata")
	name, _ := meta["name"].(string)
	namespace, _ := meta["namespace"].(string)
	commit, _ := under(meta, "labels")[sourceCommitLabel].(string)
	if _, err := contract.ParseLabel(name); err != nil {
		return nil, failure.New(failure.ConfigInvalid, "%w", err).At("metadata.name")
	}
	if namespace != pinNamespace {
		return nil, failure.New(failure.ConfigInvalid, "is %q; the fdai/v1 contract knows only %s", namespace, pinNamespace).At("metadata.namespace")
	}
	if _, err := contract.ParseCommit(commit); err != nil {
		return nil, failure.New(failure.ConfigInvalid, "%w", err).At("metadata.labels[" + sourceCommitLabel + "]").
			WithFix("Label the CronJob, its Job template and its pod template with the commit that they were deployed from")
	}
	account, _ := podSpecOf(cronJob)["serviceAccountName"].(string)
	if want := name + "-job"; account != want {
		return nil, failure.New(failure.ConfigInvalid, "is %q; the fdai/v1 contract binds the ServiceAccount %s", account, want).
			At("spec.jobTemplate.spec.template.spec.serviceAccountName")
	}
	digest, err := contract.TemplateDigest(cronJob)
	if err != nil {
		return nil, err
	}
	binding, err := contract.NewBinding(map[string]any{
		"identity_client_id":   given["identity-client-id"],
		"identity_resource_id": given["identity-resource-id"],
	}, name, namespace, given["tenant-id"], given["subscription-id"])
	if err != nil {
		return nil, err
	}
	tenant, err := contract.ParseGUID(given["tenant-id"])
	if err != nil {
		return nil, err
	}
	subscription, err := contract.ParseGUID(given["subscription-id"])
	if err != nil {
		return nil, err
	}
	return contract.Object{
		"source_commit":                       commit,
		"target_binding":                      given["target-binding"],
		"tenant_id":                           tenant.String(),
		"subscription_id":                     subscription.String(),
		"protected_aks_job_template_digests":  map[string]any{name: digest.String()},
		"protected_aks_job_identity_bindings": map[string]any{name: map[string]any(binding.Object())},
	}, nil
}

// rehearse derives an execution from the CronJob under its own context, so that
// what every run would refuse is told when it is pinned and not later. The
// ServiceAccount is the one that the binding wants.
func rehearse(cronJob, object contract.Object) error {
	reviewed, err := contract.ReadContext(object)
	if err != nil {
		return err
	}
	q, err := requestOf(cronJob)
	if err != nil {
		return err
	}
	if q.Pins, err = reviewed.Pins(q.Template, q.Namespace, q.ServiceAccount); err != nil {
		return err
	}
	_, err = contract.Derive(cronJob, contract.Object{
		"apiVersion": "v1",
		"kind":       "ServiceAccount",
		"metadata": map[string]any{
			"name": q.ServiceAccount.String(), "namespace": q.Namespace.String(),
			"annotations": q.Pins.Binding.Object()["annotations"],
		},
	}, q)
	return err
}

// requestOf returns the request for a run of the CronJob just as it is.
func requestOf(cronJob contract.Object) (contract.Request, error) {
	const at = "spec.jobTemplate.spec.template.spec"
	pod := podSpecOf(cronJob)
	containers, _ := pod["containers"].([]any)
	if len(containers) != 1 {
		return contract.Request{}, failure.New(failure.ConfigInvalid, "must be a list of exactly one container").At(at + ".containers")
	}
	only, _ := containers[0].(map[string]any)
	q := contract.Request{}
	var errs []error
	label := func(v any, at string) contract.Label {
		text, _ := v.(string)
		l, err := contract.ParseLabel(text)
		if err != nil {
			errs = append(errs, failure.New(failure.ConfigInvalid, "%w", err).At(at))
		}
		return l
	}
	meta := under(cronJob, "metadata")
	q.Template = label(meta["name"], "metadata.name")
	q.Namespace = label(meta["namespace"], "metadata.namespace")
	q.ServiceAccount = label(pod["serviceAccountName"], at+".serviceAccountName")
	q.Container = label(only["name"], at+".containers[0].name")
	q.Purpose = label("pin", "purpose")
	image, _ := only["image"].(string)
	var err error
	if q.Image, err = contract.ParseImage(image); err != nil {
		errs = append(errs, failure.New(failure.ConfigInvalid, "%w", err).At(at+".containers[0].image"))
	}
	command, _ := only["command"].([]any)
	for _, item := range command {
		text, _ := item.(string)
		q.Command = append(q.Command, text)
	}
	if len(command) == 0 {
		errs = append(errs, failure.New(failure.ConfigInvalid, "is missing; the fdai/v1 contract needs the command in the CronJob").At(at+".containers[0].command"))
	}
	if env, ok := only["env"].([]any); ok && len(env) == 0 {
		errs = append(errs, failure.New(failure.ConfigInvalid, "is an empty list, which the API server drops: this is not what a cluster has, and a run would find another CronJob").
			At(at+".containers[0].env").WithFix("Give it one entry at least, apply it, and pin what kubectl get prints"))
	}
	if len(errs) > 0 {
		return q, errs[0]
	}
	return q, nil
}

// recordedTTL is the ttlSecondsAfterFinished that the dialect's records have of
// every Job, in seconds.
const recordedTTL = "3600"

// warnings are what a run with the pin does not refuse, and whoever reviews the
// CronJob will hardly want.
func warnings(cronJob contract.Object) (notes []string) {
	ttl, given := under(cronJob, "spec", "jobTemplate", "spec")["ttlSecondsAfterFinished"]
	switch {
	case !given:
		notes = append(notes, "spec.jobTemplate.spec.ttlSecondsAfterFinished: is missing, so that no Job is ever removed; the records say "+recordedTTL)
	case fmt.Sprint(ttl) != recordedTTL:
		notes = append(notes, fmt.Sprintf("spec.jobTemplate.spec.ttlSecondsAfterFinished: is %v, and the records say %s of every Job; with less, a re-run has less time to resume from an intent", ttl, recordedTTL))
	}
	if _, applied := under(cronJob, "metadata", "annotations")[lastApplied]; applied {
		notes = append(notes, fmt.Sprintf("metadata.annotations[%[1]s]: is pinned like every annotation, and the next kubectl apply changes it: then the CronJob has drifted. "+
			"Apply with --server-side, remove it (kubectl annotate cronjob NAME -n %[2]s %[1]s-), and pin again", lastApplied, pinNamespace))
	}
	return notes
}

// lastApplied is the annotation of kubectl apply, with the whole manifest in it.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func podSpecOf(cronJob contract.Object) map[string]any {
	return under(cronJob, "spec", "jobTemplate", "spec", "template", "spec")
}

// under returns the object at a path, nil where there is none.
func under(object map[string]any, path ...string) map[string]any {
	for _, key := range path {
		object, _ = object[key].(map[string]any)
	}
	return object
}

func asFailure(err error) *failure.Error {
	if e, ok := errors.AsType[*failure.Error](err); ok {
		return e
	}
	return failure.New(failure.ConfigInvalid, "%w", err)
}
