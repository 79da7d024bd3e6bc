package composite

import (
	"context"
	"fmt"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// Heal implements [checkpoint.Store]. An intent that a create may follow is
// stored before it returns, anything else in the background. Where there is no
// intent yet, places that can begin to store one do.
func (s *Store) Heal(ctx context.Context, execution string) error {
	s.mu.Lock()
	v := s.loaded[execution]
	s.mu.Unlock()
	if v == nil {
		return failure.New(failure.CheckpointStoreFailed, "the records of %s were not read", execution)
	}
	if k, ok := v.union[checkpoint.Prepared]; ok {
		if err := s.remember(execution, k.record); err != nil {
			return err
		}
	}
	if !v.has(checkpoint.Intent) && !v.sent() && !v.ended() {
		s.reserve(ctx, execution)
	}
	if len(v.at[WorkFolder]) == 0 && len(v.union) > 0 {
		// A folder that has records and says nothing of their cluster is left so.
		if err := s.setOwner(ctx, execution); err != nil {
			return err
		}
	}
	steps := checkpoint.SharedSteps()
	if v.ended() {
		// The rest may have been removed on purpose, and says nothing any more.
		steps = []checkpoint.Step{checkpoint.Terminal}
	}
	for _, step := range steps {
		k, ok := v.union[step]
		if !ok {
			continue
		}
		for _, w := range s.writers {
			if v.at[w.place][step] {
				w.found(execution, step)
			}
		}
		if err := s.healStep(ctx, v, k); err != nil {
			return err
		}
	}
	return nil
}

// healStep has every place hold a record.
func (s *Store) healStep(ctx context.Context, v *view, k kept) error {
	step := k.record.Step
	switch {
	case step == checkpoint.Intent && !v.sent():
		return s.healIntent(ctx, v, k)
	case step == checkpoint.Prepared:
		// Shared places have it with the intent.
		if v.at[WorkFolder][step] {
			return nil
		}
		return s.o.Folder.Put(ctx, v.execution, k.record)
	}
	for i, w := range s.writers {
		added := &item{execution: v.execution, record: k.record}
		switch {
		case v.at[w.place][step]:
		case i > 0 && v.read[i-1] != nil:
			// What could not be read is not written either, and may be missing.
			w.lose(added, v.read[i-1])
		default:
			if i > 0 { // a work folder that is new has nothing, of course
				s.notify(lacks(w.place, v, k))
			}
			w.add(added)
		}
	}
	return nil
}

// healIntent has every place hold the intent before a create can follow it.
func (s *Store) healIntent(ctx context.Context, v *view, k kept) error {
	var lack []checkpoint.Shared
	for _, place := range s.o.Shared {
		if !v.at[place.Name()][checkpoint.Intent] {
			s.notify(lacks(place.Name(), v, k))
			lack = append(lack, place)
		}
	}
	if len(lack) == 0 && v.at[WorkFolder][checkpoint.Intent] {
		return nil
	}
	return s.putIntent(ctx, v.execution, k.record, lack)
}

func lacks(place string, v *view, k kept) string {
	return fmt.Sprintf("checkpoint store %s does not have the %s record of %s; storing it there from %s", place, k.record.Step, v.execution, k.where)
}

// reserve has places begin to store an intent.
func (s *Store) reserve(ctx context.Context, execution string) {
	for _, place := range s.o.Shared {
		if r, ok := place.(checkpoint.Reserver); ok {
			r.Reserve(ctx, execution, checkpoint.Intent)
		}
	}
}
