package cache

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

// token returns a runtime token that may read and write the cache. Nobody here
// looks at its signature.
var token = sync.OnceValue(func() string { return tokenWith(nil) })

// tokenWith returns one with other claims; nil takes one away.
func tokenWith(claims map[string]any) string {
	all := map[string]any{
		"ac":  `[{"Scope":"refs/heads/main","Permission":3}]`,
		"nbf": time.Now().Add(-time.Minute).Unix(), "exp": time.Now().Add(6 * time.Hour).Unix(),
	}
	for name, value := range claims {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	payload, _ := json.Marshal(all)
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode(payload) + "." + encode([]byte("thirty-two bytes of a signature."))
}

// told keeps what a store masks and says.
type told struct {
	mu      sync.Mutex
	masked  map[string]bool
	notices []string
}

func (t *told) mask(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.masked == nil {
		t.masked = map[string]bool{}
	}
	t.masked[s] = true
}

// check holds a request against what is masked: the secrets in it have to be.
func (t *told) check(tt *testing.T, r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	secrets := []string{strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.URL.Query().Get("sig")}
	for _, pair := range strings.Split(r.URL.RawQuery, "&") {
		if signature, ok := strings.CutPrefix(pair, "sig="); ok {
			secrets = append(secrets, signature)
		}
	}
	for _, s := range secrets {
		if s != "" && !t.masked[s] {
			tt.Errorf("%s %s was sent with a secret that is not masked", r.Method, r.URL.Path)
		}
	}
}

// clean checks that a text tells no secret.
func (f *fake) clean(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range append(f.secrets, token()) {
		for _, form := range []string{s, url.QueryEscape(s)} {
			if strings.Contains(text, form) || strings.Contains(text, form[:24]) {
				f.t.Errorf("there is a secret in %q", text)
			}
		}
	}
}

// said returns the notices so far.
func (t *told) said() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.notices)
}

func (t *told) notify(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notices = append(t.notices, s)
}

// versions are the protocols that a test is run with.
func versions(t *testing.T, test func(t *testing.T, open func(t *testing.T, f *fake, attempt int) *Store)) {
	t.Helper()
	for _, version := range []string{"v1", "v2"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, func(t *testing.T, f *fake, attempt int) *Store {
				t.Helper()
				o := f.options(attempt)
				if version == "v1" {
					o.ResultsURL = ""
				}
				return f.open(o)
			})
		})
	}
}

func (f *fake) options(attempt int) Options {
	return Options{
		ResultsURL: f.URL + "/ignored", CacheURL: f.URL + "/aBcD", RuntimeToken: token(), Attempt: attempt, Version: "1.2.3",
		Mask: f.told.mask, Notify: f.told.notify,
	}
}

// open opens a store that does what is usual without the waiting.
func (f *fake) open(o Options) *Store {
	f.t.Helper()
	s, err := Open(o)
	if err != nil {
		f.t.Fatal(err)
	}
	s.service.pause, s.service.most = time.Millisecond, time.Millisecond
	s.service.after, s.service.client = f.alarm.after, impatient{s.service.client}
	return s
}

// alarm stands for the clock: what waits for it is told by tests that time is up.
type alarm struct {
	mu      sync.Mutex
	waiting map[*func()]bool
}

func (a *alarm) after(_ time.Duration, f func()) func() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = map[*func()]bool{}
	}
	a.waiting[&f] = true
	return func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		was := a.waiting[&f]
		delete(a.waiting, &f)
		return was
	}
}

// ring tells everything that waits.
func (a *alarm) ring() {
	a.mu.Lock()
	waiting := a.waiting
	a.waiting = nil
	a.mu.Unlock()
	for f := range waiting {
		(*f)()
	}
}

const job = "fdai-inventory-0123456789abcdef"

// intent returns the documents of an intent that say what.
func intent(what string) []checkpoint.Document {
	return []checkpoint.Document{document(checkpoint.Prepared, what), document(checkpoint.Intent, what)}
}

func document(step checkpoint.Step, what string) checkpoint.Document {
	return checkpoint.Document{Step: step, Data: fmt.Appendf(nil, "{\"state\":%q,\"what\":%q}\n", step, what), Seal: strings.Repeat("5a", 32)}
}

// read returns the copies that a store finds, in order.
func read(t *testing.T, s *Store, execution string) []checkpoint.Copy {
	t.Helper()
	found, err := s.Read(t.Context(), execution)
	if err != nil {
		t.Fatal(err)
	}
	if found.Complete || found.Blind != nil {
		t.Errorf("complete is %t, blind %v; the cache forgets", found.Complete, found.Blind)
	}
	slices.SortFunc(found.Copies, func(a, b checkpoint.Copy) int {
		return strings.Compare(a.Where+string(a.Step), b.Where+string(b.Step))
	})
	return found.Copies
}

// wantCopies compares copies, without the causes of what cannot be read.
func wantCopies(t *testing.T, got []checkpoint.Copy, want ...checkpoint.Copy) {
	t.Helper()
	same := cmp.Comparer(func(a, b error) bool { return (a == nil) == (b == nil) })
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("copies (-want +got):\n%s", diff)
	}
}

func copyOf(d checkpoint.Document, key string, attempt int) checkpoint.Copy {
	return checkpoint.Copy{Document: d, Where: "cache key " + key, Attempt: attempt}
}
