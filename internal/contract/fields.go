package contract

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The functions here project an object on the fields that fdai/v1 controls.
// Two objects with the same projection are the same to the dialect; everything
// else (server-written metadata, status, uncontrolled labels) may differ.

var controlledLabelPrefixes = []string{"app.kubernetes.io/", "azure.workload.identity/", "fdai.io/"}

// jobTrackingAnnotation is written by the API server (Kubernetes 1.21 to 1.26,
// "Job tracking without lingering Pods").
const jobTrackingAnnotation = "batch.kubernetes.io/job-tracking"

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func cronJobFields(r *reader, v any) map[string]any {
	cron := r.object(v, "CronJob")
	spec := r.object(cron["spec"], "spec")
	template := r.object(spec["jobTemplate"], "spec.jobTemplate")
	return map[string]any{
		"apiVersion": cron["apiVersion"],
		"kind":       cron["kind"],
		"metadata":   namedMetadata(r, cron),
		"spec": map[string]any{
			"schedule":                   spec["schedule"],
			"timeZone":                   spec["timeZone"],
			"suspend":                    defaulted(spec, "suspend", false),
			"concurrencyPolicy":          spec["concurrencyPolicy"],
			"startingDeadlineSeconds":    spec["startingDeadlineSeconds"],
			"successfulJobsHistoryLimit": spec["successfulJobsHistoryLimit"],
			"failedJobsHistoryLimit":     spec["failedJobsHistoryLimit"],
			"jobTemplate": map[string]any{
				"metadata": metadata(r, template, "spec.jobTemplate.metadata"),
				"spec":     jobSpecFields(r, template["spec"], "spec.jobTemplate.spec"),
			},
		},
	}
}

func jobFields(r *reader, v any) map[string]any {
	job := r.object(v, "Job")
	checkJobBounds(r, r.object(job["spec"], "spec"), "spec")
	return map[string]any{
		"apiVersion": job["apiVersion"],
		"kind":       job["kind"],
		"metadata":   namedMetadata(r, job),
		"spec":       jobSpecFields(r, job["spec"], "spec"),
	}
}

// checkJobBounds holds a Job spec to one pod at a time and to a deadline that
// the dialect's records can wait out.
func checkJobBounds(r *reader, spec map[string]any, path string) {
	const maxDeadline = 1800
	if d, ok := integer(spec["activeDeadlineSeconds"]); !ok || d < 1 || d > maxDeadline {
		r.fail(path+".activeDeadlineSeconds", "must be an integer from 1 to %d", maxDeadline)
	}
	for _, key := range []string{"completions", "parallelism"} {
		if n, ok := integer(spec[key]); !ok || n != 1 {
			r.fail(path+"."+key, "must be 1")
		}
	}
}

func jobSpecFields(r *reader, v any, path string) map[string]any {
	spec := r.object(v, path)
	pod := r.object(spec["template"], path+".template")
	mode := spec["completionMode"]
	if mode == nil || mode == "" {
		mode = "NonIndexed"
	}
	return map[string]any{
		"completions":             spec["completions"],
		"parallelism":             spec["parallelism"],
		"backoffLimit":            spec["backoffLimit"],
		"activeDeadlineSeconds":   spec["activeDeadlineSeconds"],
		"ttlSecondsAfterFinished": spec["ttlSecondsAfterFinished"],
		"completionMode":          mode,
		"backoffLimitPerIndex":    spec["backoffLimitPerIndex"],
		"maxFailedIndexes":        spec["maxFailedIndexes"],
		"podFailurePolicy":        clone(spec["podFailurePolicy"]),
		"template": map[string]any{
			"metadata": metadata(r, pod, path+".template.metadata"),
			"spec":     podFields(r, pod["spec"], path+".template.spec"),
		},
	}
}

func podFields(r *reader, v any, path string) map[string]any {
	pod := r.object(v, path)
	return map[string]any{
		"serviceAccountName":           pod["serviceAccountName"],
		"automountServiceAccountToken": pod["automountServiceAccountToken"],
		"restartPolicy":                pod["restartPolicy"],
		"nodeSelector":                 r.optionalObject(pod, "nodeSelector", path),
		"securityContext":              r.optionalObject(pod, "securityContext", path),
		"containers":                   []any{containerFields(r, onlyContainer(r, pod, path), path+".containers[0]")},
		"initContainers":               r.array(pod, "initContainers", path),
		"volumes":                      volumes(r, pod, path),
		"affinity":                     clone(pod["affinity"]),
		"tolerations":                  r.array(pod, "tolerations", path),
		"topologySpreadConstraints":    r.array(pod, "topologySpreadConstraints", path),
		"hostNetwork":                  pod["hostNetwork"],
		"hostPID":                      pod["hostPID"],
		"hostIPC":                      pod["hostIPC"],
		"runtimeClassName":             pod["runtimeClassName"],
		"priorityClassName":            pod["priorityClassName"],
		"imagePullSecrets":             r.named(pod, "imagePullSecrets", path),
	}
}

