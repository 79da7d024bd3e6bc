package composite

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// told collects what people are told.
type told struct {
	mu    sync.Mutex
	lines []string
}

func (l *told) notify(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, text)
}

// says fails unless one line holds all of the parts.
func (l *told) says(t *testing.T, parts ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.ContainsFunc(l.lines, func(line string) bool { return holds(line, parts) }) {
		t.Errorf("no line has %q, these were told:\n%s", parts, strings.Join(l.lines, "\n"))
	}
}

func holds(text string, parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

// Every error names the place, what of it is wrong, and what can be done.
func TestErrorsSayWhereAndWhat(t *testing.T) {
	t.Parallel()
	broken := failure.New(failure.CheckpointStoreFailed, "HTTP 503").WithFix("Run again later")
	unreadable := func(p *place) { p.bad = map[checkpoint.Step]error{checkpoint.Dispatched: broken} }
	key, err := checkpoint.NewKey("a key of more than thirty-two bytes")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name              string
		artifact, cluster func(*place)
		key               checkpoint.Key
		put               bool
		code              failure.Code
		parts             []string
	}{
		{name: "an intent that a place refuses", put: true, artifact: func(p *place) { p.fail = func(checkpoint.Step) error { return broken } },
			code: failure.CheckpointStoreFailed, parts: []string{"checkpoint store artifact", "HTTP 503", "Run again later"}},
		{name: "an intent that came second", put: true, cluster: has(t, checkpoint.Intent, "the other's"),
			code: failure.CheckpointDiffers, parts: []string{"checkpoint store cluster", job + ".dispatch-intent", "another run"}},
		{name: "a place that cannot be read", artifact: func(p *place) { p.readErr = broken },
			code: failure.CheckpointStoreFailed, parts: []string{"checkpoint store artifact", "HTTP 503", "Run again later"}},
		{name: "a copy that cannot be read", artifact: unreadable,
			code: failure.CheckpointStoreFailed, parts: []string{"checkpoint store artifact", "HTTP 503", "Run again later"}},
		{name: "two that disagree", artifact: has(t, checkpoint.Intent, "one"), cluster: has(t, checkpoint.Intent, "two"),
			code:  failure.CheckpointDiffers,
			parts: []string{job + ".dispatch-intent.json#say", `artifact (copy of dispatch-intent) has "one"`, `cluster (copy of dispatch-intent) has "two"`, "Find out which record is right"}},
		{name: "one that is not signed", artifact: has(t, checkpoint.Terminal, "forged"), key: key,
			code: failure.CheckpointDiffers, parts: []string{"checkpoint store artifact", "copy of terminal", "is not signed", "checkpoint-key"}},
		{name: "one of another execution", artifact: func(p *place) {
			d := checkpoint.Document{Step: checkpoint.Intent, Data: []byte(`{"name":"another","state":"dispatch-intent"}`)}
			p.copies[checkpoint.Intent] = d
		}, code: failure.CheckpointDiffers, parts: []string{"checkpoint store artifact", "copy of dispatch-intent#name", `"another"`, job}},
		{name: "nothing found where one place could not look", artifact: func(p *place) {
			p.complete, p.blind = false, failure.New(failure.PermissionDenied, "earlier attempts cannot be seen").WithFix("Grant permissions: actions: read")
		}, cluster: func(p *place) { p.complete = false },
			code: failure.PermissionDenied, parts: []string{"earlier attempts cannot be seen", "actions: read"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			artifact, cluster := newPlace("artifact"), newPlace("cluster")
			for p, change := range map[*place]func(*place){artifact: test.artifact, cluster: test.cluster} {
				if change != nil {
					change(p)
				}
			}
			s := New(Options{Folder: &folder{}, Shared: []checkpoint.Shared{artifact, cluster}, Arbiter: cluster, Key: test.key})
			defer s.Finish(t.Context())
			var err error
			if test.put {
				err = s.Put(t.Context(), job, record(t, checkpoint.Intent, "now"))
			} else {
				_, err = s.loadAndHeal(t, job)
			}
			if failure.CodeOf(err) != test.code || err == nil || !holds(err.Error(), test.parts) {
				t.Errorf("the error is %v, want %s with %q", err, test.code, test.parts)
			}
		})
	}
}

// What is told names the place, the step and the execution.
func TestNotificationsSayWhereAndWhat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lines := &told{}
		artifact, cluster := newPlace("artifact"), newPlace("cluster")
		has(t, checkpoint.Intent, "a")(cluster)
		has(t, checkpoint.Dispatched, "a")(cluster)
		artifact.bad = map[checkpoint.Step]error{checkpoint.Dispatched: errors.New("cut short")}
		artifact.fail = func(step checkpoint.Step) error {
			if step == checkpoint.Terminal {
				return errors.New("quota is used up")
			}
			return nil
		}
		s := New(Options{Folder: &folder{}, Shared: []checkpoint.Shared{artifact, cluster}, Arbiter: cluster, Notify: lines.notify})
		if _, err := s.loadAndHeal(t, job); err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), job, record(t, checkpoint.Terminal, "end")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30e9)
		defer cancel()
		status := s.Finish(ctx)
		lines.says(t, "artifact", "does not have the dispatch-intent record of "+job, "cluster (copy of dispatch-intent)")
		lines.says(t, "artifact", "does not have the dispatched record of "+job, "cluster (copy of dispatched)")
		lines.says(t, "another copy is there", "artifact", "cut short")
		lines.says(t, "terminal record of "+job, "artifact", "quota is used up")
		if len(status.Missing) != 1 || !strings.Contains(status.Missing[0].Err.Error(), "quota is used up") {
			t.Errorf("missing: %v", status.Missing)
		}
		if n := len(lines.lines); n != 4 {
			t.Errorf("%d lines were told, want each once:\n%s", n, strings.Join(lines.lines, "\n"))
		}
	})
}

// With the end there, what is wrong with the rest is told and no more.
func TestAnEndStandsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lines := &told{}
		artifact, cluster := newPlace("artifact"), newPlace("cluster")
		has(t, checkpoint.Terminal, "end")(cluster)
		artifact.readErr = errors.New("HTTP 403")
		s := New(Options{Folder: &folder{}, Shared: []checkpoint.Shared{artifact, cluster}, Notify: lines.notify})
		records, err := s.loadAndHeal(t, job)
		if err != nil || len(records) != 1 {
			t.Errorf("loaded %v with the error %v", records, err)
		}
		lines.says(t, "not needed", job, "checkpoint store artifact", "HTTP 403")
		s.Finish(t.Context())
	})
}
