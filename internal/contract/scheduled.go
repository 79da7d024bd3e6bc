package contract

import (
	"fmt"
	"maps"
	"slices"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// TemplateDigest returns the digest of a live CronJob's contract, which is what
// a review pins.
func TemplateDigest(cronJob Object) (Digest, error) {
	r := &reader{}
	fields := cronJobFields(r, cronJob)
	if err := r.failure(failure.ConfigInvalid); err != nil {
		return Digest{}, err
	}
	return DigestOf(fields)
}

// ScheduledJobDigest returns the template digest of the CronJob that a
// protected scheduled job (the reviewed Terraform input) stands for, without
// asking any cluster. Anything malformed is config-invalid.
func ScheduledJobDigest(scheduledJob any, template, namespace, sourceCommit string) (Digest, error) {
	cron, err := scheduledCronJob(scheduledJob, template, namespace, sourceCommit)
	if err != nil {
		return Digest{}, err
	}
	return TemplateDigest(cron)
}

// scheduledCronJob writes down the CronJob that the reference's Terraform module
// makes of a scheduled job.
func scheduledCronJob(scheduledJob any, template, namespace, sourceCommit string) (Object, error) {
	r := &reader{}
	if _, err := ParseLabel(template); err != nil {
		r.fail("template name", "%w", err)
	}
	if _, err := ParseLabel(namespace); err != nil {
		r.fail("namespace", "%w", err)
	}
	if _, err := ParseCommit(sourceCommit); err != nil {
		r.fail("source commit", "%w", err)
	}
	in := readScheduledJob(r, scheduledJob)
	if err := r.failure(failure.ConfigInvalid); err != nil {
		return nil, err
	}
	labels := map[string]any{
		"app.kubernetes.io/name":       template,
		"app.kubernetes.io/component":  in.component,
		"app.kubernetes.io/managed-by": "terraform",
		"fdai.io/runtime":              "aks",
		"fdai.io/source-commit":        sourceCommit,
	}
	pod := map[string]any{
		"serviceAccountName":           template + "-job",
		"automountServiceAccountToken": true,
		"restartPolicy":                "Never",
		"nodeSelector":                 map[string]any{"fdai.io/pool": "runtime"},
		"securityContext": map[string]any{
			"runAsNonRoot":   true,
			"seccompProfile": map[string]any{"type": "RuntimeDefault"},
		},
		"containers": []any{in.container(template)},
	}
	if len(in.secrets) > 0 {
		pod["volumes"] = []any{map[string]any{
			"name": "secrets",
			"csi": map[string]any{
				"driver":           "secrets-store.csi.k8s.io",
				"readOnly":         true,
				"volumeAttributes": map[string]any{"secretProviderClass": template + "-job"},
			},
		}}
	}
	return Object{
		"apiVersion": "batch/v1",
		"kind":       "CronJob",
		"metadata":   map[string]any{"name": template, "namespace": namespace, "labels": labels},
		"spec": map[string]any{
			"schedule":                   in.schedule,
			"suspend":                    in.suspend,
			"concurrencyPolicy":          "Forbid",
			"successfulJobsHistoryLimit": 3,
			"failedJobsHistoryLimit":     3,
			"jobTemplate": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec": map[string]any{
					"completions":             1,
					"parallelism":             1,
					"backoffLimit":            in.retries,
					"activeDeadlineSeconds":   in.deadline,
					"ttlSecondsAfterFinished": recordTTLSeconds,
					"template": map[string]any{
						"metadata": map[string]any{"labels": merge(labels, map[string]any{"azure.workload.identity/use": "true"})},
						"spec":     pod,
					},
				},
			},
		},
	}, nil
}

// scheduledJob is the protected input, read and checked.
type scheduledJob struct {
	component, image, schedule, cpu, memory string
	command, args, envFrom                  []any
	environment, secrets                    map[string]string
	suspend                                 bool
	deadline, retries                       int
}

func readScheduledJob(r *reader, v any) scheduledJob {
	const path = "scheduled job"
	m := r.object(v, path)
	argument := func(key string) string {
		s := r.text(m, key, path)
		if err := CheckArgument(s); err != nil {
			r.fail(path+"."+key, "%w", err)
		}
		return s
	}
	between := func(key string, low, high int) int {
		n, ok := integer(m[key])
		if !ok || n < low || n > high {
			r.fail(path+"."+key, "must be an integer from %d to %d", low, high)
		}
		return n
	}
	in := scheduledJob{
		component: argument("component"), image: argument("image"), schedule: argument("schedule"),
		cpu: argument("cpu"), memory: argument("memory"),
		command: r.strings(m, "command", path), args: r.strings(m, "args", path), envFrom: r.array(m, "env_from", path),
		secrets:  r.stringMap(m, "secret_environment", path),
		deadline: between("deadline_seconds", 1, 1800), retries: between("retry_limit", 0, 10),
	}
	if _, present := m["environment"]; !present {
		r.fail(path+".environment", "is not there")
	}
	in.environment = r.stringMap(m, "environment", path)
	if len(in.command) == 0 {
		r.fail(path+".command", "is empty")
	}
	if _, err := ParseLabel(in.component); err != nil {
		r.fail(path+".component", "%w", err)
	}
	if _, err := ParseImage(in.image); err != nil {
		r.fail(path+".image", "%w", err)
	}
	var ok bool
	if in.suspend, ok = defaulted(m, "suspend", false).(bool); !ok {
		r.fail(path+".suspend", "must be a boolean, is %s", kind(m["suspend"]))
	}
	for i, item := range in.envFrom {
		r.object(item, fmt.Sprintf("%s.env_from[%d]", path, i))
	}
	for _, name := range slices.Sorted(maps.Keys(merge(in.environment, in.secrets))) {
		_, plain := in.environment[name]
		_, secret := in.secrets[name]
		switch at := path + ".environment." + name; {
		case !envName.MatchString(name):
			r.fail(at, "is not the name of an environment variable")
		case plain && secret:
			r.fail(at, "is in secret_environment too")
		}
	}
	return in
}

func (in scheduledJob) container(template string) map[string]any {
	var env []any
	for _, name := range slices.Sorted(maps.Keys(in.environment)) {
		env = append(env, map[string]any{"name": name, "value": in.environment[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(in.secrets)) {
		env = append(env, map[string]any{"name": name, "valueFrom": map[string]any{
			"secretKeyRef": map[string]any{"name": template + "-job", "key": name},
		}})
	}
	size := map[string]any{"cpu": in.cpu, "memory": in.memory}
	c := map[string]any{
		"name":            template,
		"image":           in.image,
		"imagePullPolicy": "IfNotPresent",
		"command":         in.command,
		"args":            in.args,
		"env":             append([]any{}, env...),
		"envFrom":         in.envFrom,
		"resources":       map[string]any{"requests": size, "limits": size},
		"securityContext": map[string]any{
			"allowPrivilegeEscalation": false,
			"runAsNonRoot":             true,
			"capabilities":             map[string]any{"drop": []any{"ALL"}},
		},
	}
	if len(in.secrets) > 0 {
		c["volumeMounts"] = []any{map[string]any{"name": "secrets", "mountPath": "/mnt/secrets-store", "readOnly": true}}
	}
	return c
}

// recordTTLSeconds is the ttlSecondsAfterFinished that the dialect's records
// state for every Job.
const recordTTLSeconds = 3600
