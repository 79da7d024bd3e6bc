package composite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// putIntent stores an intent in the given places and the work folder, and
// returns when all of them have it.
//
// The arbiter is asked first and the folder last: a run that comes second to
// another one must not leave an intent of its own anywhere, which would
// contradict the other's for ever.
func (s *Store) putIntent(ctx context.Context, execution string, record checkpoint.Record, places []checkpoint.Shared) error {
	documents, err := s.documents(execution, record)
	if err != nil {
		return err
	}
	rest := places
	if i := slices.Index(places, s.o.Arbiter); i >= 0 && s.o.Arbiter != nil {
		rest = slices.Delete(slices.Clone(places), i, i+1)
		if err := writeIntent(ctx, s.o.Arbiter, execution, documents); err != nil {
			return err
		}
	}
	// With one that fails the others are not cut off: what they store is found by
	// the run that comes after.
	errs := together(rest, func(place checkpoint.Shared) error {
		return writeIntent(ctx, place, execution, documents)
	})
	if err := first(errs); err != nil {
		return err
	}
	if err := s.o.Folder.Put(ctx, execution, record); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorded = true
	return nil
}

func writeIntent(ctx context.Context, place checkpoint.Shared, execution string, documents []checkpoint.Document) error {
	err := place.Write(ctx, execution, documents...)
	switch {
	case errors.Is(err, checkpoint.ErrTaken):
		return checkpoint.Differs(execution+"."+string(checkpoint.Intent), "storing the intent in the checkpoint store %s: %w", place.Name(), err)
	case err != nil:
		return inPlace(place.Name(), err)
	}
	return nil
}

// inPlace has an error name the store it is of.
func inPlace(name string, err error) error {
	if e, ok := err.(*failure.Error); ok { //nolint:errorlint // What wraps one has a text of its own.
		c := *e
		c.Message = "checkpoint store " + name + ": " + e.Message
		return &c
	}
	return fmt.Errorf("checkpoint store %s: %w", name, err)
}

// together runs f for each of the places at once and returns what each
// returned, in their order. A panic of one is raised here, where people are told.
func together(places []checkpoint.Shared, f func(checkpoint.Shared) error) []error {
	errs, panics := make([]error, len(places)), make([]any, len(places))
	done := make(chan struct{})
	for i, place := range places {
		go func() {
			defer func() { panics[i] = recover(); done <- struct{}{} }()
			errs[i] = f(place)
		}()
	}
	for range places {
		<-done
	}
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
	return errs
}

// first returns the error that says most: one that somebody else was first says
// what to do next, and one with a code what happened.
func first(errs []error) error {
	for _, says := range []func(error) bool{
		func(err error) bool { return errors.Is(err, checkpoint.ErrTaken) },
		func(err error) bool { return failure.CodeOf(err) != "" },
		func(err error) bool { return err != nil },
	} {
		if i := slices.IndexFunc(errs, says); i >= 0 {
			return errs[i]
		}
	}
	return nil
}
