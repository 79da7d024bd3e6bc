package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
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
	// kubectlPath and kubeloginPath are programs; kubeloginPath is "" when there is
	// none.
	kubectlPath, kubeloginPath string
	environment                Environment
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
	if err := b.prepareKubectl(ctx); err != nil {
		return result, err
	}
	if b.has(execution) {
		if err := b.prepare(ctx); err != nil {
			return result, err
		}
	}
	if b.has(credentials) {
		b.prepareKubelogin(ctx)
	}
	// What the building and the start left to do is not to be measured.
	if err := sleep(ctx, 5*time.Second); err != nil {
		return result, err
	}
	b.environment.LoadBefore = load()
	var figures []Figure
	if b.has(execution) {
		if figures, err = b.execute(ctx); err != nil {
			return result, err
		}
	}
	if b.has(credentials) {
		b.say("signing in, %d times", b.n)
		found, err := b.signIns(ctx)
		if err != nil {
			return result, err
		}
		figures = append(figures, found.figures()...)
	}
	if b.has(stores) {
		b.say("storing records, %d times", b.n)
		found, err := b.storing(ctx)
		if err != nil {
			return result, err
		}
		figures = append(figures, found.figures()...)
	}
	b.environment.LoadAfter = load()
	return Result{
		Schema: Schema, Measured: time.Now().UTC().Truncate(time.Second), Environment: b.environment,
		Rounds: o.n, WaitSeconds: o.wait.Seconds(), Figures: figures, Met: met(figures),
	}, err
}

// execute measures the running of Jobs.
func (b *bench) execute(ctx context.Context) ([]Figure, error) {
	spans, err := b.rounds(ctx)
	if err != nil {
		return nil, err
	}
	waits, err := b.waits(ctx)
	if err != nil {
		return nil, err
	}
	events, err := b.stage.Cluster.Audit(ctx, nil)
	if err != nil {
		return nil, err
	}
	return b.figures(spans, waits, events)
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
	if b.sequence, err = newKubectl(ctx, w, b.kubectlPath, "sequence", filepath.Join(w.Dir, "sequence")); err != nil {
		return err
	}
	b.createWait, err = newKubectl(ctx, w, b.kubectlPath, "create-wait", filepath.Join(w.Dir, "create-wait"))
	return err
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
	b.kubectlPath = path
	e.Kubectl, err = kubectlVersion(ctx, path)
	return err
}

// prepareKubelogin builds kubelogin, unless one is given. Where that cannot be, the
// action is measured alone.
func (b *bench) prepareKubelogin(ctx context.Context) {
	if b.kubelogin != "" {
		b.kubeloginPath, b.environment.Kubelogin = b.kubelogin, b.kubelogin
		return
	}
	b.say("building kubelogin, or taking the one that is there")
	path, version, err := buildKubelogin(ctx)
	if err != nil {
		b.say("kubectl with kubelogin is not measured: %v", err)
		return
	}
	b.kubeloginPath, b.environment.Kubelogin = path, version
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
