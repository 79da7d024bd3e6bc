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
