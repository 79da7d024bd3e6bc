package oneshot

import (
	"context"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// overtaken says that another run works on the same execution, and has recorded
// or done something since this one read the records. They are read once more,
// and this run goes on from what they say then.
type overtaken struct{ why error }

func (o *overtaken) Error() string { return o.why.Error() }
func (o *overtaken) Unwrap() error { return o.why }

const (
	// otherPatience is how long a run that came second waits for the Job that the
	// first one recorded that it would create. A run that lives takes a fraction of
	// a second for that; after one that does not, this run resumes.
	otherPatience = 5 * time.Second
	otherPause    = 250 * time.Millisecond
)

// awaitOther returns the Job that another run is about to create, or nil when it
// did not in the time it takes.
func (x *execution) awaitOther(ctx context.Context) (contract.Object, error) {
	for start := time.Now(); ; {
		if wait(ctx, otherPause) != nil || time.Since(start) > otherPatience {
			return nil, nil
		}
		if job, err := x.readBack(ctx); job != nil || err != nil {
			return job, err
		}
	}
}

// wait returns after d, or ctx's cause when that ends first.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
