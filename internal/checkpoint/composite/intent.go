package composite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// putIntent stores an intent in the given places and the work folder, and
// returns when all of them have it.
//
// The arbiter is asked first and the folder last: a run that comes second to
// another one must not leave an intent of its own anywhere, which would
// contradict the other's for ever. Where only some have it in the end, it is
// missing in the others.
func (s *Store) putIntent(ctx context.Context, execution string, record checkpoint.Record, places []checkpoint.Shared) error {
	documents, err := s.documents(execution, record)
	if err != nil {
		return err
	}
	stored := map[string]bool{}
	err = s.writeIntent(ctx, execution, documents, places, stored)
	if err == nil {
		if err = s.o.Folder.Put(ctx, execution, record); err == nil {
			stored[WorkFolder] = true
		}
	}
	if errors.Is(err, checkpoint.ErrTaken) {
		return err // The step is another's, and nothing of it is missing.
	}
	partly := len(stored) > 0 || len(places) < len(s.o.Shared)
	for _, w := range s.writers {
		given := w.place == WorkFolder || slices.ContainsFunc(places, func(p checkpoint.Shared) bool { return p.Name() == w.place })
		switch {
		case stored[w.place]:
			w.found(execution, record.Step)
		case given && partly:
			w.lose(&item{execution: execution, record: record}, err)
		}
	}
	if err != nil {
		return startedElsewhere(err, places, stored)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorded = true
	return nil
}

// startedElsewhere has an error say that the intent counts from now on, where a
// place has taken it: a run that comes too late for it is refused.
func startedElsewhere(err error, places []checkpoint.Shared, stored map[string]bool) error {
	e, ok := err.(*failure.Error) //nolint:errorlint // What wraps one has a text of its own.
	if !ok || len(stored) == 0 {
		return err
	}
	var names []string
	for _, place := range places {
		if stored[place.Name()] {
			names = append(names, place.Name())
		}
	}
	if len(names) == 0 {
		return err
	}
	fix := fmt.Sprintf("Nothing was dispatched, but %s has the intent already: run again within 59 minutes of it, after which the TTL window is over and the execution is refused", strings.Join(names, " and "))
	if e.Fix != "" {
		fix = strings.TrimSuffix(e.Fix, ".") + ". " + fix
	}
	return e.WithFix("%s", fix)
}

// writeIntent stores an intent in the places, and says which have it then.
func (s *Store) writeIntent(ctx context.Context, execution string, documents []checkpoint.Document, places []checkpoint.Shared, stored map[string]bool) error {
	rest := slices.Clone(places)
	if i := slices.Index(rest, s.o.Arbiter); i >= 0 {
		rest = slices.Delete(rest, i, i+1)
		if err := giveIntent(ctx, s.o.Arbiter, execution, documents); err != nil {
			return err
		}
		stored[s.o.Arbiter.Name()] = true
	}
	// With one that fails the others are not cut off: what they store is found by
	// the run that comes after.
	errs := together(rest, func(place checkpoint.Shared) error {
		return giveIntent(ctx, place, execution, documents)
	})
	for i, place := range rest {
		if errs[i] == nil {
			stored[place.Name()] = true
		}
	}
	return first(errs)
}

func giveIntent(ctx context.Context, place checkpoint.Shared, execution string, documents []checkpoint.Document) error {
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
