package oneshot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// wait observes the Job until it ends, and records how.
func (x *execution) wait(ctx context.Context, job contract.Object) error {
	var ended contract.State
	observe := func(seen contract.Object) (more bool, err error) {
		job = seen
		ended, err = x.observe(seen)
		return err == nil && ended == contract.Running, err
	}
	more, err := observe(job)
	if more {
		x.notify(EventWaiting, "waiting for Job %s to end", x.Name)
		err = x.Cluster.WatchJob(ctx, x.Namespace, x.Name, job, observe)
	}
	if err == nil && ended == contract.Running {
		err = errors.New("the watch ended before the Job did")
	}
	if err != nil {
		return x.waitFailure(ctx, err)
	}
	evidence, err := contract.Evidence(job)
	if err != nil {
		return err
	}
	x.result.Evidence = evidence
	if err := x.put(x.binding.Terminal(ended, evidence)); err != nil {
		return err
	}
	x.notify(EventTerminal, "Job %s %s%s", x.Name, ended, reasons(evidence))
	return x.ended(ended)
}

// observe judges one state of the Job: still the one that was reviewed, still
// the one that was created, and how far it has come.
func (x *execution) observe(job contract.Object) (contract.State, error) {
	if job == nil {
		return "", failure.New(failure.JobVanished, "Job %s/%s was deleted before it ended; it is not created again", x.Namespace, x.Name)
	}
	if err := x.CheckJob(job); err != nil {
		return "", err
	}
	switch uid := contract.UID(job); {
	case x.result.JobUID == "":
		x.result.JobUID = uid
	case uid != "" && uid != x.result.JobUID:
		return "", failure.New(failure.JobVanished,
			"Job %s/%s was deleted before it ended and another one (uid %s instead of %s) has its name", x.Namespace, x.Name, uid, x.result.JobUID)
	}
	state, err := contract.StateOf(job)
	if err == nil && state == contract.Running && contract.Deleting(job) {
		return "", failure.New(failure.JobVanished, "Job %s/%s is being deleted before it ended; it is not created again", x.Namespace, x.Name)
	}
	return state, err
}

// waitFailure tells why the wait ended without an end of the Job.
func (x *execution) waitFailure(ctx context.Context, err error) error {
	var call *CallError
	if e := coded(err); e != nil && !errors.As(err, &call) {
		return e // what observe said
	}
	if x.stopped() == nil && ctx.Err() != nil {
		return failure.New(failure.DeadlineExceeded, "Job %s/%s had not ended when the time was up; it goes on", x.Namespace, x.Name).
			WithFix("See why it has not ended: kubectl -n %[1]s describe job %[2]s, and kubectl -n %[1]s describe pods -l job-name=%[2]s (image pull, quota, scheduling). "+
				"Then run again to resume waiting, or give a longer timeout", x.Namespace, x.Name)
	}
	return x.callFailure(failure.ReadbackFailed, err)
}

// maxReasons bounds what reasons tells, in bytes: it is the server's text. More
// than that is not told at all: who hides secrets in a text knows them whole.
const maxReasons = 500

// reasons tells the conditions of terminal evidence in a message.
func reasons(evidence contract.Object) string {
	var told []string
	conditions, _ := evidence["conditions"].([]any)
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["status"] != "True" {
			continue
		}
		text := fmt.Sprint(condition["type"])
		if reason, ok := condition["reason"].(string); ok && reason != "" {
			text += " (" + reason + ")"
		}
		told = append(told, text)
	}
	if len(told) == 0 {
		return ""
	}
	all := strings.Join(told, ", ")
	if len(all) > maxReasons {
		all = fmt.Sprintf("%d conditions of %d bytes", len(told), len(all))
	}
	return ": " + all
}
