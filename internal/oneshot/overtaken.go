package oneshot

import (
	"context"
	"time"
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

// awaitOther returns when the Job is there that another run is about to create,
// or did not come in the time that takes.
func (x *execution) awaitOther(ctx context.Context) error {
	for start := time.Now(); ; {
		switch job, err := x.readBack(ctx); {
		case err != nil:
			return err
		case job != nil, time.Since(start) > otherPatience, !slept(ctx, otherPause):
			return nil
		}
	}
}

// slept waits for d, and reports whether ctx lasted that long.
func slept(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
