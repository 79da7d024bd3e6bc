package composite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// Load implements [checkpoint.Store]: it returns what all places know together,
// and changes nothing.
//
// Copies that say the same are one. Two good copies of a step that differ are
// checkpoint-differs. A copy that cannot be read or believed is an error, unless
// there is a good one of the same step. A terminal record stands alone: with one
// there, nothing can be dispatched, and what is wrong with the rest is only told.
// So is a place that cannot be read, once the Job is known to have been sent: no
// create follows then.
//
// Where nothing is found, and a place could not look everywhere, and no other
// place is sure that there is nothing, that is an error too: no checkpoint does
// not mean that nothing was dispatched.
func (s *Store) Load(ctx context.Context, execution string) (checkpoint.Records, error) {
	v := &view{
		execution: execution, key: s.o.Key,
		union: map[checkpoint.Step]kept{}, at: map[string]map[checkpoint.Step]bool{}, bad: map[checkpoint.Step][]error{},
	}
	found := make([]checkpoint.Found, len(s.o.Shared))
	var records checkpoint.Records
	var folderErr error
	// A nil among the places is the work folder.
	v.read = together(append([]checkpoint.Shared{nil}, s.o.Shared...), func(place checkpoint.Shared) (err error) {
		if place == nil {
			records, folderErr = s.o.Folder.Load(ctx, execution)
			return nil
		}
		found[slices.Index(s.o.Shared, place)], err = place.Read(ctx, execution)
		return err
	})[1:]
	if folderErr == nil {
		folderErr = s.owned(ctx, execution, records)
	}
	if folderErr != nil {
		return nil, folderErr
	}
	v.folder(records)
	for i, place := range s.o.Shared {
		v.place(place.Name(), found[i])
	}
	if v.signed && s.o.Key.IsZero() {
		s.warnOnce(fmt.Sprintf("records of %s are signed, and no checkpoint-key is given: theirs are not looked at. "+
			"The secret may be misspelt, or the job not in its environment", execution))
	}
	if err := s.agree(v, found); err != nil {
		return nil, err
	}
	s.keep(v)
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
func (s *Store) agree(v *view, found []checkpoint.Found) error {
	// One that contradicts comes before one that is not there.
	problems, unread := v.differ, v.unreadable(s.o.Shared)
	for _, step := range checkpoint.SharedSteps() {
		for _, err := range v.bad[step] {
			if v.has(step) {
				s.notify(fmt.Sprintf("another copy is there of what is wrong here: %s", failureText(err)))
			} else {
				problems = append(problems, err)
			}
		}
	}
	complete, why := blind(found)
	v.blind = why
	switch {
	case v.ended():
		for _, err := range append(problems, unread...) {
			s.notify(fmt.Sprintf("not needed, since the terminal record of %s is there: %s", v.execution, failureText(err)))
		}
		return nil
	case v.sent():
		for _, err := range unread {
			s.notify(fmt.Sprintf("going on without, since %s was dispatched already: %s", v.execution, failureText(err)))
		}
		return first(problems)
	}
	if err := first(append(problems, unread...)); err != nil {
		return err
	}
	if v.has(checkpoint.Intent) || v.blind == nil {
		return nil
	}
	if !complete {
		return v.blind
	}
	// Every place has an intent before a create, this one too.
	s.warnOnce(fmt.Sprintf("going on, since another store is sure that %s was never dispatched: %s", v.execution, failureText(v.blind)))
	v.blind = nil
	return nil
}

// Doubt implements [checkpoint.Store]. An intent says that a create may have been
// sent; that it was, and must not be sent again, or how the Job ended may be
// recorded where nobody could look.
func (s *Store) Doubt(execution string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.loaded[execution]
	switch {
	case v == nil:
		return failure.New(failure.CheckpointStoreFailed, "the records of %s were not read", execution)
	case s.own[execution] || v.ended():
		return nil
	case v.sent():
		return cmp.Or(first(v.unreadable(s.o.Shared)), v.blind)
	}
	return v.blind
}

// blind returns whether a place is sure that there is no more than what was found,
// and why there may be.
func blind(found []checkpoint.Found) (complete bool, why error) {
	for _, f := range found {
		complete = complete || f.Complete
		if why == nil {
			why = f.Blind
		}
	}
	return complete, why
}

// keep keeps what was found, and where the run resumes from: where the record is
// that says most.
func (s *Store) keep(v *view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loaded[v.execution] = v
	for _, step := range []checkpoint.Step{checkpoint.Terminal, checkpoint.Ambiguous, checkpoint.Dispatched, checkpoint.Intent} {
		k, ok := v.union[step]
		own := step == checkpoint.Intent && s.own[v.execution]
		if ok && s.resumed == nil && !own {
			s.resumed = &k.origin
		}
		s.recorded = s.recorded || ok
	}
}

// failureText returns an error as a line of a log has it: without the code, which
// says what a run ended with.
func failureText(err error) string {
	if e, ok := errors.AsType[*failure.Error](err); ok && error(e) == err { //nolint:errorlint // whether it is wrapped is the question
		return e.Text()
	}
	return err.Error()
}
