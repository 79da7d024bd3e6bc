package composite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// Load implements [checkpoint.Store]: it returns what all places know together.
//
// Copies that say the same are one. Two good copies of a step that differ are
// checkpoint-differs. A copy that cannot be read or believed is an error, unless
// there is a good one of the same step. A terminal record stands alone: with one
// there, nothing can be dispatched, and what is wrong with the rest is only told.
//
// Where nothing is found, and a place could not look everywhere, and no other
// place is sure that there is nothing, that is an error too: no checkpoint does
// not mean that nothing was dispatched.
//
// A step that one place lost is stored there again: an intent before Load
// returns, since a create may follow, anything else in the background.
func (s *Store) Load(ctx context.Context, execution string) (checkpoint.Records, error) {
	v := view{execution: execution, key: s.o.Key, union: map[checkpoint.Step]kept{}, bad: map[checkpoint.Step]error{}}
	found := make([]checkpoint.Found, len(s.o.Shared))
	var records checkpoint.Records
	var folderErr error
	// A nil among the places is the work folder.
	read := together(append([]checkpoint.Shared{nil}, s.o.Shared...), func(place checkpoint.Shared) (err error) {
		if place == nil {
			records, folderErr = s.o.Folder.Load(ctx, execution)
			return nil
		}
		found[slices.Index(s.o.Shared, place)], err = place.Read(ctx, execution)
		return err
	})[1:]
	if folderErr != nil {
		return nil, folderErr
	}
	v.folder(records)
	for i, place := range s.o.Shared {
		v.place(place.Name(), found[i])
	}
	if err := s.agree(&v, found, read); err != nil {
		return nil, err
	}
	s.origin(v)
	if err := s.heal(ctx, v, read); err != nil {
		return nil, err
	}
	if !v.has(checkpoint.Intent, checkpoint.Dispatched, checkpoint.Ambiguous, checkpoint.Terminal) {
		for _, place := range s.o.Shared {
			if r, ok := place.(checkpoint.Reserver); ok {
				r.Reserve(ctx, execution, checkpoint.Intent)
			}
		}
	}
	all := maps.Clone(records)
	if all == nil {
		all = checkpoint.Records{}
	}
	for step, k := range v.union {
		all[step] = k.record
	}
	return all, nil
}

// agree returns why what was read must not be acted on.
func (s *Store) agree(v *view, found []checkpoint.Found, read []error) error {
	var problems []error
	for i, err := range read {
		if err != nil {
			problems = append(problems, inPlace(s.o.Shared[i].Name(), err))
		}
	}
	// One that contradicts comes before one that is not there.
	problems = append(v.differ, problems...)
	for _, step := range checkpoint.SharedSteps() {
		if err := v.bad[step]; err != nil && !v.has(step) {
			problems = append(problems, err)
		}
	}
	if v.has(checkpoint.Terminal) && !v.disputed(checkpoint.Terminal) {
		for _, err := range problems {
			s.notify(fmt.Sprintf("not needed, since the terminal record of %s is there: %s", v.execution, failureText(err)))
		}
		return nil
	}
	if err := first(problems); err != nil {
		return err
	}
	for _, err := range v.bad {
		s.notify(fmt.Sprintf("another copy is there of what is wrong here: %s", failureText(err)))
	}
	if v.has(checkpoint.Intent, checkpoint.Dispatched, checkpoint.Ambiguous) {
		return nil
	}
	return blind(found)
}

// blind returns why nothing found does not mean that there is nothing.
func blind(found []checkpoint.Found) error {
	var why error
	for _, f := range found {
		if f.Complete {
			return nil
		}
		if why == nil {
			why = f.Blind
		}
	}
	return why
}

// origin keeps where the run resumes from: where the record is that says most.
func (s *Store) origin(v view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, step := range []checkpoint.Step{checkpoint.Terminal, checkpoint.Ambiguous, checkpoint.Dispatched, checkpoint.Intent} {
		k, ok := v.union[step]
		if ok && s.resumed == nil {
			s.resumed = &k.origin
		}
		s.recorded = s.recorded || ok
	}
}

// view is what the places say of one execution.
type view struct {
	execution string
	key       checkpoint.Key
	// union has one good copy of each step, and at says which places have one.
	union map[checkpoint.Step]kept
	at    map[string]map[checkpoint.Step]bool
	// bad says why a copy was not believed, differ which good ones contradict each
	// other, and on what.
	bad      map[checkpoint.Step]error
	differ   []error
	disputes []checkpoint.Step
}

// kept is a good copy.
type kept struct {
	record checkpoint.Record
	where  string
	origin Origin
}

// folder takes what the work folder has. It is private: what is in it is held
// against the execution by whoever loads it, and needs no signature.
func (v *view) folder(records checkpoint.Records) {
	for _, step := range checkpoint.SharedSteps() {
		if record, ok := records[step]; ok {
			v.add(step, kept{record, "the work folder", Origin{Place: WorkFolder}})
		}
	}
}

// place takes what a shared place has, in whatever order.
func (v *view) place(name string, found checkpoint.Found) {
	for _, c := range found.Copies {
		if !slices.Contains(checkpoint.SharedSteps(), c.Step) {
			continue
		}
		record, err := checkpoint.Record{}, c.Err
		if err == nil {
			record, err = v.key.Open(v.execution, c.Document, c.Where)
		}
		if err != nil {
			v.bad[c.Step] = inPlace(name, err)
			continue
		}
		v.add(c.Step, kept{record, name + " (" + c.Where + ")", Origin{name, c.Attempt}})
	}
}

func (v *view) add(step checkpoint.Step, k kept) {
	if v.at == nil {
		v.at = map[string]map[checkpoint.Step]bool{}
	}
	if v.at[k.origin.Place] == nil {
		v.at[k.origin.Place] = map[checkpoint.Step]bool{}
	}
	v.at[k.origin.Place][step] = true
	other, known := v.union[step]
	if !known {
		v.union[step] = k
		return
	}
	if err := checkpoint.Contradiction(v.execution, other.record, other.where, k.record, k.where); err != nil {
		v.differ = append(v.differ, err)
		v.disputes = append(v.disputes, step)
	}
}

// has reports whether there is a good copy of one of the steps.
func (v *view) has(steps ...checkpoint.Step) bool {
	return slices.ContainsFunc(steps, func(step checkpoint.Step) bool { _, ok := v.union[step]; return ok })
}

func (v *view) disputed(step checkpoint.Step) bool { return slices.Contains(v.disputes, step) }

// failureText returns an error as a line of a log has it: without the code, which
// says what a run ended with.
func failureText(err error) string {
	if e, ok := errors.AsType[*failure.Error](err); ok && error(e) == err { //nolint:errorlint // whether it is wrapped is the question
		return e.Text()
	}
	return err.Error()
}
