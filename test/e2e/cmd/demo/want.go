package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// want is how an act has to end.
type want struct {
	// status is the exit status; of a killed process it is -1.
	status int
	// outputs are some of the step's; none of a killed process.
	outputs map[string]string
	// jobs is how many Jobs have been created in the cluster by then.
	jobs int
	// log are texts in the log.
	log []string
}

// shownOutputs are the outputs that tell how a run went, in the order in which
// they are told.
var shownOutputs = []string{"outcome", "reason", "dispatched", "resumed", "resumed-from", "job-name"}

// seen says what was seen of a run.
func seen(e harness.Ended, jobs int) string {
	parts := []string{fmt.Sprintf("exit status %d", e.Status)}
	if e.Signal != 0 {
		parts = []string{"ended by " + signalName(e.Signal)}
	}
	for _, name := range shownOutputs {
		if value := e.Outputs[name]; value != "" {
			parts = append(parts, name+"="+value)
		}
	}
	if len(e.Outputs) == 0 {
		parts = append(parts, "no outputs")
	}
	parts = append(parts, fmt.Sprintf("%.1f s", e.Took.Seconds()))
	return fmt.Sprintf("%s. Jobs created in the cluster so far: %d, by the API server's audit log.", strings.Join(parts, ", "), jobs)
}

func signalName(s syscall.Signal) string {
	if s == syscall.SIGKILL {
		return "SIGKILL"
	}
	return s.String()
}

// differences says how a run did not end as wanted.
func (w want) differences(e harness.Ended, jobs int) []string {
	var wrong []string
	differ := func(what string, have, want any) {
		if have != want {
			wrong = append(wrong, fmt.Sprintf("%s is %v, want %v", what, have, want))
		}
	}
	differ("the exit status", e.Status, w.status)
	differ("killed", e.Signal == syscall.SIGKILL, w.status == -1)
	for _, name := range slices.Sorted(maps.Keys(w.outputs)) {
		value, ok := e.Outputs[name]
		if !ok {
			wrong = append(wrong, fmt.Sprintf("the output %s is not set", name))
			continue
		}
		differ("the output "+name, fmt.Sprintf("%q", value), fmt.Sprintf("%q", w.outputs[name]))
	}
	if w.outputs == nil {
		differ("the number of outputs", len(e.Outputs), 0)
	}
	differ("the number of Jobs created", jobs, w.jobs)
	for _, text := range w.log {
		if !strings.Contains(e.Log(), text) {
			wrong = append(wrong, fmt.Sprintf("the log has no %q", text))
		}
	}
	return wrong
}
