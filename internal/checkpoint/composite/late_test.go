package composite

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// loadAndHeal does what the engine does with records that it believes.
func (s *Store) loadAndHeal(t *testing.T, execution string) (checkpoint.Records, error) {
	t.Helper()
	records, err := s.Load(t.Context(), execution)
	if err == nil {
		err = s.Heal(t.Context(), execution)
	}
	return records, err
}

// What nobody has held against the execution is not spread.
func TestLoadChangesNothing(t *testing.T) {
	t.Parallel()
	f, cluster, artifact := &folder{}, newPlace("cluster"), newPlace("artifact")
	for _, step := range []checkpoint.Step{checkpoint.Prepared, checkpoint.Intent, checkpoint.Dispatched} {
		has(t, step, "somebody else's")(artifact)
	}
	s := New(Options{Folder: f, Shared: []checkpoint.Shared{artifact, cluster}, Arbiter: cluster})
	records, err := s.Load(t.Context(), job)
	s.Finish(t.Context())
	if err != nil || len(records) != 3 {
		t.Errorf("loaded %v, %v", records, err)
	}
	if len(f.records) != 0 || len(cluster.copies) != 0 {
		t.Errorf("spread to the folder %v and the cluster %v", f.records, cluster.copies)
	}
}

// Once the create was sent, a store that is not well ends nothing.
func TestADispatchedJobIsGoneOnWithWithoutAStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cluster, artifact := newPlace("cluster"), newPlace("artifact")
		both(has(t, checkpoint.Intent, "i"), has(t, checkpoint.Dispatched, "d"))(cluster)
		artifact.fail = func(checkpoint.Step) error { return failure.New(failure.CheckpointStoreFailed, "over quota") }
		s := New(Options{Folder: &folder{}, Shared: []checkpoint.Shared{artifact, cluster}, Arbiter: cluster})
		if _, err := s.loadAndHeal(t, job); err != nil {
			t.Errorf("refused: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		status := s.Finish(ctx)
		if len(status.Missing) != 2 || status.Missing[0].Place != "artifact" || status.Missing[1].Place != "artifact" {
			t.Errorf("missing: %v", status.Missing)
		}
	})
}

// An intent that a store does not take back is missing there.
func TestAnIntentThatIsNotHealedIsMissing(t *testing.T) {
	t.Parallel()
	cluster, artifact := newPlace("cluster"), newPlace("artifact")
	has(t, checkpoint.Intent, "i")(cluster)
	artifact.fail = func(checkpoint.Step) error { return failure.New(failure.CheckpointStoreFailed, "over quota") }
	s := New(Options{Folder: &folder{}, Shared: []checkpoint.Shared{artifact, cluster}, Arbiter: cluster})
	if _, err := s.loadAndHeal(t, job); failure.CodeOf(err) != failure.CheckpointStoreFailed {
		t.Errorf("loaded with the error %v", err)
	}
	if status := s.Finish(t.Context()); !status.Recorded || len(status.Missing) != 2 {
		t.Errorf("recorded: %v, missing: %v", status.Recorded, status.Missing)
	}
}

// A try that hangs does not keep the end from being stored.
func TestTheNewestRecordDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		artifact := &hanging{place: newPlace("artifact")}
		s := New(Options{Folder: &folder{}, Shared: []checkpoint.Shared{artifact}})
		for _, step := range []checkpoint.Step{checkpoint.Dispatched, checkpoint.Terminal} {
			if err := s.Put(t.Context(), job, record(t, step, "x")); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		status := s.Finish(ctx)
		if _, ok := artifact.copies[checkpoint.Terminal]; !ok || len(status.Missing) != 1 || status.Missing[0].Step != checkpoint.Dispatched {
			t.Errorf("missing: %v", status.Missing)
		}
	})
}

// hanging is a place that never takes a dispatched record.
type hanging struct{ *place }

func (h *hanging) Write(ctx context.Context, execution string, documents ...checkpoint.Document) error {
	if documents[0].Step == checkpoint.Dispatched {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return h.place.Write(ctx, execution, documents...)
}

// A permission that is missing in the end is not waited for.
func TestNobodyWaitsForAPermission(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cluster := newPlace("cluster")
		cluster.fail = func(checkpoint.Step) error { return failure.New(failure.PermissionDenied, "no update") }
		s := New(Options{Folder: &folder{}, Shared: []checkpoint.Shared{cluster}})
		if err := s.Put(t.Context(), job, record(t, checkpoint.Terminal, "x")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		if status := s.Finish(t.Context()); len(status.Missing) != 1 || time.Since(start) > time.Second {
			t.Errorf("missing %v after %s", status.Missing, time.Since(start))
		}
	})
}
