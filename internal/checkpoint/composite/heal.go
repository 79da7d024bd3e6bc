package composite

import (
	"context"
	"fmt"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

// heal stores again what a place lost and another has. read are the errors of
// the places: what could not be read is not written either, and may be missing.
func (s *Store) heal(ctx context.Context, v view, read []error) error {
	steps := checkpoint.SharedSteps()
	ended := v.has(checkpoint.Terminal)
	if ended {
		// The rest may have been removed on purpose, and says nothing any more.
		steps = []checkpoint.Step{checkpoint.Terminal}
	}
	if k, ok := v.union[checkpoint.Prepared]; ok {
		if err := s.remember(v.execution, k.record); err != nil {
			return err
		}
	}
	for _, step := range steps {
		k, ok := v.union[step]
		if !ok || step == checkpoint.Intent || v.at[WorkFolder][step] {
			continue
		}
		if ended {
			s.writers[0].add(&item{execution: v.execution, record: k.record})
		} else if err := s.o.Folder.Put(ctx, v.execution, k.record); err != nil {
			return err
		}
	}
	if !ended {
		if err := s.healIntent(ctx, v); err != nil {
			return err
		}
	}
	for i, place := range s.o.Shared {
		for _, step := range steps {
			k, ok := v.union[step]
			if !ok || step == checkpoint.Prepared || step == checkpoint.Intent || v.at[place.Name()][step] {
				continue
			}
			if read[i] != nil {
				s.writers[i+1].lose(&item{execution: v.execution, record: k.record}, read[i])
				continue
			}
			s.notify(fmt.Sprintf("checkpoint store %s does not have the %s record of %s; storing it there from %s", place.Name(), step, v.execution, k.where))
			s.writers[i+1].add(&item{execution: v.execution, record: k.record})
		}
	}
	return nil
}

// healIntent has every place hold the intent before a create can follow it.
func (s *Store) healIntent(ctx context.Context, v view) error {
	k, ok := v.union[checkpoint.Intent]
	if !ok {
		return nil
	}
	var lack []checkpoint.Shared
	for _, place := range s.o.Shared {
		if !v.at[place.Name()][checkpoint.Intent] {
			s.notify(fmt.Sprintf("checkpoint store %s does not have the intent of %s; storing it there from %s", place.Name(), v.execution, k.where))
			lack = append(lack, place)
		}
	}
	if len(lack) == 0 && v.at[WorkFolder][checkpoint.Intent] {
		return nil
	}
	return s.putIntent(ctx, v.execution, k.record, lack)
}
