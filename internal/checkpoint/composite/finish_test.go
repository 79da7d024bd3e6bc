package composite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

// stuck is a place that does not come back from a write until it is let go,
// whatever its context says.
type stuck struct {
	*place
	until chan struct{}
}

func (s stuck) Write(context.Context, string, ...checkpoint.Document) error {
	<-s.until
	return errors.New("let go")
}

func TestFinishEndsInItsTime(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		place func(chan struct{}) checkpoint.Shared
		most  time.Duration
	}{
		{"all is well", func(chan struct{}) checkpoint.Shared { return newPlace("artifact") }, 0},
		{"a place fails", func(chan struct{}) checkpoint.Shared {
			p := newPlace("artifact")
			p.fail = func(checkpoint.Step) error { return errors.New("not well") }
			return p
		}, 30 * time.Second},
		{"a place ignores its context", func(until chan struct{}) checkpoint.Shared { return stuck{newPlace("artifact"), until} }, 30*time.Second + parting},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				until := make(chan struct{})
				f := &folder{}
				s := New(Options{Folder: f, Shared: []checkpoint.Shared{test.place(until)}})
				if err := s.Put(t.Context(), job, record(t, checkpoint.Terminal, "x")); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				start := time.Now()
				status := s.Finish(ctx)
				if took := time.Since(start); took > test.most {
					t.Errorf("it took %s, at most %s were given", took, test.most)
				}
				want := 1
				if test.most == 0 {
					want = 0
				}
				if len(status.Missing) != want || want == 1 && (status.Missing[0].Place != "artifact" || status.Missing[0].Err == nil) {
					t.Errorf("missing: %v", status.Missing)
				}
				if _, ok := f.records[checkpoint.Terminal]; !ok {
					t.Error("the work folder does not have the record")
				}
				close(until)
			})
		})
	}
}

// A Job is waited for, whatever becomes of the work folder.
func TestAWorkFolderThatHangsHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lines, until := &told{}, make(chan struct{})
		f := &folder{fail: func(checkpoint.Step) error { <-until; return nil }}
		s := New(Options{Folder: f, Notify: lines.notify})
		start := time.Now()
		err := s.Put(t.Context(), job, record(t, checkpoint.Dispatched, "x"))
		if !errors.Is(err, checkpoint.ErrLater) || time.Since(start) != folderPatience {
			t.Errorf("it took %s and ended with the error %v", time.Since(start), err)
		}
		close(until)
		if status := s.Finish(t.Context()); len(status.Missing) != 0 || len(f.records) != 1 {
			t.Errorf("missing: %v", status.Missing)
		}
	})
}

// A record that waits to be tried again is tried once more in the end, and the
// ones behind it do not wait for it.
func TestALateRecordIsTriedOnceMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var well atomic.Bool
		artifact := newPlace("artifact")
		artifact.fail = func(step checkpoint.Step) error {
			if !well.Load() && step == checkpoint.Dispatched {
				return errors.New("not well")
			}
			return nil
		}
		s := New(Options{Folder: &folder{}, Shared: []checkpoint.Shared{artifact}})
		for _, step := range []checkpoint.Step{checkpoint.Dispatched, checkpoint.Terminal} {
			if err := s.Put(t.Context(), job, record(t, step, "x")); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Minute)
		given := artifact.given()
		if !slices.Contains(given, checkpoint.Terminal) {
			t.Error("the terminal record waited for the one before it")
		}
		if tries := len(given); tries < 15 || tries > 40 {
			t.Errorf("%d tries in ten minutes", tries)
		}
		well.Store(true)
		start := time.Now()
		if status := s.Finish(t.Context()); len(status.Missing) != 0 || time.Since(start) != 0 {
			t.Errorf("missing %v after %s", status.Missing, time.Since(start))
		}
	})
}

// A panic of a place in the background is told and costs its record only; one
// before a create ends the run where people are told of it.
func TestAPlaceThatPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lines, artifact, cluster := &told{}, newPlace("artifact"), newPlace("cluster")
		artifact.fail = func(checkpoint.Step) error { panic("a bug") }
		s := New(Options{Folder: &folder{}, Shared: []checkpoint.Shared{artifact, cluster}, Notify: lines.notify})
		if err := s.Put(t.Context(), job, record(t, checkpoint.Dispatched, "x")); err != nil {
			t.Error(err)
		}
		status := s.Finish(t.Context())
		if len(status.Missing) != 1 || status.Missing[0].Place != "artifact" || len(cluster.copies) != 1 {
			t.Errorf("missing: %v, the cluster has %v", status.Missing, cluster.copies)
		}
		lines.says(t, "dispatched record of "+job, "artifact", "a bug")

		defer func() {
			if p := recover(); fmt.Sprint(p) != "a bug" {
				t.Errorf("the panic %v came", p)
			}
		}()
		_ = New(Options{Folder: &folder{}, Shared: []checkpoint.Shared{cluster, artifact}}).Put(t.Context(), job, record(t, checkpoint.Intent, "x"))
		t.Error("the panic was swallowed")
	})
}

// cleaned is a place that can remove what is superfluous.
type cleaned struct {
	*place
	// lost: what is written does not stay.
	lost  bool
	calls []string
}

func (c *cleaned) Read(ctx context.Context, execution string) (checkpoint.Found, error) {
	c.calls = append(c.calls, "read")
	return c.place.Read(ctx, execution)
}

func (c *cleaned) Write(ctx context.Context, execution string, documents ...checkpoint.Document) error {
	c.calls = append(c.calls, "write "+string(documents[len(documents)-1].Step))
	if c.lost {
		return nil
	}
	return c.place.Write(ctx, execution, documents...)
}

func (c *cleaned) Clean(context.Context, string) error {
	c.calls = append(c.calls, "clean")
	return nil
}

func TestCleanupComesLast(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		lost bool
		want []string
	}{
		{"stored", false, []string{"write terminal", "read", "clean"}},
		{"not there when it is read back", true, []string{"write terminal", "read"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			lines := &told{}
			c := &cleaned{place: newPlace("artifact"), lost: test.lost}
			s := New(Options{Folder: &folder{}, Shared: []checkpoint.Shared{c}, Cleanup: true, Notify: lines.notify})
			for _, step := range []checkpoint.Step{checkpoint.Dispatched, checkpoint.Terminal} {
				if err := s.Put(t.Context(), job, record(t, step, "x")); err != nil {
					t.Fatal(err)
				}
			}
			s.Finish(t.Context())
			// Which of the records comes first is not said, but nothing comes after the end.
			have := c.calls
			if len(have) > 0 && have[0] == "write dispatched" {
				have = have[1:]
			} else if test.lost && len(have) > 0 && have[len(have)-1] == "write dispatched" {
				have = have[:len(have)-1] // nothing was removed
			}
			if !slices.Equal(have, test.want) {
				t.Errorf("it was called %v, want %v", c.calls, test.want)
			}
			if test.lost {
				lines.says(t, "artifact", "the older records of "+job+" are kept", "cannot be read back")
			}
		})
	}
}
