package artifact

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/bundle"
)

const (
	// readsAtOnce is how many artifacts are downloaded at a time.
	readsAtOnce = 8
	// maxRows bounds how many artifacts one execution may have in a run: 50
	// attempts store 5 steps each.
	maxRows = 1000
)

// content is what is in an artifact, or why it cannot be read.
type content struct {
	documents []checkpoint.Document
	err       error
}

// Read returns every copy that the artifacts of the run have, as
// [checkpoint.Shared] says. Each is judged by itself: neither by an id, nor by a
// time, nor by what is beside it.
func (s *Store) Read(ctx context.Context, execution string) (checkpoint.Found, error) {
	doing := "reading the records of " + execution + " from the artifacts of the run"
	l, err := s.listed(ctx, doing, false)
	if err != nil {
		return checkpoint.Found{}, err
	}
	found, err := s.found(l)
	if err != nil {
		return checkpoint.Found{}, err
	}
	rows := l.of(execution)
	if len(rows) > maxRows {
		return checkpoint.Found{}, storeFailed("%s: there are %d, at most %d are looked at", doing, len(rows), maxRows).
			WithFix("Find out which job of the run makes artifacts with the names of this execution, and delete those")
	}
	contents := s.contents(ctx, rows)
	if err := context.Cause(ctx); err != nil {
		return checkpoint.Found{}, ended(doing, err)
	}
	for i, r := range rows {
		found.Copies = append(found.Copies, copies(r, contents[i])...)
	}
	return found, nil
}

// contents returns what is in each row.
func (s *Store) contents(ctx context.Context, rows []row) []content {
	all := make([]content, len(rows))
	var wg sync.WaitGroup
	slots := make(chan struct{}, readsAtOnce)
	for i, r := range rows {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := checkpoint.Guard("reading it", func() error { all[i] = s.content(ctx, r); return nil }); err != nil {
				all[i] = content{err: err}
			}
		})
	}
	wg.Wait()
	return all
}

// copies returns the copies that a row is. An artifact that has not the step that it
// is named after is one that cannot be read: it might have been the one that says
// that a Job was dispatched.
func copies(r row, c content) []checkpoint.Copy {
	var all []checkpoint.Copy
	named := false
	for _, d := range c.documents {
		named = named || d.Step == r.name.step
		all = append(all, checkpoint.Copy{Document: d, Where: r.where(), Attempt: r.name.attempt})
	}
	if c.err == nil && !named {
		c.err = fmt.Errorf("it has no record of the step %s", r.name.step)
	}
	if c.err != nil {
		all = append(all, checkpoint.Copy{
			Document: checkpoint.Document{Step: r.name.step}, Where: r.where(), Attempt: r.name.attempt, Err: unreadable(r, c.err),
		})
	}
	return all
}

// content returns what is in a row. What could be read is remembered: an artifact
// does not change.
func (s *Store) content(ctx context.Context, r row) content {
	s.mu.Lock()
	c, ok := s.seen[r.key()]
	s.mu.Unlock()
	if ok {
		return c
	}
	c.documents, c.err = s.open(ctx, r)
	if c.err == nil {
		s.mu.Lock()
		s.seen[r.key()] = c
		s.mu.Unlock()
	}
	return c
}

// open downloads a row in one of the ways that there are to it, that which is surer
// first: the results service may have no address for an artifact of an earlier
// attempt, and the REST API may not know yet one that was just stored.
func (s *Store) open(ctx context.Context, r row) ([]checkpoint.Document, error) {
	if r.size > bundle.MaxSize {
		return nil, fmt.Errorf("it has %d bytes, at most %d are read", r.size, bundle.MaxSize)
	}
	var ways []func(context.Context, row) (string, error)
	if r.run != "" {
		ways = append(ways, s.results.signedURL)
	}
	if r.rest && !r.expired && s.rest != nil {
		ways = append(ways, s.rest.locate)
	}
	if len(ways) == 0 {
		return nil, errors.New("it has expired: its content is no longer there")
	}
	if len(ways) == 2 && r.name.attempt != s.options.Attempt {
		ways[0], ways[1] = ways[1], ways[0]
	}
	var errs []error
	for _, locate := range ways {
		documents, err := s.openBy(ctx, r, locate)
		if err == nil {
			return documents, nil
		}
		if isEnded(err) {
			return nil, err
		}
		errs = append(errs, err)
	}
	return nil, joined(errs)
}

func (s *Store) openBy(ctx context.Context, r row, locate func(context.Context, row) (string, error)) ([]checkpoint.Document, error) {
	address, err := locate(ctx, r)
	if err != nil {
		return nil, err
	}
	data, err := s.blobs.download(ctx, r.name, address)
	if err != nil {
		return nil, err
	}
	if have := digestOf(data); r.digest != "" && !strings.EqualFold(r.digest, have) {
		return nil, fmt.Errorf("its content has the digest %s, and was stored with %.80q", have, r.digest)
	}
	return bundle.Unpack(r.name.execution, data)
}

// joined is what several ways came to, on one line.
func joined(errs []error) error {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = textOf(err)
	}
	if len(texts) == 2 && texts[0] == texts[1] {
		texts = texts[:1]
	}
	return &unreadableError{strings.Join(texts, "; and in another way: "), errs}
}

// unreadableError says why an artifact cannot be read.
type unreadableError struct {
	text string
	errs []error
}

// Error is one line.
func (e *unreadableError) Error() string { return e.text }

// Unwrap returns what each way came to.
func (e *unreadableError) Unwrap() []error { return e.errs }
