package artifact

import (
	"context"
	"fmt"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// row is an artifact that a list shows.
type row struct {
	name    name
	id      int64
	size    int64
	digest  string // sha256:HEX, "" when it was not told
	expired bool
	// run and job are what the results service asks for, "" when it did not show it.
	run, job string
	// rest says that the REST API shows it.
	rest bool
}

// key tells rows apart. An id says nothing else: those of a later attempt may be
// lower.
type key struct {
	name string
	id   int64
}

func (r row) key() key { return key{r.name.String(), r.id} }

// where names the row for people.
func (r row) where() string { return fmt.Sprintf("artifact %s (id %d)", r.name, r.id) }

// listing is what the services show of the run.
type listing struct {
	done  chan struct{}
	began time.Time
	// rows are those of ours, in no order, each once.
	rows []row
	// rest and internal are why one of them has shown nothing. In the first attempt
	// rest is nil when the results service has shown what there is of it.
	rest, internal error
}

// shown is what one service shows.
type shown struct {
	rows []row
	err  error
}

// list begins to list the artifacts, for the first time or later.
func (s *Store) list(ctx context.Context, first bool) *listing {
	l := &listing{done: make(chan struct{}), began: s.options.Now()}
	known := begin(func() ([]row, error) {
		if s.rest == nil {
			return nil, errNoToken
		}
		return s.rest.list(ctx)
	})
	own := begin(func() ([]row, error) { return s.results.list(ctx) })
	go func() {
		defer close(l.done)
		shown := <-own
		if l.internal = shown.err; first && s.options.Attempt <= 1 && l.internal == nil {
			// There is no earlier attempt, and nothing that the REST API could add to
			// this. What it answers is of use to a later attempt only.
			l.rows = merge(nil, shown.rows)
			go func() { s.warn((<-known).err) }()
			return
		}
		rest := <-known
		if l.rest = rest.err; s.options.Attempt <= 1 && l.internal == nil && !isEnded(rest.err) {
			// Only another attempt that has begun since could have stored what is not
			// shown, after this one was given up.
			l.rest = nil
			s.warn(rest.err)
		}
		l.rows = merge(rest.rows, shown.rows)
	}()
	return l
}

// begin asks one service, in the background.
func begin(list func() ([]row, error)) <-chan shown {
	c := make(chan shown, 1)
	go func() {
		var s shown
		s.err = checkpoint.Guard(listingArtifacts, func() (err error) {
			s.rows, err = list()
			return err
		})
		c <- s
	}()
	return c
}

// listingArtifacts is what is being done, in the words for people.
const listingArtifacts = "listing the artifacts of the run"

// wait returns when the listing is there. The error is what ended ctx.
func (l *listing) wait(ctx context.Context, doing string) error {
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ended(doing, context.Cause(ctx))
	}
}

// young is how old a listing may be that was begun before it was needed. A sign-in
// takes less, unless the machine stood still, and then another attempt may have
// stored something.
const young = 5 * time.Second

// isOld goes by the clock that went further: a machine that was suspended has not
// counted, and a clock may have been set.
func (l *listing) isOld(now time.Time) bool {
	return max(now.Sub(l.began), now.Round(0).Sub(l.began.Round(0))) > young
}

// cutOff reports whether a listing that is there was ended before its time.
func (l *listing) cutOff() bool { return isEnded(l.internal) || isEnded(l.rest) }

// listed returns a listing that is there: the latest one when it was not used yet, or
// a new one. One that another context ended says nothing.
func (s *Store) listed(ctx context.Context, doing string, fresh bool) (*listing, error) {
	for {
		s.mu.Lock()
		if fresh || s.used || s.latest.isOld(s.options.Now()) {
			s.latest = s.list(ctx, false)
		}
		s.used = true
		l := s.latest
		s.mu.Unlock()
		if err := l.wait(ctx, doing); err != nil {
			return nil, err
		}
		if err := context.Cause(ctx); err != nil {
			return nil, ended(doing, err)
		}
		if !l.cutOff() {
			return l, nil
		}
	}
}

// of returns the rows of an execution.
func (l *listing) of(execution string) []row {
	var rows []row
	for _, r := range l.rows {
		if r.name.execution == execution {
			rows = append(rows, r)
		}
	}
	return rows
}

// merge returns the rows of both lists, each once.
func merge(known, shown []row) []row {
	index := map[key]int{}
	var rows []row
	for _, r := range append(known, shown...) {
		at, ok := index[r.key()]
		if !ok {
			index[r.key()] = len(rows)
			rows = append(rows, r)
			continue
		}
		m := &rows[at]
		m.expired = m.expired || r.expired
		m.rest = m.rest || r.rest
		if m.run == "" {
			m.run, m.job = r.run, r.job
		}
		if m.digest == "" {
			m.digest = r.digest
		}
	}
	return rows
}

// found says how far the listing tells what there is. The error is that of both
// services having failed.
func (s *Store) found(l *listing) (checkpoint.Found, error) {
	switch {
	case l.rest == nil && l.internal == nil:
		return checkpoint.Found{Complete: true}, nil
	case l.internal == nil:
		return checkpoint.Found{Blind: s.blind(l.rest)}, nil
	case l.rest == nil:
		return checkpoint.Found{Blind: lateFailure(l.internal)}, nil
	}
	return checkpoint.Found{}, failureOf(l.internal)
}

// lateFailure says that what this attempt stored a moment ago may be missing from
// what the REST API shows.
func lateFailure(err error) error {
	cause := failureOf(err)
	f := storeFailed("artifacts that this attempt of the run stored may be there and not be known yet: %w", cause)
	if e, ok := cause.(*failure.Error); ok { //nolint:errorlint // it is made here
		f.Message = "artifacts that this attempt of the run stored may be there and not be known yet: " + e.Message
		f.Fix = e.Fix
	}
	return f
}
