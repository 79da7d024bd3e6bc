package artifact

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

const execution = "fdai-inventory-aaaaaaaaaaaaaaaa"

var authority = sync.OnceValue(func() *standin.Authority {
	a, err := standin.NewAuthority("stand-ins")
	if err != nil {
		panic(err)
	}
	return a
})

// world is the services of GitHub, and what a run told people.
type world struct {
	*standin.Stores
	t      *testing.T
	ledger *standin.Ledger

	mu      sync.Mutex
	masked  []string
	notices []string
	slept   []time.Duration
}

func newWorld(t *testing.T, o standin.StoresOptions) *world {
	t.Helper()
	w := &world{t: t, ledger: standin.NewLedger()}
	var err error
	if w.Stores, err = standin.NewStores(authority(), w.ledger, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// options are those of a step in an attempt of the run. Its pauses take no time.
func (w *world) options(a standin.Attempt) Options {
	env := a.Env()
	days, _ := strconv.Atoi(env["GITHUB_RETENTION_DAYS"])
	return Options{
		ResultsURL: env["ACTIONS_RESULTS_URL"], RuntimeToken: env["ACTIONS_RUNTIME_TOKEN"],
		APIURL: env["GITHUB_API_URL"], Token: a.Token, Repository: env["GITHUB_REPOSITORY"],
		RunID: a.RunID, Attempt: a.Number, RetentionDays: days, Version: "v0.0.0-test",
		Mask:    func(text string) { w.mu.Lock(); defer w.mu.Unlock(); w.masked = append(w.masked, text) },
		Notify:  func(text string) { w.mu.Lock(); defer w.mu.Unlock(); w.notices = append(w.notices, text) },
		Proxy:   func(*http.Request) (*url.URL, error) { return nil, nil }, //nolint:nilnil // none
		RootCAs: authority().Pool(),
		Sleep:   w.sleep,
	}
}

func (w *world) sleep(_ context.Context, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slept = append(w.slept, d)
}

// open opens the store of the present attempt, or of options that are changed.
func (w *world) open(change ...func(*Options)) *Store {
	w.t.Helper()
	o := w.options(w.Attempt())
	for _, c := range change {
		c(&o)
	}
	s, err := Open(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// next begins another attempt and opens its store.
func (w *world) next(how standin.Rerun, change ...func(*Options)) *Store {
	w.t.Helper()
	w.NextAttempt(how)
	return w.open(change...)
}

// await waits for what goes on in the background.
func (w *world) await(there func() bool) {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		w.mu.Lock()
		ok := there()
		w.mu.Unlock()
		if ok {
			return
		}
	}
	w.t.Fatal("it did not come")
}

func document(step checkpoint.Step, text string) checkpoint.Document {
	return checkpoint.Document{Step: step, Data: []byte(`{"state":"` + string(step) + `","text":"` + text + `"}` + "\n")}
}

// intent is what is written before a Job may be created.
func intent(text string) []checkpoint.Document {
	d := document(checkpoint.Intent, text)
	d.Seal = strings.Repeat("5a", 32)
	return []checkpoint.Document{document(checkpoint.Prepared, ""), d}
}

func mustWrite(t *testing.T, s *Store, documents ...checkpoint.Document) {
	t.Helper()
	if err := s.Write(t.Context(), execution, documents...); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, s *Store) checkpoint.Found {
	t.Helper()
	found, err := s.Read(t.Context(), execution)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// good returns the documents that could be read, each once, and how many could not.
func good(found checkpoint.Found) (documents []checkpoint.Document, bad int) {
	for _, c := range found.Copies {
		switch {
		case c.Err != nil:
			bad++
		case !slices.ContainsFunc(documents, func(d checkpoint.Document) bool { return cmp.Equal(d, c.Document) }):
			documents = append(documents, c.Document)
		}
	}
	slices.SortFunc(documents, func(a, b checkpoint.Document) int {
		return slices.Index(checkpoint.SharedSteps(), a.Step) - slices.Index(checkpoint.SharedSteps(), b.Step)
	})
	return documents, bad
}

// wantGood fails the test unless exactly the documents can be read.
func wantGood(t *testing.T, found checkpoint.Found, want ...checkpoint.Document) {
	t.Helper()
	have, bad := good(found)
	if diff := cmp.Diff(want, have); diff != "" || bad > 0 {
		t.Errorf("read, and %d that cannot be (-want +have):\n%s", bad, diff)
	}
}

// wantFailure fails the test unless err has the code, all the parts in its text and
// nothing that must not be told.
func wantFailure(t *testing.T, err error, code failure.Code, parts ...string) {
	t.Helper()
	f, ok := err.(*failure.Error) //nolint:errorlint // what is returned must be the failure itself
	if !ok || f.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	for _, part := range parts {
		if !strings.Contains(f.Error(), part) {
			t.Errorf("it says\n\t%s\nwant in it\n\t%s", f, part)
		}
	}
	if strings.ContainsAny(f.Error(), "\n\r") || strings.Contains(f.Error(), "sig=") {
		t.Errorf("it says %q", f)
	}
}

// secretsIn fails the test if a secret is in a text, and unless each that was used
// has been masked.
func (w *world) checkSecrets(texts ...string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, text := range append(texts, w.notices...) {
		if found := w.ledger.Scan("text", []byte(text)); len(found) > 0 {
			w.t.Errorf("%q has a secret: %q", text, found)
		}
	}
}

var errStop = errors.New("the test ends it")
