package oneshot

import (
	"context"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// overtaken says that another run has, or may have, recorded or done something
// about the same execution since this one read the records. They are read once
// more, and this run goes on from what they say then.
type overtaken struct {
	why error
	// first says that the other run was first with its intent.
	first bool
}

func (o *overtaken) Error() string { return o.why.Error() }
func (o *overtaken) Unwrap() error { return o.why }

// freshness is how old what was read may be when something is done because of
// it. Usually that takes well under a second; a store or a machine that stood
// still meanwhile makes it longer, and in that time another attempt may have
// created the Job, seen its end and lost it.
const freshness = 5 * time.Second

// upToDate returns an [*overtaken] when what was read is too old to act on. Once a
// create was sent that may have had its effect, its own rules hold.
func (x *execution) upToDate() error {
	now := x.now()
	// As in window.open: a machine may have been suspended, or its clock set.
	age := max(now.Sub(x.readAt), now.Round(0).Sub(x.readAt.Round(0)))
	if x.exposure == sent || age <= freshness {
		return nil
	}
	return &overtaken{why: failure.New(failure.ReadbackFailed,
		"%s have passed since it was read whether Job %s/%s was dispatched, at most %s may", age.Round(time.Second), x.Namespace, x.Name, freshness)}
}

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
