package main

import (
	"context"
	"fmt"
	"maps"
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
	s.Inputs["checkpoint-stores"] = "cluster"
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
		title:  "3. … and its re-run on another runner",
		about:  "the same step after that, where nothing is left of the first runner's files. It finds the record in the cluster, and the Job, and waits for that one instead of another.",
		before: func(context.Context) error { return p.scenario.Move() },
		inputs: repair,
		want: want{
			outputs: map[string]string{
				"outcome": "succeeded", "reason": "", "dispatched": "false", "resumed": "true", "resumed-from": "cluster, attempt 1", "checkpoints-stored": "true",
			},
			jobs: 2, log: []string{"adopted"},
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
