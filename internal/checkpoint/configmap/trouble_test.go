package configmap

import (
	"context"
	"errors"
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
		"hanging":     {hang, failure.CheckpointStoreFailed, []string{"gave up after", "no answer in the time that a request gets here"}, 95 * time.Second, 2},
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

// A webhook that does not answer holds each write up for as long as it may, which is
// no reason to take the write back.
func TestASlowWebhook(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, s *scene) {
		s.fault = func(ctx context.Context, _ int, verb string) fault {
			select {
			case <-time.After(30 * time.Second):
				return fault{}
			case <-ctx.Done():
				return fault{err: hang(ctx, verb)}
			}
		}
		s.write(intent("a")...)
		s.asked("create")
		s.write(document(checkpoint.Dispatched, "a"))
		s.asked("update")
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
