package artifact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/bundle"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

const intentName = execution + ".dispatch-intent.1"

// names are those of the artifacts that can be had.
func (w *world) names() []string {
	var names []string
	for _, a := range w.Artifacts() {
		if a.Finalized && !a.Deleted {
			names = append(names, a.Name)
		}
	}
	return names
}

func (w *world) forge(name string, documents ...checkpoint.Document) standin.Artifact {
	w.t.Helper()
	data, err := bundle.Pack(execution, documents)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.forgeData(name, data)
}

func (w *world) forgeData(name string, data []byte) standin.Artifact {
	w.t.Helper()
	a, err := w.ForgeArtifact(w.Attempt(), name, data)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// A name that is taken fails no run by itself: what is there counts.
func TestNameIsTaken(t *testing.T) {
	t.Parallel()
	resigned := intent("1")
	resigned[1].Seal = strings.Repeat("6b", 32)
	for name, c := range map[string]struct {
		arrange func(w *world)
		taken   bool
		names   []string
		slept   int
	}{
		"by the same":    {func(w *world) { w.forge(intentName, intent("1")...) }, false, []string{intentName}, 0},
		"by another one": {func(w *world) { w.forge(intentName, intent("2")...) }, true, []string{intentName}, 0},
		"by one that was never finished": {func(w *world) { w.ReserveArtifact(w.Attempt(), intentName) },
			false, []string{intentName + ".2"}, 3},
		"by some that were never finished": {func(w *world) {
			w.ReserveArtifact(w.Attempt(), intentName)
			w.ReserveArtifact(w.Attempt(), intentName+".2")
		}, false, []string{intentName + ".3"}, 6},
		"by one that is damaged":        {func(w *world) { w.forgeData(intentName, []byte("PK")) }, false, []string{intentName, intentName + ".2"}, 0},
		"by one whose content is lost":  {func(w *world) { _ = w.LoseArtifactData(w.forge(intentName, intent("2")...).ID) }, false, []string{intentName, intentName + ".2"}, 0},
		"by the same, signed otherwise": {func(w *world) { w.forge(intentName, resigned...) }, false, []string{intentName, intentName + ".2"}, 0},
		"by a part of it":               {func(w *world) { w.forge(intentName, intent("1")[1]) }, false, []string{intentName, intentName + ".2"}, 0},
		"by the same, further on": {func(w *world) {
			w.ReserveArtifact(w.Attempt(), intentName)
			w.forge(intentName+".2", intent("1")...)
		}, false, []string{intentName + ".2"}, 0},
		"by another one, further on": {func(w *world) {
			w.ReserveArtifact(w.Attempt(), intentName)
			w.forge(intentName+".2", intent("2")...)
		}, true, []string{intentName + ".2"}, 0},
	} {
		for _, listed := range []bool{false, true} {
			for _, reserved := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/listed %t/reserved %t", name, listed, reserved), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, standin.StoresOptions{})
					if listed {
						c.arrange(w)
					}
					s := w.open()
					mustRead(t, s)
					if !listed {
						c.arrange(w)
					}
					if reserved {
						s.Reserve(t.Context(), execution, checkpoint.Intent)
					}
					for range 2 { // the same again comes to the same
						err := s.Write(t.Context(), execution, intent("1")...)
						if errors.Is(err, checkpoint.ErrTaken) != c.taken || err != nil && !c.taken {
							t.Fatal(err)
						}
						if c.taken && (failure.CodeOf(err) != "" || !strings.Contains(err.Error(), "storing the dispatch-intent record of "+execution+" as an artifact: artifact "+c.names[0])) {
							t.Errorf("%v", err)
						}
					}
					if diff := cmp.Diff(c.names, w.names()); diff != "" {
						t.Errorf("artifacts (-want +have):\n%s", diff)
					}
					if !c.taken {
						if stored := s.Artifacts(); len(stored) != 1 || stored[0].Name != c.names[len(c.names)-1] {
							t.Errorf("stored %v", stored)
						}
					}
					if len(w.slept) != c.slept {
						t.Errorf("slept %v", w.slept)
					}
				})
			}
		}
	}
}

// What an earlier attempt stored is left alone when it is equal, and not written over
// when it is not.
func TestEarlierAttemptHasIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{})
	mustWrite(t, w.open(), intent("1")...)
	s := w.next(standin.RerunAll)
	mustWrite(t, s, intent("1")...)
	if err := s.Write(t.Context(), execution, intent("2")...); !errors.Is(err, checkpoint.ErrTaken) {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff([]string{intentName}, w.names()); diff != "" {
		t.Errorf("artifacts (-want +have):\n%s", diff)
	}
	if n := w.Count("CreateArtifact"); n != 1 {
		t.Errorf("%d were created", n)
	}
}

