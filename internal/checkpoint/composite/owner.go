package composite

import (
	"context"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

// owned refuses records in the work folder that are of another cluster. Two
// clusters may have executions of one name, and a folder that outlives a run, as on
// a runner of one's own, may see both.
func (s *Store) owned(ctx context.Context, execution string, records checkpoint.Records) error {
	if s.o.Owner == nil || s.o.Key.Cluster() == "" || len(records) == 0 {
		return nil
	}
	owner, err := s.o.Owner.Owner(ctx, execution)
	if err != nil {
		return err
	}
	return s.o.Key.Own(owner, "the records of "+execution+" in the work folder")
}

// setOwner keeps which cluster the records are of that the work folder is about to
// get.
func (s *Store) setOwner(ctx context.Context, execution string) error {
	if s.o.Owner == nil || s.o.Key.Cluster() == "" {
		return nil
	}
	return s.o.Owner.SetOwner(ctx, execution, s.o.Key.Cluster())
}
