package composite

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	// What each place said, by its name; nothing of those that were not asked.
	said := map[string]error{}
	err = s.writeIntent(ctx, execution, documents, places, said)
	if err == nil {
		err = s.o.Folder.Put(ctx, execution, record)
		said[WorkFolder] = err
	}
	if errors.Is(err, checkpoint.ErrTaken) {
		return err // The step is another's, and nothing of it is missing.
	}
	stored := slices.Contains(slices.Collect(maps.Values(said)), nil)
	for _, w := range s.writers {
		given := w.place == WorkFolder || slices.ContainsFunc(places, func(p checkpoint.Shared) bool { return p.Name() == w.place })
		answer, asked := said[w.place]
		switch {
		case asked && answer == nil:
			w.found(execution, record.Step)
		case !given || !stored && len(places) == len(s.o.Shared):
			// It has the intent, or nobody has.
		case asked:
			w.lose(&item{execution: execution, record: record}, answer)
		default:
			w.lose(&item{execution: execution, record: record}, errNotAsked)
		}
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorded = true
	return nil
}

var errNotAsked = errors.New("it was not asked, since another store did not take it")

// startedElsewhere has the error of a new intent say that the intent counts from
// now on, where a place has taken it: a run that comes too late for it is refused.
func (s *Store) startedElsewhere(err error, execution string) error {
	e, ok := err.(*failure.Error) //nolint:errorlint // What wraps one has a text of its own.
	if !ok || errors.Is(err, checkpoint.ErrTaken) {
		return err
	}
	var names []string
	partly := false
	for _, w := range s.writers {
		if w.lacks(execution, checkpoint.Intent) {
			partly = true
		} else {
			names = append(names, w.place)
		}
	}
	if !partly || len(names) == 0 {
		return err
	}
	fix := fmt.Sprintf("Nothing was dispatched, but %s has the intent already: run again within 59 minutes of it, after which the TTL window is over and the execution is refused", strings.Join(names, " and "))
	if e.Fix != "" {
		fix = strings.TrimSuffix(e.Fix, ".") + ". " + fix
	}
	return e.WithFix("%s", fix)
}

// writeIntent stores an intent in the places, and keeps what each said.
func (s *Store) writeIntent(ctx context.Context, execution string, documents []checkpoint.Document, places []checkpoint.Shared, said map[string]error) error {
	rest := slices.Clone(places)
	if i := slices.Index(rest, s.o.Arbiter); i >= 0 {
		rest = slices.Delete(rest, i, i+1)
		err := giveIntent(ctx, s.o.Arbiter, execution, documents)
		said[s.o.Arbiter.Name()] = err
		if err != nil {
			return inPlaceUnlessTaken(s.o.Arbiter.Name(), err)
		}
	}
	// With one that fails the others are not cut off: what they store is found by
	// the run that comes after.
	errs := together(rest, func(place checkpoint.Shared) error {
		return giveIntent(ctx, place, execution, documents)
	})
	for i, place := range rest {
		said[place.Name()] = errs[i]
		if errs[i] != nil {
			errs[i] = inPlaceUnlessTaken(place.Name(), errs[i])
		}
	}
	return first(errs)
}

func giveIntent(ctx context.Context, place checkpoint.Shared, execution string, documents []checkpoint.Document) error {
	err := place.Write(ctx, execution, documents...)
	if errors.Is(err, checkpoint.ErrTaken) {
		return checkpoint.Differs(execution+"."+string(checkpoint.Intent), "storing the intent in the checkpoint store %s: %w", place.Name(), err)
	}
	return err
}

// inPlaceUnlessTaken is inPlace for what does not name its store.
func inPlaceUnlessTaken(name string, err error) error {
	if errors.Is(err, checkpoint.ErrTaken) {
		return err
	}
	return inPlace(name, err)
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
