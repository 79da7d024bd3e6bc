package cluster

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// WatchJob calls see with each state of the Job that it observes, as
// [oneshot.Cluster] has it.
//
// It never shows an older state after a newer one, although Kubernetes gives no
// order between what a watch and what a read return: each state that is shown
// comes either from a read that was sent after the last shown state had
// arrived, and reads are of the most recent state; or from a watch that began
// at the last shown state and is given up as soon as a read shows another.
// A read that a watch overtakes is thrown away. Versions are compared for
// equality only.
//
// A refusal (401, 403), a name that does not resolve or a certificate that is
// not trusted ends it: at once when the server never answered anything else,
// after a minute otherwise.
func (c *Client) WatchJob(ctx context.Context, namespace, name string, last contract.Object, see func(contract.Object) (bool, error)) error {
	w := &jobWatch{
		c: c, namespace: namespace, name: name, see: see,
		pauses: backoff{min: c.times.pauseMin, max: c.times.pauseMax},
		polls:  backoff{min: c.times.pollMin, max: c.times.pollMax},
	}
	if version := contract.ResourceVersion(last); version != "" {
		w.shown, w.from, w.next = stateOf(last), version, w.follow
	} else {
		w.next = w.read
	}
	for {
		err := w.next(ctx)
		if err != nil {
			err = w.mend(ctx, err)
		}
		var stop *stopped
		switch {
		case errors.As(err, &stop):
			return stop.err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		}
	}
}

// jobWatch is one call of WatchJob. Its steps, each of which chooses the next:
//
//	read ──► follow ◄──► follow        a watch ended in good order
//	  ▲        │ 410 ──► relist ──► follow
//	  │        │ refused ──► poll ──► read
//	  └────────┴─ anything else went wrong: pause, then read
type jobWatch struct {
	c               *Client
	namespace, name string
	see             func(contract.Object) (bool, error)

	// next is the step to take.
	next func(context.Context) error
	// shown is the last state that the caller saw, from the resourceVersion
	// that the next watch starts at.
	shown state
	from  string
	// news is when the server last told something of the Job, by an event or a
	// read: bookmarks and the ends of watches tell nothing.
	news time.Time

	// pauses come before something is tried again. failures counts how often
	// that was since the server last answered well, and refusedSince is when the
	// first refusal since then came.
	pauses       backoff
	failures     int
	refusedSince time.Time
	// polls are the pauses between reads while watching is refused, which is
	// not tried again before pollUntil.
	polls     backoff
	pollUntil time.Time
}

// state names one state of the Job: its uid and resourceVersion, or absence.
type state string

const absentState state = "absent"

func stateOf(job contract.Object) state {
	if job == nil {
		return absentState
	}
	return state(contract.UID(job) + "/" + contract.ResourceVersion(job))
}

// stopped is the end of the watch by what see said; err is what it returned.
type stopped struct{ err error }

func (*stopped) Error() string { return "stopped" }

// show shows a state unless it is the one that was shown last.
func (w *jobWatch) show(job contract.Object) error {
	if stateOf(job) == w.shown {
		return nil
	}
	w.shown, w.news = stateOf(job), time.Now()
	more, err := w.see(job)
	if err != nil || !more {
		return &stopped{err}
	}
	return nil
}

// well notes that the server answers as it should.
func (w *jobWatch) well() { w.failures, w.refusedSince = 0, time.Time{} }

// read shows the present state by a read, and watches from there.
func (w *jobWatch) read(ctx context.Context) error {
	// Each read that fails gives the next one more time: a server may be slow
	// rather than gone.
	job, err := w.get(ctx, min(w.c.times.proof<<min(w.failures, 8), w.c.times.request))
	if err != nil {
		return err
	}
	return w.begin(job)
}

// get returns the present state; a Job that is not there is nil.
func (w *jobWatch) get(ctx context.Context, timeout time.Duration) (contract.Object, error) {
	job, err := w.c.get(ctx, jobs, w.namespace, w.name, timeout)
	var call *oneshot.CallError
	if errors.As(err, &call) && call.Kind == oneshot.NotFound {
		return nil, nil
	}
	return job, err
}

// begin shows a state that was read and chooses how to go on from it.
func (w *jobWatch) begin(job contract.Object) error {
	w.well()
	w.news = time.Now()
	// A state that was shown already keeps the version that the last watch came
	// to, which is at least the Job's own and less likely to be too old.
	if stateOf(job) != w.shown || w.from == "" {
		w.from = contract.ResourceVersion(job)
	}
	switch {
	case time.Now().Before(w.pollUntil):
		w.next = w.poll
	case w.from == "":
		// What is not there has no version to watch from.
		w.next = w.relist
	default:
		w.next = w.follow
	}
	return w.show(job)
}

// relist shows the present state by a list, whose version is recent enough to
// watch from even when the Job's own is not, and there when the Job is not.
func (w *jobWatch) relist(ctx context.Context) error {
	list, err := w.c.do(ctx, call{
		verb: "list", resource: jobs, namespace: w.namespace, name: w.name,
		query: url.Values{"fieldSelector": {"metadata.name=" + w.name}},
	}, w.c.times.request)
	if err != nil {
		return err
	}
	w.well()
	var job contract.Object
	items, _ := list["items"].([]any)
	for _, item := range items {
		// Items of a list leave out what the list's own kind says.
		if m, ok := item.(map[string]any); ok {
			m["apiVersion"], m["kind"] = "batch/v1", jobs.kind
			if w.is(m) {
				job = m
			}
		}
	}
	w.from, w.next, w.news = contract.ResourceVersion(list), w.follow, time.Now()
	return w.show(job)
}

// is reports whether an object is the Job in question.
func (w *jobWatch) is(object contract.Object) bool {
	return call{resource: jobs, namespace: w.namespace, name: w.name}.answeredBy(object)
}

// poll waits and reads, where watching is refused.
func (w *jobWatch) poll(ctx context.Context) error {
	if err := network.Sleep(ctx, w.polls.step()); err != nil {
		return err
	}
	return w.read(ctx)
}

// mend decides what follows on a step that went wrong, after a pause: nil means
// that the next step is set, an error that no step would help.
func (w *jobWatch) mend(ctx context.Context, err error) error {
	var call *oneshot.CallError
	if ctx.Err() != nil || !errors.As(err, &call) {
		return err
	}
	t, refused := w.c.times, !call.Temporary()
	switch {
	case expired(err):
		w.next = w.relist
		return network.Sleep(ctx, w.pauses.step())
	case refused && call.Verb != "get" && call.Status/100 == 4 && call.Status != http.StatusUnauthorized:
		w.c.tell("Job %s/%s is read every %s instead of being watched: %s", w.namespace, w.name, t.pollMax, inShort(call))
		w.pollUntil, w.next = time.Now().Add(t.rewatch), w.poll
		return nil
	case refused && w.refusedSince.IsZero():
		w.refusedSince = time.Now()
	}
	if refused && (!w.c.answered.Load() || time.Since(w.refusedSince) >= t.patience) {
		return err
	}
	w.failures++
	if call.Status != 0 {
		// The server objected, perhaps to the version: after a restore from a
		// backup it may not have come that far.
		w.from = ""
	}
	if call.Kind == oneshot.TimedOut || call.Kind == oneshot.Unavailable {
		// Another connection may lead to a server that is better off.
		w.c.conns.renew()
	}
	w.c.tell("waiting for Job %s/%s, trying again: %s", w.namespace, w.name, inShort(call))
	w.next = w.read
	return network.Sleep(ctx, max(w.pauses.step(), min(call.RetryAfter, t.patience)))
}
