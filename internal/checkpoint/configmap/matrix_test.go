package configmap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// faults are the ways in which one call goes wrong.
var faults = map[string]func(ctx context.Context, verb string) fault{
	"fails before":          func(_ context.Context, verb string) fault { return fault{err: unavailable(verb)} },
	"fails after":           func(_ context.Context, verb string) fault { return fault{err: unavailable(verb), after: true} },
	"times out before":      func(_ context.Context, verb string) fault { return fault{err: timedOut(verb)} },
	"times out after":       func(_ context.Context, verb string) fault { return fault{err: timedOut(verb), after: true} },
	"hangs before":          func(ctx context.Context, verb string) fault { return fault{err: hang(ctx, verb)} },
	"is throttled":          func(_ context.Context, verb string) fault { return fault{err: throttled(verb, 3*time.Second)} },
	"is refused":            func(_ context.Context, verb string) fault { return fault{err: rejected(verb)} },
	"is denied":             func(_ context.Context, verb string) fault { return fault{err: denied(verb)} },
	"has no way":            func(_ context.Context, verb string) fault { return fault{err: unreachable(verb)} },
	"conflicts":             func(_ context.Context, verb string) fault { return fault{err: conflict(verb)} },
	"is answered by a 404":  func(_ context.Context, verb string) fault { return fault{err: notFound(verb)} },
	"exists, says the call": func(_ context.Context, verb string) fault { return fault{err: exists(verb)} },
}

// others is what another run or a person does between two calls of ours.
var others = map[string]func(s *scene){
	"nobody comes": func(*scene) {},
	"somebody adds a note": func(s *scene) {
		if s.object(testExecution) != nil {
			s.change(testExecution, func(o contract.Object) { member(o, "data")["note"] = "seen" })
		}
	},
	"somebody deletes it":          func(s *scene) { s.remove(testExecution) },
	"another run has an intent":    func(s *scene) { s.byAnother(intent("other")...) },
	"another run sees the Job end": func(s *scene) { s.byAnother(document(checkpoint.Terminal, "a")) },
}

// byAnother writes as another run would that has no trouble.
func (s *scene) byAnother(documents ...checkpoint.Document) {
	s.change(testExecution, func(object contract.Object) {
		s.store.mark(object)
		for _, d := range documents {
			if _, found, _ := documentOf(object, d.Step); !found {
				s.store.set(object, d)
			}
		}
	})
}

// A Write that succeeded is found by others, whatever went wrong, and no content is
// ever replaced by another: the fake sees to that. What failed can be done again.
func TestFaults(t *testing.T) {
	t.Parallel()
	schedules, stored, taken := 0, 0, 0
	// With the race detector on, each seventh: this is about one caller, and the
	// test of races has many.
	each := 1
	if raceEnabled {
		each = 7
	}
	for faultName, wrong := range faults {
		for otherName, other := range others {
			// The call that goes wrong, how often in a row, and before which call the
			// others come.
			for at := range 6 * 2 * 6 {
				first, times, come := at%6+1, at/6%2+1, at/12+1
				if otherName == "nobody comes" && come > 1 {
					continue
				}
				name := fmt.Sprintf("call %d %s (%d times), %s before call %d", first, faultName, times, otherName, come)
				if schedules++; schedules%each != 0 {
					continue
				}
				synctest.Test(t, func(t *testing.T) {
					s := &scene{t: t, fake: newFake(t)}
					s.fault = func(ctx context.Context, n int, verb string) fault {
						if n == come {
							other(s)
						}
						if n >= first && n < first+times {
							return wrong(ctx, verb)
						}
						return fault{}
					}
					s.store = &Store{Options: Options{Now: time.Now}} // byAnother marks with it
					s.store = s.another()
					a, b := s.run(name)
					stored, taken = stored+a, taken+b
				})
				if t.Failed() {
					t.Fatal(name)
				}
			}
		}
	}
	schedules /= each
	t.Logf("%d schedules, in which %d writes succeeded and %d came second", schedules, stored, taken)
	if stored < 2*schedules || taken == 0 {
		t.Errorf("of %d schedules only %d writes succeeded, and %d came second", schedules, stored, taken)
	}
}

// run does what a run does, each thing again until it is done or another run was
// first, and checks what others find.
func (s *scene) run(name string) (stored, taken int) {
	s.t.Helper()
	for range 3 {
		_, err := s.store.Read(s.t.Context(), testExecution)
		if err == nil {
			break
		}
		s.coded(name, err)
	}
	for _, documents := range [][]checkpoint.Document{intent("a"), {document(checkpoint.Dispatched, "a")}, {document(checkpoint.Terminal, "a")}} {
		err := errors.New("not written")
		for tries := 0; err != nil && !errors.Is(err, checkpoint.ErrTaken); tries++ {
			if err = s.store.Write(s.t.Context(), testExecution, documents...); err == nil || errors.Is(err, checkpoint.ErrTaken) {
				break
			}
			s.coded(name, err)
			if tries > 3 {
				s.t.Fatalf("%s: not stored after %d tries: %v", name, tries, err)
			}
		}
		if err != nil {
			// Another run's intent is there, and only then.
			if have, _, _ := documentOf(s.object(testExecution), checkpoint.Intent); !bytes.Equal(have.Data, document(checkpoint.Intent, "other").Data) {
				s.t.Errorf("%s: taken, and the intent is %q", name, have.Data)
			}
			return stored, taken + 1
		}
		stored++
		s.durable(name, documents)
	}
	return stored, taken
}

// durable checks that others find the documents.
func (s *scene) durable(name string, documents []checkpoint.Document) {
	s.t.Helper()
	misbehave := s.fault
	s.fault = nil
	found := s.read(s.another())
	s.fault = misbehave
	for _, d := range documents {
		if !bytes.Equal(found[d.Step].Data, d.Data) {
			s.t.Errorf("%s: another run finds %q, %q was stored", name, found[d.Step].Data, d.Data)
		}
	}
}

// coded checks an error that is not the end of the run's time.
func (s *scene) coded(name string, err error) {
	s.t.Helper()
	f, ok := err.(*failure.Error) //nolint:errorlint // what is returned must be the failure itself
	if !ok || f.Code != failure.CheckpointStoreFailed && f.Code != failure.PermissionDenied || f.Fix == "" {
		s.t.Errorf("%s: got %v", name, err)
	}
}
