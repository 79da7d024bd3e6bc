package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// Field cases: a wait that hangs for ever when the Job fails; conditions of
// which the interim one comes first.
func TestWatchShowsEachStateOfARealJob(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"watch-failed.jsonstream":           "310 312 337 339 344 361 363",
		"watch-complete-deleted.jsonstream": "290 292 306 328 333 335",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, w *world) {
				for i, e := range sample(t, name) {
					if i == 0 {
						w.publish(e.kind, e.object)
						continue
					}
					w.at(time.Duration(i)*time.Second, func() { w.publish(e.kind, e.object) })
				}
				all, err := w.watch(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				wantStates(t, all, want, 10*time.Second)
				wantRequests(t, w.api, "get", "watch "+all[0].state)
				time.Sleep(time.Minute) // what is still to be published is
			})
		})
	}
}

func TestWatchGoesOnFromTheStateThatWasSeen(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		w.publish(eventAdded, job(100, ""))
		w.publish(eventModified, job(101, "")) // between the create and the watch
		w.at(time.Second, func() { w.publish(eventModified, job(102, "Complete")) })
		all, err := w.watch(t.Context(), job(100, ""))
		if err != nil {
			t.Fatal(err)
		}
		wantStates(t, all, "101 102", time.Second)
		wantRequests(t, w.api, "watch 100")
	})
}

// Field case: the Job is deleted by hand while it is waited for.
func TestWatchShowsThatAJobWasDeleted(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		w.publish(eventAdded, job(100, ""))
		w.at(time.Second, func() { w.publish(eventDeleted, job(101, "")) })
		all, err := w.watch(t.Context(), job(100, ""))
		if err != nil {
			t.Fatal(err)
		}
		wantStates(t, all, "absent", time.Second)
	})
}

// Field case: a TTL of 0 removes the Job before anybody sees it finish.
func TestWatchShowsAbsenceWhenTheJobWentUnseen(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		w.publish(eventAdded, job(100, ""))
		w.publish(eventModified, job(101, "Complete"))
		w.publish(eventDeleted, job(102, "Complete"))
		w.forget(102)
		all, err := w.watch(t.Context(), job(100, ""))
		if err != nil {
			t.Fatal(err)
		}
		wantStates(t, all, "absent", time.Second)
		wantRequests(t, w.api, "watch 100", "list")
	})
}

func TestWatchShowsAbsenceAndWhatComesAfter(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		w.at(time.Hour, func() { w.publish(eventAdded, job(100, "")) })
		w.at(time.Hour+time.Second, func() { w.publish(eventModified, job(101, "Failed")) })
		all, err := w.watchUntil(t.Context(), nil, func(job contract.Object) bool { return job != nil && terminal(job) })
		if err != nil {
			t.Fatal(err)
		}
		wantStates(t, all, "absent 100 101", time.Hour+time.Second)
	})
}

func TestWatchShowsAnotherJobOfTheSameName(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		other := job(100, "")
		other["metadata"].(map[string]any)["uid"] = "uid-2"
		w.publish(eventAdded, other)
		w.at(time.Second, func() { w.publish(eventModified, job(101, "Complete")) })
		// The version is the same, as it can be after a restore from a backup.
		all, err := w.watch(t.Context(), job(99, ""))
		if err != nil {
			t.Fatal(err)
		}
		wantStates(t, all, "100 101", time.Second)
	})
}

func TestWatchListsAgainWhenItsVersionIsGone(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]http.HandlerFunc{
		"as an event": nil,
		"as a status": refuse(http.StatusGone, "Expired", "too old resource version: 100 (200)"),
		"old spelling": func(w http.ResponseWriter, _ *http.Request) {
			answerFrame(w, eventError, statusBody(http.StatusGone, "Gone", "The resourceVersion for the provided watch is too old."))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, w *world) {
				if fault != nil {
					w.fault = once("watch", 1, fault)
				}
				w.publish(eventAdded, job(100, ""))
				w.publish(eventModified, job(200, ""))
				w.forget(200)
				w.at(2*time.Second, func() { w.publish(eventModified, job(201, "Complete")) })
				all, err := w.watch(t.Context(), job(100, ""))
				if err != nil {
					t.Fatal(err)
				}
				wantStates(t, all, "200 201", 2*time.Second)
				wantRequests(t, w.api, "watch 100", "list", "watch 200")
			})
		})
	}
}

