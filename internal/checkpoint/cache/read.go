package cache

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/bundle"
)

// Read implements [checkpoint.Shared]. It looks for the newest entry of each step, at
// once, in the ref that the job runs for and then in the default branch: that is how
// the service matches. Where the newest cannot be read or believed, or is not ours
// although its key begins like one, the keys of this attempt and those before it are
// looked at one by one.
//
// What was found is never complete, and what was not found may have been stored a
// moment ago, long ago, or on another branch. A lookup that fails is an error, since
// nothing is known then; an entry that was found and cannot be read is a copy that
// says why.
func (s *Store) Read(ctx context.Context, execution string) (checkpoint.Found, error) {
	if err := fits(execution); err != nil {
		return checkpoint.Found{}, err
	}
	doing := fmt.Sprintf("could not look for the records of %s in the cache", execution)
	within, cancel := context.WithTimeout(ctx, s.read)
	defer cancel()
	copies, err := s.reading(within, execution)
	switch {
	case err == nil:
		return checkpoint.Found{Copies: copies}, nil
	case ctx.Err() != nil:
		return checkpoint.Found{}, fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	case within.Err() != nil:
		err = &problem{what: fmt.Sprintf("%s did not answer in %s", s.service.base.Host, s.read), fix: fixStatus}
	}
	return checkpoint.Found{}, failed(err, "%s", doing)
}

// reading reads all steps at once. The first error ends it.
func (s *Store) reading(ctx context.Context, execution string) ([]checkpoint.Copy, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		all   []checkpoint.Copy
		first error
	)
	for _, step := range checkpoint.SharedSteps() {
		group.Go(func() {
			var copies []checkpoint.Copy
			err := checkpoint.Guard("reading an entry", func() (err error) {
				copies, err = s.readStep(ctx, execution, step)
				return err
			})
			mu.Lock()
			defer mu.Unlock()
			if err != nil && first == nil {
				first = err
				cancel()
			}
			all = append(all, copies...)
		})
	}
	group.Wait()
	return all, first
}

func (s *Store) readStep(ctx context.Context, execution string, step checkpoint.Step) ([]checkpoint.Copy, error) {
	found, err := s.load(ctx, prefixOf(execution, step))
	if err != nil || found == nil {
		return nil, err
	}
	copies, good, err := s.copies(ctx, execution, step, found)
	if good || err != nil {
		return copies, err
	}
	// It hides those before it, which may be good. Anybody can put it there.
	seen := []string{found.key}
	for attempt := s.attempt; attempt > 0; attempt-- {
		for n := 1; n <= maxLooked; n++ {
			found, err := s.load(ctx, keyOf(execution, step, attempt, n))
			if err != nil {
				return nil, err
			}
			if found == nil || slices.Contains(seen, found.key) {
				continue
			}
			seen = append(seen, found.key)
			more, good, err := s.copies(ctx, execution, step, found)
			if err != nil {
				return nil, err
			}
			if copies = append(copies, more...); good {
				return copies, nil
			}
		}
	}
	return copies, nil
}

// copies returns what is in an entry, and whether it is a record of the step that is
// believed. An
// entry whose key is not one of ours has nothing to do with the execution. The error
// is only ctx's cause.
func (s *Store) copies(ctx context.Context, execution string, step checkpoint.Step, found *entry) (copies []checkpoint.Copy, good bool, err error) {
	attempt, ok := attemptOf(found.key, execution, step)
	if !ok {
		return nil, false, nil
	}
	documents, err := s.open(ctx, execution, found)
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	if err == nil && !slices.ContainsFunc(documents, func(d checkpoint.Document) bool { return d.Step == step }) {
		err = &problem{what: fmt.Sprintf("there is no %s record in it", step), fix: fixForeign}
	}
	if err != nil {
		return []checkpoint.Copy{{
			Document: checkpoint.Document{Step: step}, Where: where(found.key), Attempt: attempt,
			Err: failed(err, "could not read the %s record of %s (%s)", step, execution, where(found.key)),
		}}, false, nil
	}
	good = true
	for _, d := range documents {
		good = good && s.believes(execution, d)
		copies = append(copies, checkpoint.Copy{Document: d, Where: where(found.key), Attempt: attempt})
	}
	return copies, good, nil
}

// maxLooked bounds the keys of an attempt that are looked at one by one.
const maxLooked = 3

const fixForeign = "Somebody else may have written it: everybody who can run a workflow on the branch can. " +
	"Delete the entry under Actions, Caches, when it is none of yours"

// open returns the documents of an entry. The error wraps ctx's cause or is a
// [*problem].
func (s *Store) open(ctx context.Context, execution string, found *entry) ([]checkpoint.Document, error) {
	data, err := s.service.download(ctx, found.address)
	if err != nil {
		return nil, err
	}
	documents, err := bundle.Unpack(execution, data)
	if err != nil {
		return nil, &problem{what: s.service.said(err.Error()), fix: fixForeign}
	}
	return documents, nil
}
