package artifact

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// In the first attempt there is nothing that only the REST API could show, so that
// nobody waits for it.
func TestFirstAttemptWaitsForNoREST(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{})
	w.forge(intentName, intent("1")...)
	met := w.on("ListRunArtifacts", -1, fault{answer: hang})
	s := w.open()
	<-met
	found := mustRead(t, s)
	wantGood(t, found, intent("1")...)
	if !found.Complete || found.Blind != nil {
		t.Errorf("%+v", found)
	}
	mustWrite(t, s, document(checkpoint.Dispatched, ""))
	w.reset() // Later ones wait.
	wantGood(t, mustRead(t, w.next(standin.RerunAll)), append(intent("1"), document(checkpoint.Dispatched, ""))...)
}

// A runner that was given up too early looks again, and finds what the attempt after it
// has stored: only the REST API shows that to it.
func TestFirstAttemptLooksAgainThroughREST(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{})
	s := w.open()
	if found := mustRead(t, s); len(found.Copies) != 0 {
		t.Fatalf("%+v", found.Copies)
	}
	mustWrite(t, s, intent("1")...)
	mustWrite(t, w.next(standin.RerunAll), document(checkpoint.Dispatched, ""))
	found := mustRead(t, s)
	wantGood(t, found, append(intent("1"), document(checkpoint.Dispatched, ""))...)
	// Where that fails it knows as much as before.
	w.on("ListRunArtifacts", -1, fault{answer: standin.Status(http.StatusForbidden, "")})
	found = mustRead(t, s)
	wantGood(t, found, intent("1")...)
	if !found.Complete || found.Blind != nil {
		t.Errorf("%+v", found)
	}
}

// Goroutines of the store's own read what others wrote. A panic in one is an error of
// the call that waits for it, and not the end of the process.
func TestPanicsAreErrors(t *testing.T) {
	t.Parallel()
	failing := fault{answer: standin.Status(http.StatusServiceUnavailable, "")}
	// The pause before another try is a place to panic in.
	panics := func(o *Options) { o.Sleep = func(context.Context, time.Duration) { panic("sig=c2lnbmF0dXJl") } }
	const says = "it panicked (string) in artifact."

	t.Run("the list of the results service", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, standin.StoresOptions{})
		w.on("ListArtifacts", 1, failing)
		found := mustRead(t, w.open(panics))
		if found.Complete {
			t.Error("it is said to be complete")
		}
		wantFailure(t, found.Blind, failure.CheckpointStoreFailed, listingArtifacts, says)
	})
	t.Run("the list of the REST API", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, standin.StoresOptions{})
		w.on("ListRunArtifacts", 1, failing)
		if found := mustRead(t, w.open(panics)); !found.Complete {
			t.Errorf("the first attempt: %+v", found)
		}
		w.await(func() bool { return w.Count("ListRunArtifacts") == 1 })
		w.on("ListRunArtifacts", 1, failing)
		found := mustRead(t, w.next(standin.RerunAll, panics))
		if found.Complete {
			t.Error("it is said to be complete")
		}
		wantFailure(t, found.Blind, failure.CheckpointStoreFailed, listingArtifacts, says)
	})
	t.Run("both lists", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, standin.StoresOptions{})
		w.on("ListArtifacts", 1, failing)
		w.on("ListRunArtifacts", 1, failing)
		_, err := w.open(panics).Read(t.Context(), execution)
		wantFailure(t, err, failure.CheckpointStoreFailed, listingArtifacts, says)
	})
	t.Run("a page", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, standin.StoresOptions{MaxArtifacts: 1000})
		for i := range 150 {
			w.forgeData(fmt.Sprintf("log-%d", i), []byte("x"))
		}
		w.NextAttempt(standin.RerunAll)
		w.on("ListRunArtifacts", -1, fault{answer: func(rw http.ResponseWriter, r *http.Request, own http.Handler) {
			if r.URL.Query().Get("page") == "2" {
				rw.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			own.ServeHTTP(rw, r)
		}})
		wantFailure(t, mustRead(t, w.open(panics)).Blind, failure.CheckpointStoreFailed, listingArtifacts, says)
	})
	t.Run("a content", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, standin.StoresOptions{})
		w.forge(intentName, intent("1")...)
		w.on("GetSignedArtifactURL", 1, failing)
		s := w.open(panics)
		found := mustRead(t, s)
		if len(found.Copies) != 1 || found.Copies[0].Step != checkpoint.Intent {
			t.Fatalf("%+v", found.Copies)
		}
		wantFailure(t, found.Copies[0].Err, failure.CheckpointStoreFailed, intentName, says)
		wantGood(t, mustRead(t, s), intent("1")...) // It is not remembered.
	})
	t.Run("a reservation", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, standin.StoresOptions{})
		met := w.on("CreateArtifact", 1, failing)
		s := w.open(panics)
		s.Reserve(t.Context(), execution, checkpoint.Intent)
		<-met
		mustWrite(t, s, intent("1")...)
		wantGood(t, mustRead(t, w.next(standin.RerunAll)), intent("1")...)
	})
}

