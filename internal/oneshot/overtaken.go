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

const (
	// freshness is how old what was read may be when something is done because of
	// it. Usually that takes well under a second; a store or a machine that stood
	// still meanwhile makes it longer, and in that time another attempt may have
	// created the Job, seen its end and lost it.
	freshness = 5 * time.Second
	// reading is how long the reading itself may take. What is slow is not what
	// stood still, and within this no Job ends and is removed by its TTL that was
	// not there when the reading began.
	reading = absenceMargin
	// maxReadings bounds how often it is read again.
	maxReadings = 4
)

// upToDate returns an [*overtaken] when what was read is too old to act on. Once a
// create was sent that may have had its effect, its own rules hold.
func (x *execution) upToDate() error {
	if x.exposure == sent {
		return nil
	}
	// As in window.open: a machine may have been suspended, or its clock set.
	now := x.now()
	age := func(at time.Time) time.Duration { return max(now.Sub(at), now.Round(0).Sub(at.Round(0))) }
	if age(x.readTo) <= freshness && age(x.readFrom) <= reading {
		return nil
	}
	return &overtaken{why: failure.New(failure.ReadbackFailed,
		"%s have passed since it began to be read whether Job %s/%s was dispatched, and %s since that was done: what was read may no longer be so",
		age(x.readFrom).Round(time.Second), x.Namespace, x.Name, age(x.readTo).Round(time.Second)).
		WithFix("Nothing was dispatched by this run. See in the log whether a store or the API server is slow, or whether this machine stood still, and run again")}
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
