package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// A run has many artifacts that are not ours; ours are on any page.
func TestManyPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{Order: standin.OrderShuffled, MaxArtifacts: 5000})
	for i := range 730 {
		w.forgeData(fmt.Sprintf("log-%d", i), []byte("x"))
		if i == 300 {
			w.forge(intentName, intent("1")...)
		}
	}
	w.NextAttempt(standin.RerunAll)
	wantGood(t, mustRead(t, w.open()), intent("1")...)
	if n := w.Count("ListRunArtifacts"); n != 8 && n%8 != 0 {
		t.Errorf("%d pages were asked for", n)
	}
}

// What is stored while the pages are read moves others to another page.
func TestListChangesWhileItIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{Order: standin.OrderOldest, MaxArtifacts: 5000})
	for i := range 150 {
		w.forgeData(fmt.Sprintf("log-%d", i), []byte("x"))
	}
	w.forge(intentName, intent("1")...)
	w.NextAttempt(standin.RerunAll)
	gone := slices.Clone(w.Artifacts()[:100])
	w.on("ListRunArtifacts", 1, fault{answer: func(rw http.ResponseWriter, r *http.Request, own http.Handler) {
		own.ServeHTTP(rw, r)
		for _, a := range gone { // The second page is the first now.
			w.RemoveArtifact(a.ID)
		}
	}})
	found := mustRead(t, w.open())
	wantGood(t, found, intent("1")...)
	if !found.Complete {
		t.Errorf("%+v", found)
	}
}

// A row that cannot be read is told, whatever is the matter with it; what is beside
// it is read.
func TestRowsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(w *world, a standin.Artifact)
		says  string
	}{
		"expired":   {func(w *world, a standin.Artifact) { w.ExpireArtifact(a.ID) }, "it has expired: its content is no longer there. Run again. If it stays so, find out in the cluster"},
		"lost":      {func(w *world, a standin.Artifact) { mustNot(w.t, w.LoseArtifactData(a.ID)) }, "downloading the artifact " + intentName + ": the storage (127.0.0.1:"},
		"changed":   {func(w *world, a standin.Artifact) { mustNot(w.t, w.ReplaceArtifactData(a.ID, []byte("other"))) }, "its content has the digest sha256:d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa, and was stored with"},
		"too large": {func(w *world, _ standin.Artifact) { w.forgeData(intentName, make([]byte, 2<<20)) }, "it has 2097152 bytes, at most 1048576 are read"},
		"no zip":    {func(w *world, _ standin.Artifact) { w.forgeData(intentName, []byte("text")) }, "it is no zip file"},
		"another step": {func(w *world, _ standin.Artifact) { w.forge(intentName, document(checkpoint.Dispatched, "")) },
			"it has no record of the step dispatch-intent"},
	} {
		for _, how := range []standin.Rerun{standin.RerunAll, standin.RerunFailed} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, standin.StoresOptions{})
				a := w.forge(intentName, intent("1")...)
				terminal := document(checkpoint.Terminal, "")
				w.forge(execution+".terminal.1", terminal)
				c.spoil(w, a)
				w.NextAttempt(how)
				found := mustRead(t, w.open())
				documents, bad := good(found)
				if bad != 1 || !slices.ContainsFunc(documents, func(d checkpoint.Document) bool { return cmp.Equal(d, terminal) }) {
					t.Errorf("%d cannot be read, %d can", bad, len(documents))
				}
				for _, copied := range found.Copies {
					if copied.Err != nil {
						wantFailure(t, copied.Err, failure.CheckpointStoreFailed, "the artifact "+intentName+" (id ", c.says)
						if copied.Step != checkpoint.Intent || copied.Attempt != 1 || copied.Data != nil {
							t.Errorf("%+v", copied)
						}
						w.checkSecrets(copied.Err.Error())
					}
				}
			})
		}
	}
}