// Items of a list have no kind of their own; what is shown must be whole.
func TestWatchShowsAWholeObjectFromAList(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		w.publish(eventAdded, job(200, "Complete"))
		w.forget(200)
		var got contract.Object
		err := w.client.WatchJob(t.Context(), testNamespace, testName, job(100, ""), func(job contract.Object) (bool, error) {
			got = job
			return false, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got["kind"] != "Job" || got["apiVersion"] != "batch/v1" {
			t.Errorf("kind %v, apiVersion %v", got["kind"], got["apiVersion"])
		}
	})
}

func TestWatchBeginsAgainWhenTheServerEndsIt(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		w.bookmarks = time.Minute
		w.publish(eventAdded, job(100, ""))
		w.at(3*time.Hour, func() { w.publish(eventModified, job(900, "Complete")) })
		all, err := w.watch(t.Context(), job(100, ""))
		if err != nil {
			t.Fatal(err)
		}
		wantStates(t, all, "900", 3*time.Hour)
		watches := 0
		for _, r := range w.requests() {
			if strings.HasPrefix(r, "watch") {
				watches++
			}
		}
		// A watch is asked to last 5 to 10 minutes.
		if watches < 18 || watches > 36 {
			t.Errorf("%d watches in 3 hours, want 18 to 36", watches)
		}
	})
}

func TestWatchDoesNotHurryAServerThatEndsEachWatchAtOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]http.HandlerFunc{
		"nothing": func(http.ResponseWriter, *http.Request) {},
		"an old event": func(w http.ResponseWriter, _ *http.Request) {
			answerFrame(w, eventModified, []byte(`{"kind":"Job","metadata":{"name":"`+testName+`","namespace":"t1","uid":"uid-1","resourceVersion":"100"}}`))
		},
		"gone":    refuse(http.StatusGone, "Expired", "too old"),
		"dropped": drop,
		"a page": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, "<html><body>Sign in</body></html>")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, w *world) {
				w.publish(eventAdded, job(100, ""))
				w.fault = w.until(10*time.Minute, "watch", fault)
				w.at(10*time.Minute, func() { w.publish(eventModified, job(101, "Complete")) })
				all, err := w.watch(t.Context(), job(100, ""))
				if err != nil {
					t.Fatal(err)
				}
				wantStates(t, all, "101", 10*time.Minute+15*time.Second)
				// 10 s is the longest pause, and a pause may be followed by a
				// watch and a read.
				if n := len(w.requests()); n > 140 {
					t.Errorf("%d requests in 10 minutes", n)
				}
			})
		})
	}
}

func TestWatchReturnsWhatSeeReturned(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		w.publish(eventAdded, job(100, ""))
		want := errors.New("not the Job that was reviewed")
		err := w.client.WatchJob(t.Context(), testNamespace, testName, nil, func(contract.Object) (bool, error) { return true, want })
		if err != want { //nolint:errorlint // it is the very error
			t.Errorf("got %v, want see's error", err)
		}
	})
}

func TestWatchReturnsTheCauseOfItsContext(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(string, http.ResponseWriter, *http.Request) bool{
		"watching":    nil,
		"connecting":  once("watch", 100, hang),
		"proving":     once("get", 100, hang),
		"pausing":     once("get", 1000, refuse(http.StatusServiceUnavailable, "ServiceUnavailable", "no")),
		"polling":     once("watch", 100, forbidden("watch")),
		"being asked": once("watch", 100, refuse(http.StatusTooManyRequests, "TooManyRequests", "later")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, w *world) {
				w.publish(eventAdded, job(100, ""))
				w.fault = fault
				want := errors.New("the runner asked to stop")
				ctx, cancel := context.WithCancelCause(t.Context())
				w.at(35*time.Second, func() { cancel(want) })
				_, err := w.watch(ctx, job(100, ""))
				if !errors.Is(err, want) {
					t.Errorf("got %v, want the cause", err)
				}
				if took := time.Since(w.start); took != 35*time.Second {
					t.Errorf("returned after %s, want 35s", took)
				}
			})
		})
	}
}
