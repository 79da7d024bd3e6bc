package contract

import (
	"fmt"
	"maps"
	"slices"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// CheckJob holds a live Job against the execution: every controlled field must
// be the manifest's. The error is job-contract-changed and names the first
// field that differs.
func (e Execution) CheckJob(job Object) error {
	r := &reader{}
	fields := jobFields(r, job)
	if err := r.failure(failure.JobContractChanged); err != nil {
		return err
	}
	digest, err := DigestOf(fields)
	if err != nil {
		return failure.New(failure.JobContractChanged, "digesting Job %s: %w", e.Name, err)
	}
	if digest == e.ContractDigest {
		return nil
	}
	return failure.New(failure.JobContractChanged, "Job %s/%s differs from the one this execution describes", e.Namespace, e.Name).
		At(firstDifference("", e.fields, fields))
}

// Deleting reports whether the Job is being deleted: it still answers reads,
// but only until its finalizers are done (Kubernetes: Garbage Collection,
// foreground cascading deletion).
func Deleting(job Object) bool {
	return child(job["metadata"], "deletionTimestamp") != nil
}

// UID returns the Job's metadata.uid, or "".
func UID(job Object) string { return metaText(job, "uid") }

// ResourceVersion returns the Job's metadata.resourceVersion, or "".
func ResourceVersion(job Object) string { return metaText(job, "resourceVersion") }

func metaText(object Object, key string) string {
	s, _ := child(object["metadata"], key).(string)
	return s
}

// firstDifference returns the path of the first value that is not the same in
// both, without the values: environment values have no place in a message.
func firstDifference(path string, want, have any) string {
	if equal(want, have) {
		return ""
	}
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return path
		}
		for _, key := range slices.Sorted(maps.Keys(merge(w, h))) {
			if p := firstDifference(join(path, key), w[key], h[key]); p != "" {
				return p
			}
		}
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			return path
		}
		for i := range w {
			if p := firstDifference(fmt.Sprintf("%s[%d]", path, i), w[i], h[i]); p != "" {
				return p
			}
		}
	}
	return path
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
