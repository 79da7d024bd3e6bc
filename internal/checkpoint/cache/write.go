package cache

import (
	"context"
	"errors"
	"fmt"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/bundle"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// maxSaves bounds how often a save is begun that breaks off on the way: each leaves a
// key that cannot be used again.
const maxSaves = 3

// Write implements [checkpoint.Shared]. The entry is durable when the service says
// so, and is not read back: a lookup right after may not find it yet.
//
// A key of this attempt that is there already is looked at. What is there equally is
// left alone, and another record of the step is [checkpoint.ErrTaken]. The next key is
// used where there is nothing to read, since a save never ended, where what is there is
// no record, and where it is one that is not as good: with another seal, or with
// less beside it.
func (s *Store) Write(ctx context.Context, execution string, documents ...checkpoint.Document) error {
	if err := fits(execution); err != nil {
		return err
	}
	if len(documents) == 0 {
		return failure.New(failure.CheckpointStoreFailed, "could not store a record of %s in the cache: there is none", execution)
	}
	step := documents[len(documents)-1].Step
	doing := fmt.Sprintf("could not store the %s record of %s in the cache", step, execution)
	data, err := bundle.Pack(execution, documents)
	if err != nil {
		return failure.New(failure.CheckpointStoreFailed, "%s: %w", doing, err)
	}
	within, cancel := context.WithTimeout(ctx, s.write)
	defer cancel()
	err = s.writing(within, execution, step, documents, data)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	case errors.Is(err, checkpoint.ErrTaken):
		return fmt.Errorf("%s: %w", doing, err)
	case within.Err() != nil:
		err = &problem{what: fmt.Sprintf("%s did not do it in %s", s.service.base.Host, s.write), fix: fixStatus}
	}
	return failed(err, "%s", doing)
}

// fits checks that an execution can be a part of a key.
func fits(execution string) error {
	if checkpoint.IsExecution(execution) {
		return nil
	}
	return failure.New(failure.CheckpointStoreFailed, "could not name a key of the cache: %.100q is not the name of an execution", execution)
}

// writing goes through the keys. The error wraps ctx's cause, is [checkpoint.ErrTaken]
// or a [*problem].
func (s *Store) writing(ctx context.Context, execution string, step checkpoint.Step, documents []checkpoint.Document, data []byte) error {
	var last error
	saves := 0
	for n := 1; n <= maxNumber && saves < maxSaves; n++ {
		key := keyOf(execution, step, s.attempt, n)
		reached, err := s.save(ctx, key, data)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p, ok := errors.AsType[*problem](err)
		if !ok || reached == reserving && !p.taken {
			return err
		}
		last = err
		if reached != reserving {
			saves++
			s.service.notify(fmt.Sprintf("The cache: saving %s broke off: %s", key, p.what))
		}
		if reached == uploading {
			continue // It cannot have become an entry.
		}
		switch same, err := s.holds(ctx, execution, key, documents); {
		case err != nil:
			return err
		case same:
			return nil
		}
	}
	if saves == 0 {
		return &problem{what: fmt.Sprintf("all %d keys of this attempt are taken, and there is no record to read. The last answer: %v", maxNumber, last), fix: fixTaken}
	}
	return last
}

// holds reports whether the entry of a key has these documents, as [bundle.Holds] does.
// It has not where there is no entry that can be read.
func (s *Store) holds(ctx context.Context, execution, key string, documents []checkpoint.Document) (bool, error) {
	found, err := s.load(ctx, key)
	if err != nil {
		return false, err
	}
	if found == nil || found.key != key { // Another that begins with it.
		return false, nil
	}
	there, err := s.open(ctx, execution, found)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if p, ok := errors.AsType[*problem](err); ok {
		if p.temporary {
			return false, err // It may well be a record.
		}
		return false, nil
	}
	holds, err := bundle.Holds(there, documents)
	if err != nil {
		return false, fmt.Errorf("%s: %w", where(key), err)
	}
	return holds, nil
}
