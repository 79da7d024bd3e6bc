package oneshot

import (
	"context"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// taken is a store in which another run is first with its intent. What else that
// run records comes later.
type taken struct {
	*stub
	then func(checkpoint.Binding) (checkpoint.Record, error)

	at time.Time
}

func (k *taken) Put(ctx context.Context, name string, record checkpoint.Record) error {
	if record.Step != checkpoint.Intent || !k.at.IsZero() {
		return k.stub.Put(ctx, name, record)
	}
	k.at = time.Now()
	if err := k.stub.Put(ctx, name, record); err != nil { // the other's is the same but for its time
		return err
	}
	return checkpoint.Differs(name, "storing the intent: %w", checkpoint.ErrTaken)
}

func (k *taken) Load(ctx context.Context, name string) (checkpoint.Records, error) {
	records, err := k.stub.Load(ctx, name)
	if err != nil || k.at.IsZero() || time.Since(k.at) < time.Second || k.then == nil {
		return records, err
	}
	e, err := contract.Derive(testCronJob(), testServiceAccount(), testPlan().Request)
	if err != nil {
		return nil, err
	}
	other, err := k.then(checkpoint.Bind(e))
	if err != nil {
		return nil, err
	}
	records[other.Step] = other
	return records, nil
}

// A run that comes second waits for the first one's Job, and then reads once
// more what that has recorded meanwhile.
func TestARunThatComesSecond(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		then    func(checkpoint.Binding) (checkpoint.Record, error)
		code    failure.Code
		outcome Outcome
		creates int
	}{
		{"the other one died", nil, "", Succeeded, 1},
		{"the other one's create got no answer", func(b checkpoint.Binding) (checkpoint.Record, error) { return b.Ambiguous(time.Now()) }, failure.DispatchAmbiguous, Unknown, 0},
		{"the other one's Job was there and is gone", func(b checkpoint.Binding) (checkpoint.Record, error) { return b.Dispatched() }, failure.JobVanishedAfterDispatch, Unknown, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newStub(succeeds)
			s.run(t, func(_ *Plan, e *Engine) { e.Store = &taken{stub: s, then: test.then} }, func(t *testing.T, r Result, err error) {
				wants(test.code, test.outcome)(t, r, err)
				if s.creates != test.creates {
					t.Errorf("%d creates were sent, want %d", s.creates, test.creates)
				}
			})
		})
	}
}