// A list that says how long it is, and is not, is not all there is.
func TestListsThatLie(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		total int
		link  bool
		there bool // the second page
	}{
		"the second page is empty":           {150, false, false},
		"the count is of the first page":     {100, true, true},
		"the count is 0":                     {0, true, true},
		"the count is more than there is":    {500, true, true},
		"there is a page more, and it is no": {100, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, standin.StoresOptions{MaxArtifacts: 1000})
			mine := w.forge(intentName, intent("1")...)
			w.NextAttempt(standin.RerunAll)
			w.on("ListRunArtifacts", -1, fault{answer: func(rw http.ResponseWriter, r *http.Request, _ http.Handler) {
				list := []any{}
				switch page := r.URL.Query().Get("page"); {
				case page == "2" && c.there:
					list = append(list, map[string]any{"id": mine.ID, "name": mine.Name, "size_in_bytes": 100})
				case page == "" || page == "1":
					for i := range 100 {
						list = append(list, map[string]any{"id": 1_000_000 + i, "name": "log", "size_in_bytes": 100})
					}
					if c.link {
						rw.Header().Set("Link", `<https://`+r.Host+r.URL.Path+`?page=2&per_page=100>; rel="next"`)
					}
				}
				rw.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(rw).Encode(map[string]any{"total_count": c.total, "artifacts": list})
			}})
			found := mustRead(t, w.open())
			var want []checkpoint.Document
			if c.there {
				want = intent("1")
			}
			wantGood(t, found, want...)
			if lies := c.total > 101; found.Complete == lies {
				t.Errorf("complete is %t, %v", found.Complete, found.Blind)
			} else if lies {
				wantFailure(t, found.Blind, failure.CheckpointStoreFailed, "and it says that there are")
			}
		})
	}
}

// A storage that refuses for a while takes no names away.
func TestStorageRefusesForLong(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]standin.Answer{
		"a proxy": standin.HTML(http.StatusForbidden),
		"itself":  standin.Status(http.StatusForbidden, "", "X-Ms-Error-Code", "AuthenticationFailed"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, standin.StoresOptions{})
			now := time.Now()
			s := w.open(func(o *Options) { o.Now = func() time.Time { return now } })
			mustRead(t, s)
			w.on("PutBlock", -1, fault{answer: answer})
			for range 20 { // one each 30 s
				wantFailure(t, s.Write(t.Context(), execution, intent("1")...), failure.CheckpointStoreFailed, "uploading the artifact")
				now = now.Add(30 * time.Second)
			}
			if n := w.Count("CreateArtifact"); n > 3 {
				t.Errorf("%d artifacts were begun in 10 minutes", n)
			}
			w.reset()
			mustWrite(t, s, intent("1")...)
			wantGood(t, mustRead(t, w.next(standin.RerunAll)), intent("1")...)
		})
	}
}

// What was listed before a machine stood still is not what is there after it.
func TestAnOldListingIsMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{})
	now := time.Now()
	waiting := w.open(func(o *Options) { o.Now = func() time.Time { return now } })
	<-waiting.latest.done
	mustWrite(t, w.next(standin.RerunAll), intent("1")...)
	now = now.Add(young + time.Second)
	wantGood(t, mustRead(t, waiting), intent("1")...)
}
