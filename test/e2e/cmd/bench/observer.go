package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// observer watches the Jobs of the namespace and notes when it learns of an end.
// The times that Kubernetes itself writes down are whole seconds.
type observer struct {
	mu    sync.Mutex
	ended map[string]time.Time
	err   error
	more  chan struct{} // closed with the next change
}

// observe begins to watch, and returns when it does.
func observe(ctx context.Context, api *harness.API) (*observer, error) {
	o := &observer{ended: map[string]time.Time{}, more: make(chan struct{})}
	ready := make(chan struct{})
	go func() {
		path := "/apis/batch/v1/namespaces/" + harness.Namespace + "/jobs"
		err := api.Watch(ctx, path, func() { close(ready) }, func(_ string, job harness.Object) {
			if now := time.Now(); terminal(job) {
				o.note(harness.JobName(job), now)
			}
		})
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = fmt.Errorf("observing the Jobs: %w", err)
		o.changed()
	}()
	select {
	case <-ready:
		return o, nil
	case <-o.change():
		return nil, o.err
	}
}

// terminal reports whether a Job has a condition that it ends with.
func terminal(job harness.Object) bool {
	conditions, _ := harness.Member(job, "status", "conditions").([]any)
	for _, c := range conditions {
		kind := harness.Member(c, "type")
		if (kind == "Complete" || kind == "Failed") && harness.Member(c, "status") == "True" {
			return true
		}
	}
	return false
}

func (o *observer) note(job string, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.ended[job]; !known {
		o.ended[job] = now
		o.changed()
	}
}

// changed wakes those who wait; o is locked.
func (o *observer) changed() {
	close(o.more)
	o.more = make(chan struct{})
}

func (o *observer) change() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.more
}

// end returns when the end of a Job was seen, waiting for it.
func (o *observer) end(ctx context.Context, job string) (time.Time, error) {
	for {
		o.mu.Lock()
		at, known := o.ended[job]
		err, more := o.err, o.more
		o.mu.Unlock()
		if known || err != nil {
			return at, err
		}
		select {
		case <-ctx.Done():
			return at, fmt.Errorf("waiting for the end of Job %s: %w", job, context.Cause(ctx))
		case <-more:
		}
	}
}
