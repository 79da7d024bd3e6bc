package oneshot

import (
	"context"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// asleep is a store that stands still once, before it stores a step or after,
// while something happens elsewhere.
type asleep struct {
	*stub
	step      checkpoint.Step
	after     bool
	meanwhile func()

	slept bool
}

func (a *asleep) Put(ctx context.Context, name string, record checkpoint.Record) error {
	if a.slept || record.Step != a.step {
		return a.stub.Put(ctx, name, record)
	}
	a.slept = true
	if !a.after {
		a.meanwhile()
		return a.stub.Put(ctx, name, record)
	}
	err := a.stub.Put(ctx, name, record)
	a.meanwhile()
	return err
}

// What was read before a machine stood still is read again before anything is
// done because of it.
func TestWhatIsOldIsReadAgain(t *testing.T) {
	t.Parallel()
	// Meanwhile another attempt dispatched, and its Job is gone.
	elsewhere := func(s *stub) {
		time.Sleep(freshness + time.Second)
		for name := range s.world.records(s.folder) {
			e, err := contract.Derive(testCronJob(), testServiceAccount(), testPlan().Request)
			if err != nil {
				panic(err)
			}
			r, err := checkpoint.Bind(e).Dispatched()
			if err != nil {
				panic(err)
			}
			s.world.records(s.folder)[name][checkpoint.Dispatched] = r
		}
	}
	for name, test := range map[string]struct {
		step    checkpoint.Step
		after   bool
		happens bool
		code    failure.Code
		outcome Outcome
		creates int
	}{
		"before the intent":                       {checkpoint.Prepared, true, true, failure.JobVanishedAfterDispatch, Unknown, 0},
		"while the intent was stored":             {checkpoint.Intent, true, true, failure.JobVanishedAfterDispatch, Unknown, 0},
		"before the intent, and nothing happened": {checkpoint.Prepared, true, false, "", Succeeded, 1},
		"at the intent, and nothing happened":     {checkpoint.Intent, true, false, "", Succeeded, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStub(succeeds)
			a := &asleep{stub: s, step: test.step, after: test.after, meanwhile: func() { time.Sleep(freshness + time.Second) }}
			if test.happens {
				a.meanwhile = func() { elsewhere(s) }
			}
			s.run(t, func(_ *Plan, e *Engine) { e.Store = a }, func(t *testing.T, r Result, err error) {
				wants(test.code, test.outcome)(t, r, err)
				if s.creates != test.creates {
					t.Errorf("%d creates were sent, want %d", s.creates, test.creates)
				}
				if test.creates == 1 && r.Resumed {
					t.Error("a run resumed from its own intent")
				}
			})
		})
	}
}

// sluggish takes its time with each read of the records or the Job.
type sluggish struct {
	*stub
	load, job time.Duration
}

func (s *sluggish) Load(ctx context.Context, name string) (checkpoint.Records, error) {
	time.Sleep(s.load)
	return s.stub.Load(ctx, name)
}

func (s *sluggish) Job(ctx context.Context, namespace, name string) (contract.Object, error) {
	time.Sleep(s.job)
	return s.stub.Job(ctx, namespace, name)
}

// What is slow is not what stood still, and what is too slow is given up.
func TestASlowReadIsNoEndlessOne(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		load, job time.Duration
		code      failure.Code
		outcome   Outcome
		creates   int
	}{
		"a slow store":                 {20 * time.Second, 0, "", Succeeded, 1},
		"a slow API server":            {0, 6 * time.Second, "", Succeeded, 1},
		"a store that is far too slow": {2 * time.Minute, 0, failure.ReadbackFailed, Refused, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStub(succeeds)
			slow := &sluggish{stub: s, load: test.load, job: test.job}
			s.run(t, func(p *Plan, e *Engine) { p.Timeout, e.Store, e.Cluster = time.Hour, slow, slow }, func(t *testing.T, r Result, err error) {
				wants(test.code, test.outcome)(t, r, err)
				if s.creates != test.creates || r.Duration > 20*time.Minute {
					t.Errorf("%d creates were sent in %s, want %d", s.creates, r.Duration, test.creates)
				}
				if e, ok := err.(*failure.Error); err != nil && (!ok || e.Fix == "") { //nolint:errorlint // it must be nothing else
					t.Errorf("the error is %T and says nothing to do", err)
				}
			})
		})
	}
}
