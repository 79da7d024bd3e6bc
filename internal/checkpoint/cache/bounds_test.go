package cache

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/bundle"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/secret"
)

// Each try has its time, and what it did not do counts as no answer.
func TestTryIsBounded(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := f.open(f.options(1))
	f.forever(opReserve, func(w http.ResponseWriter, r *http.Request, do http.HandlerFunc) {
		f.alarm.ring()
		f.silent(w, r, do)
	})
	err := s.Write(t.Context(), job, document(checkpoint.Terminal, "a"))
	want := couldNotStore + "HOST did not answer in time. It was tried 4 times. Check that this runner's network lets it reach HOST"
	if err == nil || strings.ReplaceAll(err.Error(), strings.TrimPrefix(f.URL, "http://"), "HOST") != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("the error wraps a deadline that is nobody's")
	}
}

// An upload goes past us, so its end is what we can see to.
func TestUploadThatTakesTooLong(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*fake) fault{
		"silent": func(f *fake) fault { return f.silent },
		// The library would wait 10 s, then 30, then 90, with each of its 10 tries.
		"not well":  func(*fake) fault { return status(503, "") },
		"cut short": func(*fake) fault { return drop },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			s := f.open(f.options(1))
			f.forever(opUpload, func(w http.ResponseWriter, r *http.Request, do http.HandlerFunc) {
				f.alarm.ring()
				answer(f)(w, r, do)
			})
			err := s.Write(t.Context(), job, document(checkpoint.Terminal, "a"))
			want := couldNotStore + "HOST did not take an upload in 30s. Check that this runner's network lets it reach HOST"
			if err == nil || strings.ReplaceAll(err.Error(), strings.TrimPrefix(f.URL, "http://"), "HOST") != want {
				t.Errorf("the error is %v, want %s", err, want)
			}
			if got := f.keys(); len(got) != maxSaves {
				t.Errorf("keys are %v, want %d", got, maxSaves)
			}
		})
	}
}

// What is bounded as a whole says so, with a code: nobody's deadline was met.
func TestWholeIsBounded(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := f.open(f.options(1))
	s.read, s.write = 300*time.Millisecond, 300*time.Millisecond
	f.forever(opReserve, f.silent)
	f.forever(opLookUp, f.silent)
	err := s.Write(t.Context(), job, document(checkpoint.Terminal, "a"))
	if failure.CodeOf(err) != failure.CheckpointStoreFailed || !strings.Contains(err.Error(), "did not do it in 300ms") || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error of a write is %v", err)
	}
	_, err = s.Read(t.Context(), job)
	if failure.CodeOf(err) != failure.CheckpointStoreFailed || !strings.Contains(err.Error(), "did not answer in 300ms") || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error of a read is %v", err)
	}
}

// The end of ctx ends everything, at whatever call, and is told as its cause.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, open func(*testing.T, *fake, int) *Store) {
		for _, op := range []string{opReserve, opUpload, opFinalize, opLookUp, opFetch} {
			t.Run(op, func(t *testing.T) {
				t.Parallel()
				f := newFake(t)
				s := open(t, f, 1)
				if err := s.Write(t.Context(), job, document(checkpoint.Terminal, "a")); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				f.forever(op, func(w http.ResponseWriter, r *http.Request, do http.HandlerFunc) {
					cancel(errCrash)
					f.silent(w, r, do)
				})
				var err error
				if op == opLookUp || op == opFetch {
					_, err = s.Read(ctx, job)
				} else {
					err = s.Write(ctx, job, intent("a")...)
				}
				if !errors.Is(err, errCrash) || failure.CodeOf(err) != "" {
					t.Errorf("the error is %v", err)
				}
			})
		}
	})
}

// Before anything is sent it has ended already.
func TestContextHasEnded(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := f.open(f.options(1))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCrash)
	if err := s.Write(ctx, job, intent("a")...); !errors.Is(err, errCrash) {
		t.Errorf("the error of a write is %v", err)
	}
	if _, err := s.Read(ctx, job); !errors.Is(err, errCrash) {
		t.Errorf("the error of a read is %v", err)
	}
}