func onlyContainer(r *reader, pod map[string]any, path string) map[string]any {
	containers, _ := pod["containers"].([]any)
	if len(containers) != 1 {
		r.fail(path+".containers", "must be a list of exactly one container")
		return nil
	}
	return r.object(containers[0], path+".containers[0]")
}

func containerFields(r *reader, c map[string]any, path string) map[string]any {
	return map[string]any{
		"name":                     c["name"],
		"image":                    c["image"],
		"imagePullPolicy":          c["imagePullPolicy"],
		"command":                  r.strings(c, "command", path),
		"args":                     r.strings(c, "args", path),
		"env":                      environment(r, c, path),
		"envFrom":                  r.array(c, "envFrom", path),
		"resources":                r.optionalObject(c, "resources", path),
		"securityContext":          securityContext(r, c, path),
		"volumeMounts":             volumeMounts(r, c, path),
		"volumeDevices":            r.named(c, "volumeDevices", path),
		"resizePolicy":             r.array(c, "resizePolicy", path),
		"restartPolicy":            c["restartPolicy"],
		"restartPolicyRules":       clone(c["restartPolicyRules"]),
		"workingDir":               c["workingDir"],
		"ports":                    r.array(c, "ports", path),
		"livenessProbe":            clone(c["livenessProbe"]),
		"readinessProbe":           clone(c["readinessProbe"]),
		"startupProbe":             clone(c["startupProbe"]),
		"lifecycle":                clone(c["lifecycle"]),
		"terminationMessagePath":   defaulted(c, "terminationMessagePath", "/dev/termination-log"),
		"terminationMessagePolicy": defaulted(c, "terminationMessagePolicy", "File"),
		"stdin":                    defaulted(c, "stdin", false),
		"stdinOnce":                defaulted(c, "stdinOnce", false),
		"tty":                      defaulted(c, "tty", false),
	}
}

// environment returns the env entries by name. An entry with neither value nor
// valueFrom has the value "": an API server drops empty values on the way in.
func environment(r *reader, c map[string]any, path string) []any {
	if _, present := c["env"]; !present {
		r.fail(path+".env", "must be an array, is not there: the fdai/v1 dialect needs an env list on the container")
		return nil
	}
	byName := map[string]any{}
	for i, entry := range r.objects(c, "env", path) {
		name, _ := entry["name"].(string)
		if _, taken := byName[name]; taken || !envName.MatchString(name) {
			r.fail(fmt.Sprintf("%s.env[%d].name", path, i), "must be the name of an environment variable that no other entry has")
			continue
		}
		_, hasValue := entry["value"]
		from, hasFrom := entry["valueFrom"]
		if !hasValue && !hasFrom {
			entry["value"] = ""
		}
		for _, key := range []string{"secretKeyRef", "configMapKeyRef"} {
			dropDefault(child(from, key), "optional", false)
		}
		byName[name] = entry
	}
	return inOrder(byName)
}

func securityContext(r *reader, c map[string]any, path string) any {
	v := r.optionalObject(c, "securityContext", path)
	dropDefault(v, "privileged", false)
	dropDefault(v, "readOnlyRootFilesystem", false)
	return v
}

func volumeMounts(r *reader, c map[string]any, path string) []any {
	mounts := r.named(c, "volumeMounts", path)
	for _, mount := range mounts {
		dropDefault(mount, "mountPropagation", "None")
	}
	return mounts
}

func volumes(r *reader, pod map[string]any, path string) []any {
	volumes := r.named(pod, "volumes", path)
	for _, volume := range volumes {
		dropDefault(child(volume, "csi"), "fsType", "")
	}
	return volumes
}

func namedMetadata(r *reader, object map[string]any) map[string]any {
	meta := r.object(object["metadata"], "metadata")
	out := metadata(r, object, "metadata")
	out["name"] = r.text(meta, "name", "metadata")
	out["namespace"] = r.text(meta, "namespace", "metadata")
	return out
}

func metadata(r *reader, object map[string]any, path string) map[string]any {
	meta := r.object(object["metadata"], path)
	labels := map[string]any{}
	for key, value := range r.stringMap(meta, "labels", path) {
		if slices.ContainsFunc(controlledLabelPrefixes, func(p string) bool { return strings.HasPrefix(key, p) }) {
			labels[key] = value
		}
	}
	annotations := map[string]any{}
	for key, value := range r.stringMap(meta, "annotations", path) {
		if key != jobTrackingAnnotation {
			annotations[key] = value
		}
	}
	return map[string]any{"labels": labels, "annotations": annotations}
}

func defaulted(m map[string]any, key string, value any) any {
	if v, present := m[key]; present {
		return v
	}
	return value
}

// dropDefault removes a key that holds its default from v, if v is an object.
func dropDefault(v any, key string, value any) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	if have, present := m[key]; present && have == value {
		delete(m, key)
	}
}

func child(v any, key string) any {
	m, _ := v.(map[string]any)
	return m[key]
}
