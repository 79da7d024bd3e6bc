package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// waits is what was measured while Jobs took their time.
type waits struct {
	// jobs are those that were waited for, by the way.
	jobs [ways]string
	// peaks are the peak memories in bytes, by the way: one for each run, where
	// kubectl's is the largest of its processes.
	peaks [ways][]float64
}

// longSleep is how long the Jobs work that are waited for: longer than what is
// counted, by what it takes to get there.
func (b *bench) longSleep() time.Duration { return b.wait + 15*time.Second }

// waits runs a Job in each of the ways at the same time, and meanwhile measures
// the memory of more runs of the action. Neither requests nor memory depend on
// what else is going on.
func (b *bench) waits(ctx context.Context) (waits, error) {
	b.say("waiting %s for a Job in each of the ways, and measuring memory", b.wait)
	var w waits
	w.jobs[byKubectl], w.jobs[byCreateWait] = "kubectl-wait", "create-wait-wait"
	manifest, err := b.manifest(ctx, b.plain, w.jobs[byKubectl], "sleep", b.longSleep().String())
	if err != nil {
		return w, err
	}
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error {
		ended, peak, err := b.actMeasured(ctx, step(b.plain, "bench-wait", "sleep", b.longSleep().String()), "wait")
		w.jobs[byAction] = ended.Outputs["job-name"]
		if err != nil {
			return err
		}
		peaks := []float64{peak}
		// One after the other, beside the Job that is waited for.
		for n := range b.n - 1 {
			name := fmt.Sprintf("other-%d", n)
			if _, peak, err = b.actMeasured(ctx, step(b.other, name, "print", "done"), name); err != nil {
				return err
			}
			peaks = append(peaks, peak)
		}
		w.peaks[byAction] = peaks
		return nil
	})
	all.Go(func() error {
		k := b.measured(b.sequence, "kubectl")
		err := k.sequence(ctx, b.plain.Name, w.jobs[byKubectl], manifest)
		w.peaks[byKubectl] = []float64{k.peak}
		return err
	})
	all.Go(func() error {
		k := b.measured(b.createWait, "create-wait")
		err := k.createAndWait(ctx, b.long.Name, w.jobs[byCreateWait])
		w.peaks[byCreateWait] = []float64{k.peak}
		return err
	})
	return w, all.Wait()
}

// measured returns a kubectl whose peak memory is measured.
func (b *bench) measured(k *kubectl, name string) *kubectl {
	m := *k
	m.meter, m.usage = b.meter, filepath.Join(b.stage.World.Dir, "usage-"+name)
	return &m
}