func TestNotices(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := f.open(f.options(1))
	f.on(opReserve, status(503, ""))
	f.on(opFinalize, status(400, ""))
	if err := s.Write(t.Context(), job, document(checkpoint.Terminal, "a")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range f.told.said() {
		got = append(got, strings.ReplaceAll(n, strings.TrimPrefix(f.URL, "http://"), "HOST"))
	}
	want := []string{
		"The cache: HOST answered HTTP 503 Service Unavailable; trying again in 0s",
		"The cache: saving aks-oneshot-" + job + ".terminal.1 broke off: HOST answered HTTP 400 Bad Request",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
}

func TestDocumentsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := f.open(f.options(1))
	large := document(checkpoint.Terminal, strings.Repeat("x", bundle.MaxSize))
	for name, documents := range map[string][]checkpoint.Document{
		"none": nil, "too large": {large}, "a manifest": {document(checkpoint.Manifest, "a")}, "twice": slices.Repeat(intent("a")[:1], 2),
	} {
		if err := s.Write(t.Context(), job, documents...); failure.CodeOf(err) != failure.CheckpointStoreFailed {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if asked := f.asked(); len(asked) > 0 {
		t.Errorf("the service was asked: %v", asked)
	}
}

// Others may name an entry as they like; what is in it comes back whole, or not at all.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", "[]", `{"ok":true}`, `{"ok":"true"}`, `{"ok":true,"signed_download_url":"https://x.example?sig=x","matched_key":"k"}`,
		`{"ok":true,"signedDownloadUrl":1,"matchedKey":"k"}`, `{"cacheKey":"k","archiveLocation":"https://x.example"}`, `{"cacheId":1}`, `{"ok":false,"message":"cache read denied"}`,
	} {
		f.Add([]byte(seed))
	}
	base, _ := url.Parse("https://results.example")
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, v2 := range []bool{false, true} {
			s := newService(nil, base, v2, secret.NewMasked(nil), nil)
			for _, c := range []call{lookUp, reserve, store, finalize} {
				answer, signed, err := s.understand(c, "h", slices.Clone(body))
				if err != nil {
					if _, ok := errors.AsType[*problem](err); !ok {
						t.Errorf("%s of %q: the error is %v", c, body, err)
					}
					continue
				}
				if u, err := url.Parse(signed); signed != "" && (err != nil || u.Scheme != "https") {
					t.Errorf("%s of %q: %q is to be used", c, body, signed)
				}
				if len(answer) > 0 && !strings.HasPrefix(string(answer), "{") {
					t.Errorf("%s of %q: the library is handed %q", c, body, answer)
				}
			}
		}
	})
}

// A signed address may not be plainer than the service that gave it.
func TestSignedAddress(t *testing.T) {
	t.Parallel()
	const query = "?se=2026-11-30T15%3A00%3A00Z&sig=c2lnbmF0dXJl%2BZm9yLWEtYmxvYg%3D%3D"
	for _, tt := range []struct {
		base, address string
		want          bool
	}{
		{"https://results.example", "https://blobs.example/a" + query, true},
		{"https://results.example", "http://blobs.example/a" + query, false},
		{"https://results.example", "http://127.0.0.1/a" + query, false},
		{"http://127.0.0.1:1", "http://127.0.0.1:2/a" + query, true},
		{"http://127.0.0.1:1", "https://blobs.example/a" + query, true},
		{"http://127.0.0.1:1", "ftp://127.0.0.1:2/a" + query, false},
	} {
		var told told
		base, _ := url.Parse(tt.base)
		_, err := newService(nil, base, true, secret.NewMasked(told.mask), nil).signed(tt.address)
		if (err == nil) != tt.want {
			t.Errorf("%s from %s: %v", tt.address, tt.base, err)
		}
		// It is hidden whether or not it is used.
		if !told.masked["c2lnbmF0dXJl+Zm9yLWEtYmxvYg=="] || !told.masked["c2lnbmF0dXJl%2BZm9yLWEtYmxvYg%3D%3D"] {
			t.Errorf("%s: masked are %v", tt.address, told.masked)
		}
	}
}

// A conflict without a word is one all the same.
func TestConflictWithoutWords(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := f.open(f.options(1))
	f.on(opReserve, status(409, ""))
	if err := s.Write(t.Context(), job, document(checkpoint.Terminal, "a")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"aks-oneshot-" + job + ".terminal.1.2"}, f.keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// A library that does not heed the end of ctx holds up nobody.
func TestGuard(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCrash)
	if _, err := guard(ctx, func() (int, error) { <-release; return 0, nil }); !errors.Is(err, errCrash) {
		t.Errorf("the error is %v", err)
	}
	_, err := guard(t.Context(), func() (int, error) { panic("c2VjcmV0") })
	if _, ok := errors.AsType[*checkpoint.PanicError](err); !ok || strings.Contains(err.Error(), "c2VjcmV0") {
		t.Errorf("the error of a panic is %v", err)
	}
}