// An answer that says more than it should is not read to its end.
func TestContentIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{})
	w.forge(intentName, intent("1")...)
	w.NextAttempt(standin.RerunAll)
	w.on("GetBlob", -1, fault{answer: standin.Huge(1 << 30)})
	found := mustRead(t, w.open())
	if len(found.Copies) != 1 {
		t.Fatalf("%+v", found)
	}
	wantFailure(t, found.Copies[0].Err, failure.CheckpointStoreFailed, "the answer of 127.0.0.1:", "is too large")
	if n := w.Count("GetBlob"); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	all := append(intent("1"), document(checkpoint.Dispatched, ""), document(checkpoint.Terminal, ""))
	write := func(t *testing.T, s *Store) {
		mustWrite(t, s, all[:2]...)
		mustWrite(t, s, all[2])
		mustWrite(t, s, all[3])
	}
	t.Run("in the same attempt", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, standin.StoresOptions{})
		s := w.open(func(o *Options) { o.Token = "" })
		write(t, s)
		w.forge("other.dispatch-intent.1", intent("1")...)
		mustNot(t, s.Clean(t.Context(), execution))
		mustNot(t, s.Clean(t.Context(), execution))
		if diff := cmp.Diff([]string{execution + ".terminal.1", "other.dispatch-intent.1"}, w.names()); diff != "" {
			t.Errorf("artifacts (-want +have):\n%s", diff)
		}
	})
	t.Run("in a later one", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, standin.StoresOptions{Actions: standin.ActionsWrite})
		write(t, w.open())
		s := w.next(standin.RerunAll)
		mustNot(t, s.Clean(t.Context(), execution))
		if diff := cmp.Diff([]string{execution + ".terminal.1"}, w.names()); diff != "" {
			t.Errorf("artifacts (-want +have):\n%s", diff)
		}
		wantGood(t, mustRead(t, s), all[3])
	})
	t.Run("without the permission", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, standin.StoresOptions{})
		write(t, w.open())
		err := w.next(standin.RerunAll).Clean(t.Context(), execution)
		wantFailure(t, err, failure.PermissionDenied, "deleting the artifact "+execution+".", "HTTP 403", "`permissions: actions: write`, or set checkpoint-cleanup to false")
		if n := len(w.names()); n != 3 {
			t.Errorf("%d are left", n)
		}
	})
	for name, spoil := range map[string]func(w *world){
		"no terminal record": func(*world) {},
		"a terminal record that cannot be read": func(w *world) {
			a := w.forge(execution+".terminal.1", all[3])
			mustNot(w.t, w.LoseArtifactData(a.ID))
		},
		"another one's": func(w *world) { w.forge("other.terminal.1", all[3]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, standin.StoresOptions{})
			s := w.open()
			mustWrite(t, s, all[:2]...)
			spoil(w)
			wantFailure(t, s.Clean(t.Context(), execution), failure.CheckpointStoreFailed, "none is removed, since no terminal record of it can be read")
			if !slices.Contains(w.names(), intentName) {
				t.Errorf("left %v", w.names())
			}
		})
	}
}

// Every secret is masked before anything is sent with it: the log of a run is no
// place for an address that anybody may read a record at.
func TestSecretsAreMaskedFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{})
	var s *Store
	check := func(rw http.ResponseWriter, r *http.Request, own http.Handler) {
		w.mu.Lock()
		masked := slices.Clone(w.masked)
		w.mu.Unlock()
		secrets := []string{strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.URL.Query().Get("sig"), url.QueryEscape(r.URL.Query().Get("sig"))}
		for _, text := range secrets {
			if text != "" && !slices.Contains(masked, text) {
				t.Errorf("%s %s: a secret was not masked", r.Method, r.URL.Path)
			}
		}
		if r.URL.Query().Get("sig") != "" && r.Header.Get("Authorization") != "" {
			t.Errorf("%s %s: a token was sent to the storage", r.Method, r.URL.Path)
		}
		own.ServeHTTP(rw, r)
	}
	for _, server := range []*standin.Server{w.Results, w.REST, w.Blobs.Server} {
		server.On(standin.Any, -1, check)
	}
	s = w.open()
	mustWrite(t, s, intent("1")...)
	wantGood(t, mustRead(t, w.next(standin.RerunAll)), intent("1")...)
	wantGood(t, mustRead(t, w.next(standin.RerunFailed)), intent("1")...)
	if w.Count("DownloadArtifact") == 0 {
		t.Error("nothing was downloaded by REST")
	}
}

// The token goes to the REST API and to nobody that it names.
func TestTokenStaysWithTheAPI(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		w := newWorld(t, standin.StoresOptions{})
		w.on("ListRunArtifacts", 1, fault{answer: standin.Status(status, "", "Location", w.Blobs.URL+"/stolen")})
		mustRead(t, w.open())
		for _, r := range w.Blobs.Requests() {
			t.Errorf("%d: the storage was asked for %s", status, r.Path)
		}
	}
	// A repository that was renamed is elsewhere in the same API.
	w := newWorld(t, standin.StoresOptions{})
	mustWrite(t, w.open(), intent("1")...)
	w.NextAttempt(standin.RerunAll)
	w.REST.On(standin.Operation("ListRunArtifacts"), 1, func(rw http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(rw, r, r.URL.String(), http.StatusMovedPermanently)
	})
	wantGood(t, mustRead(t, w.open()), intent("1")...)
}

