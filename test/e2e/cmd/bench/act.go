package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"syscall"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// step is a step of the scenario with a purpose of its own, and so a Job of its
// own, that does what the arguments say.
func step(s *harness.Scenario, purpose string, args ...string) harness.Step {
	inputs := maps.Clone(s.Inputs)
	inputs["purpose"], inputs["args"], inputs["timeout"] = purpose, "", "10m"
	for _, a := range args {
		inputs["args"] += a + "\n"
	}
	return harness.Step{Inputs: inputs}
}

// act runs a step with the runner, and fails unless the Job succeeded. A process
// that is under way when ctx ends is told to stop.
func (b *bench) act(ctx context.Context, r *harness.Runner, s harness.Step) (harness.Ended, error) {
	run, err := r.Start(context.WithoutCancel(ctx), s)
	if err != nil {
		return harness.Ended{}, err
	}
	stop := context.AfterFunc(ctx, func() {
		_ = run.Signal(syscall.SIGTERM) // The process may just have ended.
	})
	defer stop()
	ended, err := run.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil && ended.Status != 0 {
		err = fmt.Errorf("the action ended with status %d:\n%s", ended.Status, ended.Log())
	}
	return ended, err
}

// actMeasured is act, and returns the peak memory in bytes.
func (b *bench) actMeasured(ctx context.Context, s harness.Step, name string) (harness.Ended, float64, error) {
	file := filepath.Join(b.stage.World.Dir, "usage-"+name)
	s.Args = []string{file, b.stage.Program}
	ended, err := b.act(ctx, &harness.Runner{Program: b.meter, Dir: b.stage.World.Dir}, s)
	if err != nil {
		return ended, 0, err
	}
	peak, err := readPeak(file)
	return ended, peak, err
}

// manifest writes the manifest of a Job as a script has it: the template's Job
// under a name, with other arguments.
func (b *bench) manifest(ctx context.Context, s *harness.Scenario, name string, args ...any) (string, error) {
	cronJob, err := b.stage.World.API.Get(ctx, s.CronJobPath())
	if err != nil {
		return "", err
	}
	template, _ := harness.Member(cronJob, "spec", "jobTemplate").(map[string]any)
	containers, _ := harness.Member(template, "spec", "template", "spec", "containers").([]any)
	if len(containers) != 1 {
		return "", fmt.Errorf("CronJob %s has %d containers, want 1", s.Name, len(containers))
	}
	if container, ok := containers[0].(map[string]any); ok {
		container["args"] = args
	}
	data, err := json.Marshal(map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "spec": template["spec"],
		"metadata": map[string]any{
			"name": name, "namespace": harness.Namespace, "labels": harness.Member(template, "metadata", "labels"),
		},
	})
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.stage.World.Dir, name+".json")
	return path, os.WriteFile(path, data, 0o600)
}
