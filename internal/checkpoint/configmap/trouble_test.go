package configmap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
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

func timedOut(verb string) error {
	return callError(verb, "x", oneshot.TimedOut, 0, "", "no answer in the time that a request gets")
}

func throttled(verb string, after time.Duration) error {
	err := callError(verb, "x", oneshot.Throttled, http.StatusTooManyRequests, "TooManyRequests", "come again")
	err.(*oneshot.CallError).RetryAfter = after //nolint:errorlint // made above
	return err
}

func rejected(verb string) error {
	return callError(verb, "x", oneshot.Rejected, http.StatusUnprocessableEntity, "Invalid", "denied request: no ConfigMaps on Fridays")
}

func unreachable(verb string) error {
	return callError(verb, "x", oneshot.Unreachable, 0, "", "no such host")
}

func conflict(verb string) error {
	kind := oneshot.Conflict
	if verb == "create" {
		kind = oneshot.Throttled
	}
	return callError(verb, "x", kind, http.StatusConflict, "Conflict", "the object has been modified")
}

func notFound(verb string) error {
	return callError(verb, "x", oneshot.NotFound, http.StatusNotFound, "NotFound", "not found")
}

func exists(verb string) error {
	return callError(verb, "x", oneshot.AlreadyExists, http.StatusConflict, "AlreadyExists", "already exists")
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
				set(object, d)
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

// always makes a fault of all calls of a verb.
func always(verb string, wrong func(ctx context.Context, verb string) error) func(context.Context, int, string) fault {
	return func(ctx context.Context, _ int, v string) fault {
		if v != verb {
			return fault{}
		}
		return fault{err: wrong(ctx, v)}
	}
}

func plainly(wrong func(string) error) func(context.Context, string) error {
	return func(_ context.Context, verb string) error { return wrong(verb) }
}

// What lasts is told in the end, within about a minute.
func TestFaultsThatLast(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wrong func(context.Context, string) error
		code  failure.Code
		says  []string
		// within is how long it may take, and calls how many it takes at least.
		within time.Duration
		calls  int
	}{
		"unavailable": {plainly(unavailable), failure.CheckpointStoreFailed, []string{"gave up after", "upstream connect error", "Run again when the API server answers"}, time.Minute, 8},
		"timed out":   {plainly(timedOut), failure.CheckpointStoreFailed, []string{"gave up after", "no answer in the time"}, time.Minute, 8},
		"hanging":     {hang, failure.CheckpointStoreFailed, []string{"gave up after", "no answer in 15s"}, 75 * time.Second, 4},
		"throttled": {
			plainly(func(verb string) error { return throttled(verb, 7*time.Second) }), failure.CheckpointStoreFailed,
			[]string{"gave up after", "The API server is busy"}, time.Minute, 7,
		},
		"throttled for long": {
			plainly(func(verb string) error { return throttled(verb, 20*time.Minute) }), failure.CheckpointStoreFailed,
			[]string{"come again", "The API server is busy"}, 0, 1,
		},
		"refused":     {plainly(rejected), failure.CheckpointStoreFailed, []string{"no ConfigMaps on Fridays", "a policy"}, 0, 1},
		"unreachable": {plainly(unreachable), failure.CheckpointStoreFailed, []string{"no such host", "reaches the API server"}, 0, 1},
		"denied": {
			plainly(denied), failure.PermissionDenied,
			[]string{`User "dev" cannot`, "get, list, create, update and delete on configmaps in namespace fdai-runtime", "other checkpoint-stores"}, 0, 1,
		},
	} {
		for _, verb := range []string{"get", "create", "update"} {
			t.Run(name+" "+verb, func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T, s *scene) {
					if verb == "update" {
						s.write(intent("a")...)
					}
					if verb == "get" {
						s.byAnother(intent("other")...)
					}
					s.requests()
					s.fault = always(verb, test.wrong)
					began := time.Now()
					err := s.store.Write(t.Context(), testExecution, document(checkpoint.Dispatched, "a"))
					wantFailure(t, err, test.code, append(test.says, "storing the dispatched record in ConfigMap fdai-runtime/aks-oneshot-"+testExecution, "could not "+verb+" configmaps")...)
					if took := time.Since(began); took > test.within {
						t.Errorf("it took %s, want at most %s", took, test.within)
					}
					if calls := s.requests(); len(calls) < test.calls {
						t.Errorf("only %d calls: %v", len(calls), calls)
					}
					if _, ok := errors.AsType[*oneshot.CallError](err); !ok && name != "hanging" {
						t.Error("the answer is not in the error")
					}
					if verb != "get" {
						return
					}
					_, err = s.store.Read(t.Context(), testExecution)
					wantFailure(t, err, test.code, append(test.says, "looking for records in ConfigMap")...)
				})
			})
		}
	}
}

func TestRetryAfterIsHeeded(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.fault = func(_ context.Context, n int, verb string) fault {
			if n == 1 {
				return fault{err: throttled(verb, 20*time.Second)}
			}
			return fault{}
		}
		began := time.Now()
		s.write(intent("a")...)
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("it came again after %s", took)
		}
		s.asked("create", "create")
	})
}

