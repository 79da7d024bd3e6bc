package harness

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// JobLog knows every Job that was ever there in a cluster, from a watch.
//
// The audit log says less: of a create whose client was killed before the
// answer it has the failure to answer, whether or not the Job was stored.
type JobLog struct {
	api *API

	mu   sync.Mutex
	jobs map[string]string // names by uid
	more chan struct{}     // closed with the next change
	from string            // the resourceVersion that was come to
}

// allJobs are those of all namespaces, among them the marks of [JobLog.Created].
const allJobs = "/apis/batch/v1/jobs"

// FollowJobs begins a log with the Jobs that are there, and keeps it until ctx
// ends. Connections that are lost leave no gap. An API server that is restarted
// may: it remembers no events, so that a Job which came and went while it was
// away from us is missing. The audit log has those.
func FollowJobs(ctx context.Context, api *API) (*JobLog, error) {
	l := &JobLog{api: api, jobs: map[string]string{}, more: make(chan struct{})}
	if err := l.list(ctx); err != nil {
		return nil, err
	}
	go l.follow(ctx)
	return l, nil
}

func (l *JobLog) follow(ctx context.Context) {
	for ctx.Err() == nil {
		if err := l.watch(ctx); errors.Is(err, errForgotten) {
			_ = l.list(ctx) // the next watch says the same when this failed
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// errForgotten means that the API server does not have the events since the
// last one that was seen.
var errForgotten = errors.New("the events are forgotten")

// list takes in what is there, to watch from there.
func (l *JobLog) list(ctx context.Context) error {
	list, err := l.api.Get(ctx, allJobs)
	if err != nil {
		return err
	}
	items, _ := list["items"].([]any)
	for _, item := range items {
		l.add(item)
	}
	l.from, _ = Member(list, "metadata", "resourceVersion").(string)
	return nil
}

// watch takes events in until the connection ends.
func (l *JobLog) watch(ctx context.Context) error {
	query := url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {l.from}}
	resp, err := l.api.open(ctx, http.MethodGet, allJobs+"?"+query.Encode(), nil)
	if IsStatus(err, http.StatusGone) {
		return errForgotten
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	decoder := json.NewDecoder(resp.Body)
	for {
		var event struct {
			Type   string
			Object Object
		}
		if err := decoder.Decode(&event); err != nil {
			return err
		}
		if event.Type == "ERROR" {
			return fmt.Errorf("%w: %v", errForgotten, event.Object["message"])
		}
		if event.Type != "BOOKMARK" {
			l.add(event.Object)
		}
		if version, ok := Member(event.Object, "metadata", "resourceVersion").(string); ok {
			l.from = version
		}
	}
}

func (l *JobLog) add(job any) {
	uid, _ := Member(job, "metadata", "uid").(string)
	name, _ := Member(job, "metadata", "name").(string)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.jobs[uid] = name
	close(l.more)
	l.more = make(chan struct{})
}

// Created returns the names of the Jobs of a scenario, one for each Job that was
// created before the call, by uid.
func (l *JobLog) Created(ctx context.Context, s *Scenario) (map[string]string, error) {
	// Events come in the order of what happened: once this Job is seen, so is
	// everything before it. It is suspended, and starts nothing.
	mark := "mark-" + strings.ToLower(rand.Text())
	path := "/apis/batch/v1/namespaces/" + LimitedNamespace + "/jobs"
	pod := map[string]any{"restartPolicy": "Never", "containers": []any{map[string]any{"name": "c", "image": "none"}}}
	if _, err := l.api.Do(ctx, http.MethodPost, path, map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": mark},
		"spec": map[string]any{"suspend": true, "template": map[string]any{"spec": pod}},
	}); err != nil {
		return nil, err
	}
	if err := l.until(ctx, mark); err != nil {
		return nil, err
	}
	if err := l.api.Delete(ctx, path+"/"+mark, "Background"); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	found := maps.Clone(l.jobs)
	maps.DeleteFunc(found, func(_, name string) bool { return !s.owns(name) })
	return found, nil
}

// until waits until a Job of the name was seen.
func (l *JobLog) until(ctx context.Context, name string) error {
	for {
		l.mu.Lock()
		more, there := l.more, false
		for _, have := range l.jobs {
			there = there || have == name
		}
		l.mu.Unlock()
		if there {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the watch of Jobs: %w", context.Cause(ctx))
		case <-more:
		}
	}
}
