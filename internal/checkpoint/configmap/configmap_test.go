package configmap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// What a run costs before and after its dispatch.
func TestRequestsOfARun(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, s *scene) {
		s.read(s.store)
		s.asked()
		s.write(intent("a")...)
		s.asked("create")
		s.write(document(checkpoint.Dispatched, "a"))
		s.asked("update")
		s.write(document(checkpoint.Terminal, "a"))
		s.asked("update")
		s.holds(append(intent("a"), document(checkpoint.Dispatched, "a"), document(checkpoint.Terminal, "a"))...)
		s.asked("list", "get")
	})
}

func TestWhatAConfigMapLooksLike(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		signed := document(checkpoint.Intent, "a")
		signed.Seal = strings.Repeat("5a", 32)
		s.write(document(checkpoint.Prepared, "a"), signed)
		object := s.object(testExecution)
		metadata := under(object, "metadata")
		for _, key := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
			delete(metadata, key)
		}
		want := contract.Object{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{
				"name": "aks-oneshot-fdai-inventory-0123456789abcdef", "namespace": "fdai-runtime",
				"labels": map[string]any{
					"app.kubernetes.io/managed-by": "aks-oneshot", "app.kubernetes.io/component": "checkpoint",
					"aks-oneshot/cronjob": "inventory", "aks-oneshot/purpose": "inventory",
				},
				"annotations": map[string]any{
					// The clock of a bubble begins in 2000.
					"aks-oneshot/expires-at": "2000-03-31T00:00:00Z", "aks-oneshot/attempt": "2", "aks-oneshot/run": testRun,
					"aks-oneshot/source-commit":      strings.Repeat("c", 40),
					"aks-oneshot/stored-by.prepared": testRun, "aks-oneshot/stored-by.dispatch-intent": testRun,
				},
			},
			"data": map[string]any{
				"prepared.json":        "{\"by\":\"a\",\"state\":\"prepared\"}\n",
				"dispatch-intent.json": "{\"by\":\"a\",\"state\":\"dispatch-intent\"}\n",
				"dispatch-intent.seal": strings.Repeat("5a", 32),
			},
		}
		if diff := cmp.Diff(want, object); diff != "" {
			t.Errorf("the ConfigMap (-want +have)\n%s", diff)
		}
	})
}

// A later write puts off the end, and says who was last. Who stored which step
// stays as it is.
func TestAnnotationsOfALaterWrite(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.write(intent("a")...)
		time.Sleep(24 * time.Hour)
		later := s.another(func(o *Options) { o.Attempt, o.Run, o.SourceCommit = 3, laterRun, "" })
		if err := later.Write(t.Context(), testExecution, document(checkpoint.Dispatched, "a")); err != nil {
			t.Fatal(err)
		}
		have := under(under(s.object(testExecution), "metadata"), "annotations")
		want := map[string]any{
			"aks-oneshot/expires-at": "2000-04-01T00:00:00Z", "aks-oneshot/attempt": "3", "aks-oneshot/run": laterRun,
			"aks-oneshot/stored-by.prepared": testRun, "aks-oneshot/stored-by.dispatch-intent": testRun, "aks-oneshot/stored-by.dispatched": laterRun,
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("annotations (-want +have)\n%s", diff)
		}
	})
}

// Each copy has the attempt that stored it, if that was one of the run that reads.
func TestAttempts(t *testing.T) {
	t.Parallel()
	const anotherRun = "https://github.com/octo/app/actions/runs/170/attempts/2"
	bubble(t, func(t *testing.T, s *scene) {
		write := func(run string, documents ...checkpoint.Document) {
			t.Helper()
			if err := s.another(func(o *Options) { o.Run = run }).Write(t.Context(), testExecution, documents...); err != nil {
				t.Fatal(err)
			}
		}
		write(testRun, intent("a")...)
		write(laterRun, document(checkpoint.Dispatched, "a"))
		// A signature that is put right makes the record nobody else's.
		signed := document(checkpoint.Dispatched, "a")
		signed.Seal = "5a"
		write(testRun, signed)
		write("", document(checkpoint.Ambiguous, "a"))
		write(anotherRun, document(checkpoint.Terminal, "a"))
		for run, want := range map[string]string{
			testRun: "prepared 2, dispatch-intent 2, dispatched 3, dispatch-ambiguous 0, terminal 0",
			"https://github.com/octo/app/actions/runs/17/attempts/12": "prepared 2, dispatch-intent 2, dispatched 3, dispatch-ambiguous 0, terminal 0",
			anotherRun: "prepared 0, dispatch-intent 0, dispatched 0, dispatch-ambiguous 0, terminal 2",
			"":         "prepared 0, dispatch-intent 0, dispatched 0, dispatch-ambiguous 0, terminal 0",
		} {
			found, err := s.another(func(o *Options) { o.Run = run }).Read(t.Context(), testExecution)
			if err != nil {
				t.Fatal(err)
			}
			var have []string
			for _, c := range found.Copies {
				have = append(have, fmt.Sprintf("%s %d", c.Step, c.Attempt))
			}
			if diff := cmp.Diff(want, strings.Join(have, ", ")); diff != "" {
				t.Errorf("run %q (-want +have)\n%s", run, diff)
			}
		}
	})
}

func TestOpenNeedsSomethingToWorkWith(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"api": func(o *Options) { o.API = nil }, "namespace": func(o *Options) { o.Namespace = "" },
		"cronjob": func(o *Options) { o.CronJob = "" }, "retention": func(o *Options) { o.Retention = 0 },
	} {
		s := &scene{t: t, fake: newFake(t)}
		o := s.options()
		change(&o)
		if _, err := Open(t.Context(), o); failure.CodeOf(err) != failure.ConfigInvalid {
			t.Errorf("%s: got %v", name, err)
		}
	}
	s := &scene{t: t, fake: newFake(t)}
	if name := s.another().Name(); name != "cluster" {
		t.Errorf("its name is %q", name)
	}
}

// Of two runs one is first, however they interleave, and later steps of both stay.
func TestRace(t *testing.T) {
	t.Parallel()
	for range 100 {
		s := &scene{t: t, fake: newFake(t)}
		runs := map[string]*Store{"a": s.another(), "b": s.another(), "c": s.another()}
		var mu sync.Mutex
		won := map[string]error{}
		var all sync.WaitGroup
		for name, store := range runs {
			all.Go(func() {
				err := store.Write(context.Background(), testExecution, intent(name)...)
				mu.Lock()
				defer mu.Unlock()
				won[name] = err
			})
		}
		all.Wait()
		var winner []string
		for name, err := range won {
			if err == nil {
				winner = append(winner, name)
			} else if !errors.Is(err, checkpoint.ErrTaken) {
				t.Fatal(err)
			}
		}
		if len(winner) != 1 {
			t.Fatalf("%d won: %v", len(winner), won)
		}
		steps := []checkpoint.Step{checkpoint.Dispatched, checkpoint.Ambiguous, checkpoint.Terminal}
		for i, name := range slices.Sorted(maps.Keys(runs)) {
			all.Go(func() {
				if err := runs[name].Write(context.Background(), testExecution, document(steps[i], "any")); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		s.holds(append(intent(winner[0]), document(steps[0], "any"), document(steps[1], "any"), document(steps[2], "any"))...)
	}
}
