package composite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// busy is a work folder whose writes take a second. It counts those that go on
// at once.
type busy struct {
	folder
	now, most, puts atomic.Int64
	// refused is a step that it refuses for good.
	refused checkpoint.Step
}

func (b *busy) Put(_ context.Context, _ string, r checkpoint.Record) error {
	n := b.now.Add(1)
	defer b.now.Add(-1)
	for most := b.most.Load(); n > most && !b.most.CompareAndSwap(most, n); most = b.most.Load() {
	}
	b.puts.Add(1)
	time.Sleep(time.Second)
	if r.Step == b.refused {
		return checkpoint.Differs("x", "differs")
	}
	return nil
}

// A record that comes while people are told of the one before it must not start
// a second writer beside the first.
func TestAPlaceGetsOneRecordAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &busy{refused: checkpoint.Dispatched}
		s := New(Options{Folder: b, Notify: func(string) { time.Sleep(500 * time.Millisecond) }})
		if err := s.Put(t.Context(), job, record(t, checkpoint.Dispatched, "x")); failure.CodeOf(err) != failure.CheckpointDiffers {
			t.Errorf("the error is %v", err)
		}
		if err := s.Put(t.Context(), job, record(t, checkpoint.Terminal, "x")); err != nil {
			t.Error(err)
		}
		status := s.Finish(t.Context())
		if len(status.Missing) != 1 || status.Missing[0].Step != checkpoint.Dispatched {
			t.Errorf("missing: %v", status.Missing)
		}
		if b.most.Load() != 1 || b.puts.Load() != 2 {
			t.Errorf("two records were written %d times, up to %d at once", b.puts.Load(), b.most.Load())
		}
	})
}

func TestManyRecordsFromManyGoroutines(t *testing.T) {
	t.Parallel()
	const rounds, writers = 100, 8
	f, places := &folder{}, []checkpoint.Shared{newPlace("artifact"), newPlace("cluster")}
	f.records = checkpoint.Records{}
	var flaky atomic.Int64
	for _, p := range places {
		p.(*place).fail = func(checkpoint.Step) error {
			if flaky.Add(1)%97 == 0 {
				return errors.New("not well")
			}
			return nil
		}
	}
	s := New(Options{Folder: f, Shared: places, Notify: func(string) {}})
	r := record(t, checkpoint.Terminal, "x")
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := range rounds {
				if err := s.Put(t.Context(), fmt.Sprintf("job-%d-%d", w, n), r); err != nil {
					t.Error(err)
				}
				if _, err := s.loadAndHeal(t, job); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if status := s.Finish(t.Context()); len(status.Missing) != 0 {
		t.Errorf("missing: %v", status.Missing)
	}
	for _, p := range places {
		if n := len(p.(*place).writes); n < rounds*writers {
			t.Errorf("%s was given %d records, want %d at least", p.Name(), n, rounds*writers)
		}
	}
}
