package cache

import (
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/bundle"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// The service matches by prefix, so that what it finds may be another execution's,
// another step's, or anybody's.
func TestReadIgnoresKeysOfOthers(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, open func(*testing.T, *fake, int) *Store) {
		f := newFake(t)
		const short, long = "fdai-x-1", "fdai-x-12"
		f.put("the first", true, nil)
		if err := open(t, f, 1).Write(t.Context(), long, document(checkpoint.Terminal, "long")); err != nil {
			t.Fatal(err)
		}
		for _, attempt := range []int{1, 3} {
			if copies := read(t, open(t, f, attempt), short); len(copies) > 0 {
				t.Errorf("%s has %v", short, copies)
			}
		}
		terminal := document(checkpoint.Terminal, "short")
		if err := open(t, f, 1).Write(t.Context(), short, terminal); err != nil {
			t.Fatal(err)
		}
		// Newer, and beginning as ours do.
		f.put("aks-oneshot-"+short+".terminal.x", true, packed(t, short, document(checkpoint.Terminal, "forged")))
		wantCopies(t, read(t, open(t, f, 2), short), copyOf(terminal, "aks-oneshot-"+short+".terminal.1", 1))
	})
}

// Anybody can put something newer there that is no record. It is told, and does not
// hide what was there before.
func TestReadLooksBehindWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	terminal := document(checkpoint.Terminal, "a")
	const key = "aks-oneshot-" + job + ".terminal."
	bad := map[string][]byte{
		"no zip":            []byte("no zip"),
		"empty":             {},
		"cut":               packed(t, job, terminal)[:200],
		"of another":        packed(t, "fdai-other", terminal),
		"of another step":   packed(t, job, document(checkpoint.Dispatched, "a")),
		"a mebibyte":        make([]byte, bundle.MaxSize),
		"more than is read": make([]byte, bundle.MaxSize+1),
	}
	for name, data := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			if err := f.open(f.options(1)).Write(t.Context(), job, terminal); err != nil {
				t.Fatal(err)
			}
			f.put(key+"9", true, data)
			got := read(t, f.open(f.options(3)), job)
			wantCopies(t, got, copyOf(terminal, key+"1", 1),
				checkpoint.Copy{Document: checkpoint.Document{Step: checkpoint.Terminal}, Where: "cache key " + key + "9", Attempt: 9, Err: errCrash})
			if err := got[1].Err; failure.CodeOf(err) != failure.CheckpointStoreFailed || !strings.Contains(err.Error(), key+"9") || len(err.Error()) > 700 {
				t.Errorf("the copy says %v", err)
			}
		})
	}
}

// Anybody can put something newer there that is a record by its looks. With a key it
// is known not to be one, and does not hide what was there before either; without
// anything to hide, nothing more is looked for than there is.
func TestReadLooksBehindWhatIsNotBelieved(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, open func(*testing.T, *fake, int) *Store) {
		f := newFake(t)
		f.put("the first", true, nil) // In v1, 0 is no number of an entry.
		terminal, forged := document(checkpoint.Terminal, "a"), document(checkpoint.Terminal, "b")
		forged.Seal = ""
		if err := open(t, f, 1).Write(t.Context(), job, terminal); err != nil {
			t.Fatal(err)
		}
		believing := func(attempt int) *Store {
			s := open(t, f, attempt)
			s.believes = func(execution string, d checkpoint.Document) bool {
				return execution == job && d.Seal == terminal.Seal
			}
			return s
		}
		f.asked()
		const key = "aks-oneshot-" + job + ".terminal.1"
		wantCopies(t, read(t, believing(2), job), copyOf(terminal, key, 1))
		if asked := f.asked(); len(asked) != len(checkpoint.SharedSteps())+1 {
			t.Errorf("asked for %v", asked)
		}
		f.put(key+".9", true, packed(t, job, forged))
		wantCopies(t, read(t, believing(2), job), copyOf(forged, key+".9", 1), copyOf(terminal, key, 1))
		wantCopies(t, read(t, open(t, f, 2), job), copyOf(forged, key+".9", 1))
	})
}

// What reads the entries does so in goroutines of its own: a panic in one is an error of
// the call, and not the end of the process.
func TestReadPanics(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := f.open(f.options(1))
	if err := s.Write(t.Context(), job, document(checkpoint.Terminal, "a")); err != nil {
		t.Fatal(err)
	}
	s.believes = func(string, checkpoint.Document) bool { panic("sig=c2lnbmF0dXJl") }
	_, err := s.Read(t.Context(), job)
	if failure.CodeOf(err) != failure.CheckpointStoreFailed || !strings.Contains(err.Error(), "it panicked (string) in cache.") || strings.Contains(err.Error(), "sig=") {
		t.Errorf("the error is %v", err)
	}
}

// A document is handed on as it is: whoever reads it judges it.
func TestReadJudgesNoDocument(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	forged := checkpoint.Document{Step: checkpoint.Terminal, Data: []byte("not even JSON"), Seal: "zz"}
	const key = "aks-oneshot-" + job + ".terminal.7.2"
	f.put(key, true, packed(t, job, forged))
	wantCopies(t, read(t, f.open(f.options(1)), job), copyOf(forged, key, 7))
}