// A name whose creation was ours and got no answer is not waited for.
func TestOwnCreationIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{})
	s := w.open()
	w.on("CreateArtifact", 1, fault{answer: standin.Lost()})
	mustWrite(t, s, intent("1")...)
	if len(w.slept) != 1 {
		t.Errorf("slept %v, want the pause before the second try alone", w.slept)
	}
	if diff := cmp.Diff([]string{intentName + ".2"}, w.names()); diff != "" {
		t.Errorf("artifacts (-want +have):\n%s", diff)
	}
}

// Who holds a name may be slow, and not dead.
func TestNameIsHeldByOneThatIsSlow(t *testing.T) {
	t.Parallel()
	for text, taken := range map[string]bool{"1": false, "2": true} {
		w := newWorld(t, standin.StoresOptions{})
		other := w.open()
		mustRead(t, other)
		w.NextJob()
		s := w.open(func(o *Options) {
			var once sync.Once
			o.Sleep = func(_ context.Context, _ time.Duration) {
				once.Do(func() { mustWrite(t, other, intent(text)...) })
			}
		})
		mustRead(t, s)
		other.Reserve(t.Context(), execution, checkpoint.Intent)
		for len(w.Artifacts()) == 0 {
			time.Sleep(time.Millisecond)
		}
		err := s.Write(t.Context(), execution, intent("1")...)
		if errors.Is(err, checkpoint.ErrTaken) != taken || err != nil && !taken {
			t.Errorf("%v", err)
		}
		if diff := cmp.Diff([]string{intentName}, w.names()); diff != "" {
			t.Errorf("artifacts (-want +have):\n%s", diff)
		}
	}
}

// Jobs of one attempt that store different intents at once: at least one of them is
// told, or they took different names because one was thought dead, and the next
// attempt sees both.
func TestJobsRace(t *testing.T) {
	t.Parallel()
	for range 5 {
		w := newWorld(t, standin.StoresOptions{})
		const jobs = 4
		stores := []*Store{w.open()}
		for range jobs - 1 {
			w.NextJob()
			stores = append(stores, w.open(func(o *Options) { o.Sleep = pause }))
		}
		errs := make([]error, jobs)
		var wg sync.WaitGroup
		for i, s := range stores {
			wg.Go(func() { errs[i] = s.Write(t.Context(), execution, intent(strconv.Itoa(i))...) })
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else if !errors.Is(err, checkpoint.ErrTaken) {
				t.Error(err)
			}
		}
		documents, _ := good(mustRead(t, w.next(standin.RerunAll)))
		if intents := len(documents) - 1; won < 1 || intents != won {
			t.Errorf("%d were told that theirs is stored, %d are: %v", won, intents, errs)
		}
	}
}

// A Store is used by several at once; the writes of one step take turns.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{})
	s := w.open()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { s.Reserve(t.Context(), execution, checkpoint.Intent) })
		wg.Go(func() { mustNot(t, s.Write(t.Context(), execution, intent("1")...)) })
		wg.Go(func() { mustNot(t, s.Write(t.Context(), execution, document(checkpoint.Dispatched, ""))) })
		wg.Go(func() { _, err := s.Read(t.Context(), execution); mustNot(t, err) })
		wg.Go(func() { s.Artifacts() })
	}
	wg.Wait()
	names := w.names()
	slices.Sort(names)
	if diff := cmp.Diff([]string{intentName, execution + ".dispatched.1"}, names); diff != "" {
		t.Errorf("artifacts (-want +have):\n%s", diff)
	}
	wantGood(t, mustRead(t, w.next(standin.RerunAll)), append(intent("1"), document(checkpoint.Dispatched, ""))...)
}

func mustNot(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// A reservation whose address is no longer good is not the end of it.
func TestReservationIsTooOld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{})
	s := w.open()
	s.Reserve(t.Context(), execution, checkpoint.Intent)
	w.on("PutBlock", 1, fault{answer: standin.Status(403, "", "X-Ms-Error-Code", "AuthenticationFailed")})
	mustWrite(t, s, intent("1")...)
	wantGood(t, mustRead(t, w.next(standin.RerunAll)), intent("1")...)
}

// What was written is in the step's own place only; another execution's is ignored,
// and so is what has nearly the name.
func TestOthersAreIgnored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{})
	for _, name := range []string{
		"other-" + intentName, execution + "b.dispatch-intent.1", execution + ".dispatch-intent.01", execution + ".dispatch-intent",
		execution + ".manifest.1", "logs", execution + ".dispatch-intent.1.1", execution,
	} {
		w.forgeData(name, []byte("not ours"))
	}
	s := w.open()
	if found := mustRead(t, s); len(found.Copies) != 0 {
		t.Errorf("%+v", found.Copies)
	}
	mustWrite(t, s, intent("1")...)
	w.NextRun()
	if found := mustRead(t, w.open()); len(found.Copies) != 0 {
		t.Errorf("another run: %+v", found.Copies)
	}
}
