package cluster

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// silent keeps a watch open that never delivers anything.
func silent(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func TestWatchThatNeverWritesIsNoticedIn30Seconds(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]http.HandlerFunc{"no event": silent, "no header": hang} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, w *world) {
				w.publish(eventAdded, job(100, ""))
				w.fault = once("watch", 1<<30, fault)
				w.at(time.Second, func() { w.publish(eventModified, job(101, "")) })
				w.at(5*time.Minute, func() { w.publish(eventModified, job(102, "Complete")) })
				shown, err := w.watch(t.Context(), job(100, ""))
				if err != nil {
					t.Fatal(err)
				}
				wantStates(t, shown, "101 102", 5*time.Minute+30*time.Second)
				if shown[0].after > 30*time.Second {
					t.Errorf("the first change was shown after %s", shown[0].after)
				}
			})
		})
	}
}

func TestWaitingTakesTwoRequestsAMinute(t *testing.T) {
	t.Parallel()
	for name, bookmarks := range map[string]time.Duration{"without bookmarks": 0, "with bookmarks": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, w *world) {
				w.bookmarks = bookmarks
				w.publish(eventAdded, job(100, ""))
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if _, err := w.watch(ctx, job(100, "")); ctx.Err() == nil {
					t.Fatal(err)
				}
				reads, watches := 0, 0
				for _, r := range w.requests() {
					if strings.HasPrefix(r, "watch") {
						watches++
					} else {
						reads++
					}
				}
				if reads > 120 || watches > 12 {
					t.Errorf("%d reads and %d watches in an hour, want at most 120 and 12", reads, watches)
				}
			})
		})
	}
}

func TestProofThatHangsMeansANewConnection(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		w.publish(eventAdded, job(100, ""))
		// A server that stopped, and comes back after two minutes.
		w.fault = all(w.until(2*time.Minute, "watch", silent), w.until(2*time.Minute, "get", hang))
		w.at(time.Minute, func() { w.publish(eventModified, job(101, "Complete")) })
		shown, err := w.watch(t.Context(), job(100, ""))
		if err != nil {
			t.Fatal(err)
		}
		wantStates(t, shown, "101", 3*time.Minute)
		if w.renewed.Load() == 0 {
			t.Error("the connection was kept")
		}
		if n := len(w.told); n != 1 || !strings.Contains(w.told[0], "no answer") {
			t.Errorf("told: %q", w.told)
		}
	})
}

func TestProofThatAWatchOvertakesIsThrownAway(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		w.publish(eventAdded, job(100, ""))
		// The read is answered with what was there when it came, after the watch
		// has delivered what came next.
		w.fault = once("get", 1, func(rw http.ResponseWriter, _ *http.Request) {
			then := w.present()
			time.Sleep(5 * time.Second)
			_, _ = rw.Write(then.object)
		})
		w.at(29*time.Second, func() { w.publish(eventModified, job(101, "")) })
		w.at(61*time.Second, func() { w.publish(eventModified, job(102, "")) })
		w.at(70*time.Second, func() { w.publish(eventModified, job(103, "Complete")) })
		shown, err := w.watch(t.Context(), job(100, ""))
		if err != nil {
			t.Fatal(err)
		}
		wantStates(t, shown, "101 102 103", 70*time.Second)
	})
}

func TestWatchThatIsBehindAReadIsReplaced(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		w.publish(eventAdded, job(100, ""))
		// A watch that delivers everything a minute late, as one of a server
		// whose cache is behind.
		w.fault = once("watch", 1, func(rw http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(time.Minute):
			case <-r.Context().Done():
			}
			w.api.watch(rw, r)
		})
		w.at(time.Second, func() { w.publish(eventModified, job(101, "")) })
		w.at(2*time.Second, func() { w.publish(eventModified, job(102, "")) })
		w.at(80*time.Second, func() { w.publish(eventModified, job(103, "Complete")) })
		shown, err := w.watch(t.Context(), job(100, ""))
		if err != nil {
			t.Fatal(err)
		}
		wantStates(t, shown, "102 103", 80*time.Second)
		wantRequests(t, w.api, "watch 100", "get", "watch 102", "get")
	})
}

func TestWatchThatIsRefusedIsReplacedByReads(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]http.HandlerFunc{
		"by authorization": forbidden("watch"),
		"by a proxy":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, w *world) {
				w.publish(eventAdded, job(100, ""))
				w.fault = once("watch", 1<<30, fault)
				w.at(time.Second, func() { w.publish(eventModified, job(101, "")) })
				w.at(30*time.Minute, func() { w.publish(eventModified, job(102, "Complete")) })
				shown, err := w.watch(t.Context(), job(100, ""))
				if err != nil {
					t.Fatal(err)
				}
				wantStates(t, shown, "101 102", 30*time.Minute+40*time.Second)
				if shown[0].after > 5*time.Second {
					t.Errorf("an early change was shown after %s", shown[0].after)
				}
				if n := len(w.requests()); n > 75 {
					t.Errorf("%d requests in 30 minutes", n)
				}
				if n := len(w.told); n != 1 || !strings.Contains(w.told[0], "read every 30s instead of being watched") {
					t.Errorf("told: %q", w.told)
				}
			})
		})
	}
}

