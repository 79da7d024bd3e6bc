package main

import (
	"context"
	"fmt"
	"time"
)

// The ways to run a Job.
const (
	byAction = iota
	byKubectl
	byCreateWait
	ways
)

// span is one run of a Job in one of the ways.
type span struct {
	way int
	job string
	// began and ended are those of the processes, terminal is when the Job's end
	// was seen.
	began, ended, terminal time.Time
	// again is how long it took to find out once more what there is to know of
	// the Job, 0 for the way that does not.
	again time.Duration
}

const (
	// settle is the pause after each run, for what the cluster still has to do.
	settle = 700 * time.Millisecond
	// spread is how much longer the Job of the last round works than that of the
	// first: the interval at which kubectl polls. Over the rounds a poll then
	// comes at any time after the end, as it would.
	spread = pollInterval
)

// rounds runs a Job in each of the ways, again and again, and in turn begins
// with another one. The first round warms up what is cached and is not counted.
func (b *bench) rounds(ctx context.Context) ([]span, error) {
	var spans []span
	for n := range b.n + 1 {
		work := time.Second + time.Duration(max(n-1, 0))*spread/time.Duration(b.n)
		what := fmt.Sprintf("round %d of %d", n, b.n)
		if n == 0 {
			what = "warming up"
		}
		b.say("%s: a Job that works %.1f s", what, work.Seconds())
		for i := range ways {
			s, err := b.span(ctx, (n+i)%ways, n, work)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", what, err)
			}
			if n > 0 {
				spans = append(spans, s)
			}
		}
	}
	return spans, nil
}

func (b *bench) span(ctx context.Context, way, n int, work time.Duration) (span, error) {
	run := map[int]func(context.Context, int, time.Duration) (span, error){
		byAction: b.spanOfAction, byKubectl: b.spanOfKubectl, byCreateWait: b.spanOfCreateWait,
	}[way]
	s, err := run(ctx, n, work)
	if err != nil {
		return s, err
	}
	s.way = way
	if s.terminal, err = b.observer.end(ctx, s.job); err != nil {
		return s, err
	}
	return s, sleep(ctx, settle)
}

func (b *bench) spanOfAction(ctx context.Context, n int, work time.Duration) (span, error) {
	step := step(b.plain, fmt.Sprintf("bench-%d", n), "sleep", work.String())
	ended, err := b.act(ctx, b.stage.Runner, step)
	if err != nil {
		return span{}, err
	}
	s := span{job: ended.Outputs["job-name"], began: ended.Began, ended: ended.Began.Add(ended.Took)}
	if ended.Outputs["dispatched"] != "true" || s.job == "" {
		return s, fmt.Errorf("the action created no Job:\n%s", ended.Log())
	}
	if err := sleep(ctx, settle); err != nil {
		return s, err
	}
	again, err := b.act(ctx, b.stage.Runner, step)
	if err == nil && (again.Outputs["resumed"] != "true" || again.Outputs["dispatched"] != "false") {
		err = fmt.Errorf("the action did not repeat what is recorded:\n%s", again.Log())
	}
	s.again = again.Took
	return s, err
}

func (b *bench) spanOfKubectl(ctx context.Context, n int, work time.Duration) (s span, err error) {
	s.job = fmt.Sprintf("kubectl-%d", n)
	manifest, err := b.manifest(ctx, b.plain, s.job, "sleep", work.String())
	if err != nil {
		return s, err
	}
	s.began = time.Now()
	if err = b.sequence.sequence(ctx, b.plain.Name, s.job, manifest); err != nil {
		return s, err
	}
	s.ended = time.Now()
	if err := sleep(ctx, settle); err != nil {
		return s, err
	}
	begin := time.Now()
	err = b.sequence.look(ctx, b.plain.Name, s.job)
	s.again = time.Since(begin)
	return s, err
}

// spanOfCreateWait runs the Job as the template has it: kubectl create job takes
// no other arguments.
func (b *bench) spanOfCreateWait(ctx context.Context, n int, _ time.Duration) (s span, err error) {
	s.job = fmt.Sprintf("create-wait-%d", n)
	s.began = time.Now()
	err = b.createWait.createAndWait(ctx, b.plain.Name, s.job)
	s.ended = time.Now()
	return s, err
}