// A server that was not well refuses what it allows for a while.
func TestDeniedAfterTrouble(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lasts time.Duration
		code  failure.Code
	}{"settles": {5 * time.Second, ""}, "stays": {time.Hour, failure.PermissionDenied}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, s *scene) {
				began := time.Now()
				s.fault = func(_ context.Context, n int, verb string) fault {
					switch {
					case n == 1:
						return fault{err: unavailable(verb)}
					case time.Since(began) < test.lasts:
						return fault{err: denied(verb)}
					}
					return fault{}
				}
				err := s.store.Write(t.Context(), testExecution, intent("a")...)
				if failure.CodeOf(err) != test.code || time.Since(began) > 30*time.Second {
					t.Errorf("after %s: %v", time.Since(began), err)
				}
			})
		})
	}
}

func TestUnauthorizedIsNotMendedByARole(t *testing.T) {
	t.Parallel()
	for fix, want := range map[string]string{"": "does not accept the credential", "Get another token": "Get another token"} {
		bubble(t, func(t *testing.T, s *scene) {
			s.fault = always("create", func(context.Context, string) error {
				return &oneshot.CallError{Verb: "create", Resource: "configmaps", Kind: oneshot.Denied, Status: http.StatusUnauthorized, Fix: fix, Err: errors.New("Unauthorized")}
			})
			err := s.store.Write(t.Context(), testExecution, intent("a")...)
			wantFailure(t, err, failure.PermissionDenied, want)
			if strings.Contains(err.Error(), "verbs") {
				t.Errorf("a Role is asked for: %v", err)
			}
		})
	}
}

// What the client knows of this cluster comes before what is true of any.
func TestDeniedWithAHint(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.fault = always("create", func(context.Context, string) error {
			return &oneshot.CallError{Verb: "create", Resource: "configmaps", Kind: oneshot.Denied, Status: http.StatusForbidden, Fix: "Bind a Role to user 1", Err: errors.New("no")}
		})
		wantFailure(t, s.store.Write(t.Context(), testExecution, intent("a")...), failure.PermissionDenied,
			"Bind a Role to user 1. Keeping records in the cluster needs the verbs")
	})
}

func TestMissingNamespace(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.fault = always("create", plainly(notFound))
		wantFailure(t, s.store.Write(t.Context(), testExecution, intent("a")...), failure.CheckpointStoreFailed, "namespace fdai-runtime is there")
		s.asked("create")
	})
}

// Somebody is quicker each time.
func TestAConfigMapThatNeverRests(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.write(intent("a")...)
		s.fault = func(_ context.Context, n int, _ string) fault {
			s.change(testExecution, func(o contract.Object) { under(o, "data")["count"] = strconv.Itoa(n) })
			return fault{}
		}
		wantFailure(t, s.store.Write(t.Context(), testExecution, document(checkpoint.Dispatched, "a")), failure.CheckpointStoreFailed, "somebody else changed it each time")
	})
}

func TestTheEndOfTheContext(t *testing.T) {
	t.Parallel()
	cause := errors.New("the run was cancelled")
	for name, wrong := range map[string]func(context.Context, string) error{"hanging": hang, "unavailable": plainly(unavailable)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, s *scene) {
				s.byAnother(intent("other")...)
				s.fault = func(ctx context.Context, _ int, verb string) fault { return fault{err: wrong(ctx, verb)} }
				for _, do := range []func(ctx context.Context) error{
					func(ctx context.Context) error { return s.store.Write(ctx, testExecution, intent("a")...) },
					func(ctx context.Context) error {
						// The list counts for the first.
						_, _ = s.store.Read(ctx, testExecution)
						_, err := s.store.Read(ctx, testExecution)
						return err
					},
				} {
					ctx, cancel := context.WithCancelCause(t.Context())
					began := time.Now()
					time.AfterFunc(3*time.Second, func() { cancel(cause) })
					err := do(ctx)
					if !errors.Is(err, cause) || failure.CodeOf(err) != "" {
						t.Errorf("got %v", err)
					}
					if took := time.Since(began); took != 3*time.Second {
						t.Errorf("it took %s", took)
					}
				}
			})
		})
	}
}

// There is no waiting for a try that would come after the deadline.
func TestTheDeadlineIsForeseen(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.fault = always("create", plainly(func(verb string) error { return throttled(verb, 30*time.Second) }))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		began := time.Now()
		wantFailure(t, s.store.Write(ctx, testExecution, intent("a")...), failure.CheckpointStoreFailed, "come again")
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %s", took)
		}
	})
}

// One writes after the other, and whoever waits for that can give up.
func TestWaitingForATurn(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.fault = always("create", hang)
		go func() { _ = s.store.Write(t.Context(), testExecution, intent("a")...) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.store.Write(ctx, testExecution, document(checkpoint.Dispatched, "a")); !errors.Is(err, context.DeadlineExceeded) || failure.CodeOf(err) != "" {
			t.Errorf("got %v", err)
		}
		if n := len(slices.DeleteFunc(s.requests(), func(verb string) bool { return verb != "create" })); n != 1 {
			t.Errorf("%d creates at the same time", n)
		}
		time.Sleep(2 * time.Minute)
	})
}
