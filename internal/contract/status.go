package contract

import (
	"fmt"
	"slices"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// State is how far a Job has come.
type State string

// The states of a Job.
const (
	Running   State = "running"
	Succeeded State = "succeeded"
	Failed    State = "failed"
)

// StateOf reads a Job's state off its status.
//
// The terminal conditions decide: Complete with exactly one success, or Failed.
// Since Kubernetes 1.31 SuccessCriteriaMet and FailureTarget come first; they
// are interim and do not count. In this dialect a failed count above the
// backoff limit is a failure too. A status that contradicts itself is
// status-inconsistent, one of the wrong shape config-invalid.
func StateOf(job any) (State, error) {
	inconsistent := func(field, format string, args ...any) (State, error) {
		return "", failure.New(failure.StatusInconsistent, format, args...).At(field)
	}
	r := &reader{}
	object := r.object(job, "Job")
	var status map[string]any
	if v, present := object["status"]; present {
		status = r.object(v, "status")
	}
	complete, failed := false, false
	for _, condition := range r.objects(status, "conditions", "status") {
		if condition["status"] != "True" {
			continue
		}
		switch condition["type"] {
		case "Complete":
			complete = true
		case "Failed":
			failed = true
		}
	}
	if err := r.failure(failure.ConfigInvalid); err != nil {
		return "", err
	}
	counts := map[string]int{}
	for _, key := range []string{"failed", "succeeded"} {
		v, present := status[key]
		n, ok := integer(v)
		if present && (!ok || n < 0) {
			return inconsistent("status."+key, "is %s, want a count", show(v))
		}
		counts[key] = n
	}
	switch {
	case complete && failed:
		return inconsistent("status.conditions", "both Complete and Failed are true")
	case complete && counts["succeeded"] == 1:
		return Succeeded, nil
	case complete || counts["succeeded"] > 1:
		return inconsistent("status.succeeded", "is %d with Complete %t; exactly one success makes a complete Job", counts["succeeded"], complete)
	case failed:
		return Failed, nil
	}
	if v := object["spec"]; v != nil {
		spec := r.object(v, "spec")
		limit, ok := integer(spec["backoffLimit"])
		if r.err == nil && (!ok || limit < 0) {
			r.fail("spec.backoffLimit", "is %s, want a count", show(spec["backoffLimit"]))
		}
		if err := r.failure(failure.ConfigInvalid); err != nil {
			return "", err
		}
		if counts["failed"] > limit {
			return Failed, nil
		}
	}
	return Running, nil
}

// Evidence returns what a terminal record keeps of a Job's status: conditions
// (type, status, reason), counts and the completion time.
func Evidence(job Object) (Object, error) {
	r := &reader{}
	status := r.object(job["status"], "status")
	conditions := []any{}
	for i, condition := range r.objects(status, "conditions", "status") {
		path := fmt.Sprintf("status.conditions[%d]", i)
		kept := map[string]any{
			"type":   r.text(condition, "type", path),
			"status": r.text(condition, "status", path),
		}
		if reason, ok := condition["reason"].(string); ok {
			kept["reason"] = reason
		}
		conditions = append(conditions, kept)
	}
	if err := r.failure(failure.StatusInconsistent); err != nil {
		return nil, err
	}
	slices.SortStableFunc(conditions, func(a, b any) int {
		return compareFields(a, b, "type", "status")
	})
	return Object{
		"conditions":      conditions,
		"succeeded":       count(status, "succeeded"),
		"failed":          count(status, "failed"),
		"completion_time": status["completionTime"],
	}, nil
}

func count(status map[string]any, key string) any {
	return defaulted(status, key, 0)
}

func compareFields(a, b any, keys ...string) int {
	for _, key := range keys {
		x, _ := child(a, key).(string)
		y, _ := child(b, key).(string)
		if x != y {
			if x < y {
				return -1
			}
			return 1
		}
	}
	return 0
}
