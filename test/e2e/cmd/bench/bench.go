package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// bench has what all measurements share.
type bench struct {
	options
	log   io.Writer
	stage *harness.Stage
	// meter is the program that measures memory.
	meter    string
	observer *observer
	// plain is the template of the rounds, long one whose own arguments wait.
	plain, long *harness.Scenario
	// other has the same template as plain and another user: what it does is
	// not counted.
	other *harness.Scenario
	// sequence and createWait are the kubectls of the two other ways.
	sequence, createWait *kubectl
	environment          Environment
}

// measure sets everything up, measures, and takes everything away.
func measure(ctx context.Context, o options, log io.Writer) (result Result, err error) {
	b := &bench{options: o, log: log, environment: newEnvironment()}
	if b.environment.busy() {
		b.say("the load of this machine is %.1f: the times will say little", b.environment.LoadBefore)
	}
	if b.stage, err = harness.NewStage(ctx, log); err != nil {
		return result, err
	}
	defer func() {
		if closeErr := b.stage.Close(ctx); closeErr != nil {
			b.say("not everything could be removed: %v", closeErr)
			err = errors.Join(err, closeErr)
		}
	}()
	if err := b.prepare(ctx); err != nil {
		return result, err
	}
	// What the building and the start left to do is not to be measured.
	if err := sleep(ctx, 5*time.Second); err != nil {
		return result, err
	}
	b.environment.LoadBefore = load()
	spans, err := b.rounds(ctx)
	if err != nil {
		return result, err
	}
	waits, err := b.waits(ctx)
	if err != nil {
		return result, err
	}
	b.environment.LoadAfter = load()
	events, err := b.stage.Cluster.Audit(ctx, nil)
	if err != nil {
		return result, err
	}
	figures, err := b.figures(spans, waits, events)
	return Result{
		Schema: Schema, Measured: time.Now().UTC().Truncate(time.Second), Environment: b.environment,
		Rounds: o.n, WaitSeconds: o.wait.Seconds(), Figures: figures, Met: met(figures),
	}, err
}

func (b *bench) say(format string, args ...any) { _, _ = fmt.Fprintf(b.log, format+"\n", args...) }

func (b *bench) prepare(ctx context.Context) (err error) {
	w := b.stage.World
	if b.plain, err = w.Scenario(ctx, harness.Template{Name: "bench", Suspended: true}); err != nil {
		return err
	}
	if b.other, err = w.Scenario(ctx, harness.Template{Name: "other", Suspended: true}); err != nil {
		return err
	}
	wait := func(cronJob harness.Object) {
		pod := harness.Member(cronJob, "spec", "jobTemplate", "spec", "template", "spec")
		containers, _ := harness.Member(pod, "containers").([]any)
		for _, c := range containers {
			if container, ok := c.(map[string]any); ok {
				container["args"] = []any{"sleep", b.longSleep().String()}
			}
		}
	}
	if b.long, err = w.Scenario(ctx, harness.Template{Name: "long", Suspended: true, Edit: wait}); err != nil {
		return err
	}
	if b.observer, err = observe(ctx, w.API); err != nil {
		return err
	}
	if b.meter, err = buildMeasure(ctx, w.Dir); err != nil {
		return err
	}
	return b.prepareKubectl(ctx)
}

func (b *bench) prepareKubectl(ctx context.Context) error {
	w, e := b.stage.World, &b.environment
	version, err := w.API.Get(ctx, "/version")
	if err != nil {
		return err
	}
	e.Kubernetes, _ = version["gitVersion"].(string)
	e.Node = "kwok"
	if w.Cluster.RealNode() {
		e.Node = "kubelet"
	}
	path := b.kubectl
	e.KubectlFrom = path
	if path == "" {
		b.say("building kubectl %s", e.Kubernetes)
		if path, err = buildKubectl(ctx, w.Dir, e.Kubernetes); err != nil {
			return err
		}
		e.KubectlFrom = "built for this"
	}
	if b.sequence, err = newKubectl(ctx, w, path, "sequence", filepath.Join(w.Dir, "sequence")); err != nil {
		return err
	}
	if b.createWait, err = newKubectl(ctx, w, path, "create-wait", filepath.Join(w.Dir, "create-wait")); err != nil {
		return err
	}
	e.Kubectl, err = b.sequence.version(ctx)
	return err
}

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

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