func TestWatchIsTriedAgainAfterItWasRefused(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		w.publish(eventAdded, job(100, ""))
		w.fault = w.until(time.Minute, "watch", forbidden("watch"))
		w.at(time.Hour, func() { w.publish(eventModified, job(101, "Complete")) })
		shown, err := w.watch(t.Context(), job(100, ""))
		if err != nil {
			t.Fatal(err)
		}
		wantStates(t, shown, "101", time.Hour)
	})
}

// Reads alone must not lead back to a watch from before them.
func TestListThatIsRefusedIsReplacedByReads(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		w.publish(eventAdded, job(100, ""))
		w.forget(101)
		w.fault = once("list", 1<<30, forbidden("list"))
		w.at(2*time.Minute, func() { w.publish(eventModified, job(101, "")) })
		w.at(3*time.Minute, func() { w.publish(eventModified, job(102, "")) })
		// The server that answers then has all events again.
		w.at(4*time.Minute, func() { w.forget(0) })
		w.at(20*time.Minute, func() { w.publish(eventModified, job(103, "Complete")) })
		shown, err := w.watch(t.Context(), job(100, ""))
		if err != nil {
			t.Fatal(err)
		}
		wantStates(t, shown, "101 102 103", 20*time.Minute)
		if !strings.Contains(strings.Join(w.told, "\n"), "cannot list resource") {
			t.Errorf("told: %q", w.told)
		}
	})
}

// A restore from a backup can bring an API server that has not come as far as a
// version that was seen.
func TestVersionTheServerHasNotComeToIsLeftAlone(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		w.publish(eventAdded, job(50, ""))
		w.fault = all(
			once("watch", 1, func(rw http.ResponseWriter, _ *http.Request) {
				answerFrame(rw, eventBookmark, []byte(`{"kind":"Job","apiVersion":"batch/v1","metadata":{"resourceVersion":"100"}}`))
				panic(http.ErrAbortHandler)
			}),
			func(verb string, rw http.ResponseWriter, r *http.Request) bool {
				if verb != "watch" || r.URL.Query().Get("resourceVersion") != "100" {
					return false
				}
				refuse(http.StatusGatewayTimeout, "Timeout", "Too large resource version: 100, current: 50")(rw, r)
				return true
			})
		w.at(time.Minute, func() { w.publish(eventModified, job(51, "Complete")) })
		shown, err := w.watch(t.Context(), job(50, ""))
		if err != nil {
			t.Fatal(err)
		}
		wantStates(t, shown, "51", time.Minute)
		wantRequests(t, w.api, "watch 50", "get", "watch 100", "get", "watch 50", "get")
	})
}

func TestEventsOfOtherObjectsAreNotShown(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		other := job(101, "Complete")
		other["metadata"].(map[string]any)["name"] = "other"
		w.publish(eventAdded, job(100, ""))
		w.publish(eventAdded, other)
		w.at(time.Second, func() { w.publish(eventModified, job(102, "Complete")) })
		var names []any
		err := w.client.WatchJob(t.Context(), testNamespace, testName, job(100, ""), func(job contract.Object) (bool, error) {
			names = append(names, job["metadata"].(map[string]any)["name"])
			return false, nil
		})
		if err != nil || len(names) != 1 || names[0] != testName {
			t.Errorf("shown: %v, %v", names, err)
		}
	})
}

// A watch that goes on and never tells of the Job is no sign that nothing happens.
func TestWatchThatTellsOnlyOfOtherThingsIsNoticed(t *testing.T) {
	t.Parallel()
	other := `{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"other","namespace":"t1","resourceVersion":"101"}}`
	same := `{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"` + testName + `","namespace":"t1","uid":"uid-1","resourceVersion":"100"}}`
	bookmark := `{"kind":"Job","apiVersion":"batch/v1","metadata":{"resourceVersion":"100"}}`
	for name, c := range map[string]struct {
		kind, object string
		every        time.Duration
		lasts        time.Duration
		within       time.Duration
	}{
		"bookmarks":                 {eventBookmark, bookmark, 10 * time.Second, time.Hour, 2 * time.Minute},
		"another Job":               {eventModified, other, time.Second, time.Hour, 31 * time.Second},
		"the same state":            {eventModified, same, time.Second, time.Hour, 31 * time.Second},
		"nothing, and soon no more": {eventBookmark, bookmark, time.Hour, 20 * time.Second, 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, w *world) {
				w.publish(eventAdded, job(100, ""))
				w.fault = once("watch", 1<<30, func(rw http.ResponseWriter, r *http.Request) {
					rw.WriteHeader(http.StatusOK)
					end := time.After(c.lasts)
					for {
						select {
						case <-time.After(c.every):
							answerFrame(rw, c.kind, []byte(c.object))
						case <-end:
							return
						case <-r.Context().Done():
							return
						}
					}
				})
				w.at(time.Second, func() { w.publish(eventModified, job(102, "Complete")) })
				shown, err := w.watch(t.Context(), job(100, ""))
				if err != nil {
					t.Fatal(err)
				}
				wantStates(t, shown, "102", c.within)
			})
		})
	}
}

// A server may keep a watch up for longer than it was asked to.
func TestWatchThatIsNotEndedIsReplaced(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		w.publish(eventAdded, job(100, ""))
		w.fault = once("watch", 1<<30, silent)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := w.watch(ctx, job(100, "")); ctx.Err() == nil {
			t.Fatal(err)
		}
		watches := 0
		for _, r := range w.requests() {
			if strings.HasPrefix(r, "watch") {
				watches++
			}
		}
		if watches < 5 || watches > 12 {
			t.Errorf("%d watches in an hour", watches)
		}
	})
}