// An artifact is kept as long as the run allows, and no longer than it is of use.
func TestRetention(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for days, want := range map[int]any{0: nil, 1: "2026-12-01T12:00:00Z", 90: "2027-02-28T12:00:00Z", 400: "2027-02-28T12:00:00Z"} {
		w := newWorld(t, standin.StoresOptions{RetentionDays: 400})
		var asked map[string]any
		w.Results.On(standin.Operation("CreateArtifact"), 1, func(rw http.ResponseWriter, r *http.Request, own http.Handler) {
			body, err := io.ReadAll(r.Body)
			mustNot(t, err)
			mustNot(t, json.Unmarshal(body, &asked))
			standin.Status(http.StatusBadRequest, "")(rw, r, own)
		})
		s := w.open(func(o *Options) { o.RetentionDays, o.Now = days, func() time.Time { return now } })
		if err := s.Write(t.Context(), execution, intent("1")...); err == nil {
			t.Error("it was stored")
		}
		if diff := cmp.Diff(want, asked["expires_at"]); diff != "" {
			t.Errorf("%d days (-want +have):\n%s", days, diff)
		}
		if _, ok := asked["mime_type"]; ok || asked["version"] != 4.0 {
			t.Errorf("asked %v", asked)
		}
	}
}

// A pause that a service asks for is kept, and is not endless.
func TestPauses(t *testing.T) {
	t.Parallel()
	asked := newWorld(t, standin.StoresOptions{})
	asking := asked.open()
	asked.on("FinalizeArtifact", 2, fault{answer: standin.Status(http.StatusTooManyRequests, "", "Retry-After", "7")})
	mustWrite(t, asking, intent("1")...)
	if diff := cmp.Diff([]time.Duration{7 * time.Second, 7 * time.Second}, asked.slept); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	// One that is longer than there is patience is told instead.
	asked.on("CreateArtifact", -1, fault{answer: standin.Status(http.StatusTooManyRequests, "", "Retry-After", "90")})
	err := asking.Write(t.Context(), execution, document(checkpoint.Terminal, ""))
	wantFailure(t, err, failure.CheckpointStoreFailed, "answered HTTP 429 (Too Many Requests), and asks for a pause of 1m30s")
	if len(asked.slept) != 2 {
		t.Errorf("slept %v", asked.slept)
	}
	w := newWorld(t, standin.StoresOptions{})
	s := w.open()
	w.on("FinalizeArtifact", 4, fault{answer: standin.Status(http.StatusBadGateway, "")})
	mustWrite(t, s, intent("1")...)
	for i, middle := range []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond, 4500 * time.Millisecond, 13500 * time.Millisecond} {
		if have := w.slept[i]; have < middle*8/10 || have > middle*12/10 {
			t.Errorf("pause %d is %v", i+1, have)
		}
	}
}

// An implementation on this machine has no TLS.
func TestWithoutTLSOnThisMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{})
	to, err := url.Parse(w.Results.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := authority().Transport()
	plain := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mustNot(t, err)
		req := r.Clone(r.Context())
		req.URL.Scheme, req.URL.Host, req.RequestURI, req.Body = to.Scheme, to.Host, "", io.NopCloser(bytes.NewReader(body))
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		rw.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(rw, resp.Body)
	}))
	t.Cleanup(plain.Close)
	t.Cleanup(transport.CloseIdleConnections)
	mustWrite(t, w.open(func(o *Options) { o.ResultsURL = plain.URL + "/_apis/" }), intent("1")...)
	wantGood(t, mustRead(t, w.next(standin.RerunFailed)), intent("1")...)
}

// A listing that ended with the context of Open is begun again.
func TestListingIsCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{})
	w.forge(intentName, intent("1")...)
	met := w.on("ListArtifacts", 1, fault{answer: hang})
	ctx, cancel := context.WithCancelCause(t.Context())
	s, err := Open(ctx, w.options(w.Attempt()))
	if err != nil {
		t.Fatal(err)
	}
	<-met
	cancel(errStop)
	wantGood(t, mustRead(t, s), intent("1")...)
}
