package artifact

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// Clean deletes the artifacts of an execution that hold earlier steps than the
// terminal one. It does nothing unless that can be read.
//
// Those of earlier attempts take the permission actions: write. What is left when
// something fails does no harm. The error has the codes of Read.
func (s *Store) Clean(ctx context.Context, execution string) error {
	doing := "removing the older records of " + execution + " from the artifacts of the run"
	l, err := s.listed(ctx, doing, true)
	if err != nil {
		return err
	}
	if _, err := s.found(l); err != nil {
		return err
	}
	rows := l.of(execution)
	older := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.name.step == checkpoint.Terminal })
	if len(older) == 0 {
		return nil
	}
	if !s.hasTerminal(ctx, rows) {
		if err := context.Cause(ctx); err != nil {
			return ended(doing, err)
		}
		return storeFailed("%s: none is removed, since no terminal record of it can be read", doing)
	}
	var first error
	for _, r := range older {
		if err := s.remove(ctx, r); isEnded(err) {
			return err
		} else if err != nil && first == nil {
			first = err
		}
	}
	return first
}

// hasTerminal reports whether the terminal record can be read.
func (s *Store) hasTerminal(ctx context.Context, rows []row) bool {
	for _, r := range rows {
		if r.name.step != checkpoint.Terminal {
			continue
		}
		s.mu.Lock()
		delete(s.seen, r.key()) // What was there once may be gone.
		s.mu.Unlock()
		c := s.content(ctx, r)
		if c.err == nil && slices.ContainsFunc(c.documents, func(d checkpoint.Document) bool { return d.Step == checkpoint.Terminal }) {
			return true
		}
	}
	return false
}

// remove deletes one artifact: by the results service what is this attempt's, since
// that takes no permission.
func (s *Store) remove(ctx context.Context, r row) error {
	var err error
	switch {
	case r.run != "" && r.name.attempt == s.options.Attempt || !r.rest || s.rest == nil:
		err = s.results.remove(ctx, r)
	default:
		err = s.rest.remove(ctx, r)
	}
	if status := statusOf(err); err == nil || status == http.StatusNotFound || status == http.StatusGone {
		s.mu.Lock()
		delete(s.seen, r.key())
		s.mu.Unlock()
		return nil
	}
	if t, ok := errors.AsType[*trouble](err); ok && t.service.name == restName && t.denied() {
		f := failure.New(failure.PermissionDenied, "%s: %s", t.doing, t.text()).
			WithFix("Give the job `permissions: actions: write`, or set checkpoint-cleanup to false")
		f.Err = t
		return f
	}
	return failureOf(err)
}
