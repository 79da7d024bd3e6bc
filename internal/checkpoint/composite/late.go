package composite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// putLate stores a record of what has been done already. It waits for the work
// folder, which is quick, and for nothing else; and not long for that: the Job is
// to be waited for whatever becomes of its records. Where the folder does not have
// it, the error wraps [checkpoint.ErrLater].
func (s *Store) putLate(ctx context.Context, execution string, record checkpoint.Record) error {
	folder := make(chan error, 1)
	for i, w := range s.writers {
		added := &item{execution: execution, record: record}
		if i == 0 {
			added.tried = folder
		}
		w.add(added)
	}
	timer := time.NewTimer(folderPatience)
	defer timer.Stop()
	var err error
	select {
	case err = <-folder:
	case <-timer.C:
		err = fmt.Errorf("the work folder has not answered within %s", folderPatience)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err == nil || failure.CodeOf(err) == failure.CheckpointDiffers {
		return err
	}
	return fmt.Errorf("%w: %s", checkpoint.ErrLater, failureText(err))
}

// writeLate stores a record in a shared place from the background.
func (s *Store) writeLate(ctx context.Context, place checkpoint.Shared, i *item) error {
	documents, err := s.documents(i.execution, i.record)
	if err != nil {
		return err
	}
	if err := place.Write(ctx, i.execution, documents...); err != nil {
		return err
	}
	if i.record.Step == checkpoint.Terminal && s.o.Cleanup {
		i.cleaned = s.clean(ctx, place, i)
	}
	return nil
}

// clean removes the older steps, once the terminal record was seen in the place, and
// reports whether it did. What keeps it from that is told and no more.
func (s *Store) clean(ctx context.Context, place checkpoint.Shared, i *item) bool {
	cleaner, ok := place.(Cleaner)
	if !ok {
		return false
	}
	err := s.readBack(ctx, place, i)
	if err == nil {
		err = cleaner.Clean(ctx, i.execution)
	}
	if err != nil {
		s.notify(fmt.Sprintf("checkpoint store %s: the older records of %s are kept: %s", place.Name(), i.execution, failureText(err)))
	}
	return err == nil
}

// readBack makes sure that a place has a good copy of a record.
func (s *Store) readBack(ctx context.Context, place checkpoint.Shared, i *item) error {
	found, err := place.Read(ctx, i.execution)
	if err != nil {
		return err
	}
	for _, c := range found.Copies {
		if c.Step != i.record.Step || c.Err != nil {
			continue
		}
		if record, err := s.o.Key.Open(i.execution, c.Document, c.Where); err == nil && record.Equal(i.record) {
			return nil
		}
	}
	return errors.New("its terminal record cannot be read back yet")
}
