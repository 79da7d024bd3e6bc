package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// template is the CronJob of the demonstration.
const template = "inventory"

// play has the acts and what they share.
type play struct {
	out      *screen
	scenario *harness.Scenario
}

func newPlay(ctx context.Context, w *harness.World, out *screen) (*play, error) {
	s, err := w.Scenario(ctx, harness.Template{Name: template, Suspended: true})
	if err != nil {
		return nil, err
	}
	s.Inputs["require-suspended"] = "true"
	s.Inputs["args"] = "print\nsynchronized\n--\nsleep\n2s\n"
	return &play{out: out, scenario: s}, nil
}

// act is one run of the action.
type act struct {
	title, about string
	// before prepares the act, and may be nil.
	before func(context.Context) error
	// inputs are different from those of the first run.
	inputs map[string]string
	// killAt is a text in the log at which the process is killed, or "".
	killAt string
	want   want
}

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

func (p *play) acts() []act {
	repair := map[string]string{"purpose": template + "-repair", "args": "sleep\n6s\n"}
	return []act{{
		title: "1. A first run",
		about: "a workflow runs the step for the first time. One Job is created from the CronJob, and waited for.",
		want: want{
			outputs: map[string]string{"outcome": "succeeded", "reason": "", "dispatched": "true", "resumed": "false"},
			jobs:    1, log: []string{"verified", "recorded: dispatch-intent", "created Job "},
		},
	}, {
		title: "2. The same step again",
		about: "somebody re-runs the workflow. The end of the Job is on record: it is repeated, and nothing is created.",
		want: want{
			outputs: map[string]string{"outcome": "succeeded", "reason": "", "dispatched": "false", "resumed": "true"},
			jobs:    1, log: []string{"replayed"},
		},
	}, {
		title:  "3. A run that is killed after the dispatch",
		about:  "other work (another purpose), and the runner dies with SIGKILL as soon as the Job is dispatched.",
		inputs: repair, killAt: "  dispatched  ",
		want: want{status: -1, jobs: 2, log: []string{"recorded: dispatch-intent", "created Job "}},
	}, {
		title:  "3. … and its re-run",
		about:  "the same step after that. It finds the record and the Job, and waits for that one instead of another.",
		inputs: repair,
		want: want{
			outputs: map[string]string{"outcome": "succeeded", "reason": "", "dispatched": "false", "resumed": "true"},
			jobs:    2, log: []string{"adopted"},
		},
	}, {
		title:  "4. A template that is not what was reviewed",
		about:  "somebody gave the CronJob a higher memory limit. The step still has the pins of the review: it refuses.",
		before: p.drift,
		inputs: map[string]string{"purpose": template + "-next"},
		want: want{
			status:  3,
			outputs: map[string]string{"outcome": "refused", "reason": "template-drift", "dispatched": "false", "job-uid": ""},
			jobs:    2, log: []string{"template-drift"},
		},
	}}
}

// drift changes the CronJob as nobody reviewed it.
func (p *play) drift(ctx context.Context) error {
	path := p.scenario.CronJobPath()
	cronJob, err := p.scenario.World.API.Get(ctx, path)
	if err != nil {
		return err
	}
	pod := harness.Member(cronJob, "spec", "jobTemplate", "spec", "template", "spec")
	containers, _ := harness.Member(pod, "containers").([]any)
	if len(containers) != 1 {
		return fmt.Errorf("CronJob %s has %d containers, want 1", template, len(containers))
	}
	limits, ok := harness.Member(containers[0], "resources", "limits").(map[string]any)
	if !ok {
		return fmt.Errorf("CronJob %s has no limits", template)
	}
	limits["memory"] = "1Gi"
	return p.scenario.World.API.Patch(ctx, path, map[string]any{"spec": cronJob["spec"]})
}

// perform does an act, shows it, and fails unless it ends as it should.
func (p *play) perform(ctx context.Context, a act) error {
	p.out.header(a.title, a.about)
	if a.before != nil {
		if err := a.before(ctx); err != nil {
			return err
		}
	}
	step := harness.Step{Inputs: maps.Clone(p.scenario.Inputs)}
	maps.Copy(step.Inputs, a.inputs)
	ended, err := p.run(ctx, step, a.killAt)
	if err != nil {
		return err
	}
	// What the process said before it was told to stop is no verdict on it.
	if err := context.Cause(ctx); err != nil {
		return err
	}
	p.out.summary(ended.Summary)
	creates, err := p.scenario.World.Creates(ctx)
	if err != nil {
		return err
	}
	wrong := a.want.differences(ended, len(creates))
	p.out.seen(seen(ended, len(creates)), wrong)
	if len(wrong) > 0 {
		return fmt.Errorf("it did not end as it should: %s", strings.Join(wrong, "; "))
	}
	return nil
}

// run runs a step and shows its log as it comes.
func (p *play) run(ctx context.Context, step harness.Step, killAt string) (harness.Ended, error) {
	run, err := p.scenario.World.Runner.Start(ctx, step)
	if err != nil {
		return harness.Ended{}, err
	}
	view := &logView{style: p.out.style}
	var shown sync.WaitGroup
	shown.Go(func() {
		run.Follow(func(line string) {
			for _, l := range view.show(line) {
				p.out.log(l)
			}
		})
	})
	var waitErr error
	if killAt != "" {
		if waitErr = run.WaitFor(ctx, killAt); waitErr == nil {
			waitErr = run.Signal(syscall.SIGKILL)
		}
	}
	ended, err := run.Wait()
	shown.Wait()
	if waitErr != nil {
		return ended, waitErr
	}
	return ended, err
}

// shownOutputs are the outputs that tell how a run went, in the order in which
// they are told.
var shownOutputs = []string{"outcome", "reason", "dispatched", "resumed", "job-name"}

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
