package cache

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/bundle"
)

func TestStore(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, open func(*testing.T, *fake, int) *Store) {
		f := newFake(t)
		first := open(t, f, 1)
		if first.Name() != "cache" {
			t.Errorf("the name is %s", first.Name())
		}
		wantCopies(t, read(t, first, job))
		terminal := document(checkpoint.Terminal, "done")
		if err := first.Write(t.Context(), job, intent("a")...); err != nil {
			t.Fatal(err)
		}
		if err := first.Write(t.Context(), job, terminal); err != nil {
			t.Fatal(err)
		}
		second := open(t, f, 2)
		key := "aks-oneshot-" + job + ".dispatch-intent.1"
		wantCopies(t, read(t, second, job),
			copyOf(intent("a")[1], key, 1), copyOf(intent("a")[0], key, 1), copyOf(terminal, "aks-oneshot-"+job+".terminal.1", 1))
		// The newest is found.
		if err := second.Write(t.Context(), job, document(checkpoint.Terminal, "again")); err != nil {
			t.Fatal(err)
		}
		got := read(t, open(t, f, 3), job)
		wantCopies(t, got[len(got)-1:], copyOf(document(checkpoint.Terminal, "again"), "aks-oneshot-"+job+".terminal.2", 2))
	})
}

// What GitHub says in snake_case, others say in camelCase.
func TestStoreCamelCase(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.camel = true
	s := f.open(f.options(1))
	wantCopies(t, read(t, s, job))
	if err := s.Write(t.Context(), job, intent("a")...); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, job); len(got) != 2 {
		t.Errorf("copies are %v", got)
	}
}

func TestWriteRequests(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := f.open(f.options(1))
	if err := s.Write(t.Context(), job, intent("a")...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{opReserve, opUpload, opFinalize}, f.asked()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestWriteWhatIsThere(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, open func(*testing.T, *fake, int) *Store) {
		f := newFake(t)
		s := open(t, f, 1)
		for range 2 { // The second finds its own.
			if err := s.Write(t.Context(), job, intent("a")...); err != nil {
				t.Fatal(err)
			}
		}
		before := f.keys()
		unsigned := intent("b")
		unsigned[1].Seal = ""
		for name, documents := range map[string][]checkpoint.Document{
			"another": intent("b"), "another, and nothing beside it": intent("b")[1:], "another, and unsigned": unsigned,
		} {
			if err := open(t, f, 1).Write(t.Context(), job, documents...); !errors.Is(err, checkpoint.ErrTaken) {
				t.Errorf("%s: the error is %v", name, err)
			}
		}
		if diff := cmp.Diff(before, f.keys()); diff != "" {
			t.Errorf("entries (-before +after):\n%s", diff)
		}
		// It is there already, with more beside it.
		if err := open(t, f, 1).Write(t.Context(), job, intent("a")[1:]...); err != nil || len(f.keys()) != len(before) {
			t.Errorf("the error is %v, the entries are %v", err, f.keys())
		}
	})
}

// The same record is no other one, whoever signed it and whatever is beside it: where
// it is not as good as what is to be stored, that is stored next to it.
func TestWriteBesideWhatIsNotAsGood(t *testing.T) {
	t.Parallel()
	unsigned, signed := intent("a"), intent("a")
	unsigned[1].Seal = ""
	signed[1].Seal = strings.Repeat("6b", 32)
	for name, there := range map[string][]checkpoint.Document{
		"unsigned": unsigned, "signed otherwise": signed, "nothing beside it": intent("a")[1:], "another beside it": {intent("b")[0], intent("a")[1]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			versions(t, func(t *testing.T, open func(*testing.T, *fake, int) *Store) {
				f := newFake(t)
				f.put("the first", true, nil) // In v1, 0 is no number of an entry.
				if err := open(t, f, 1).Write(t.Context(), job, there...); err != nil {
					t.Fatal(err)
				}
				if err := open(t, f, 1).Write(t.Context(), job, intent("a")...); err != nil {
					t.Fatal(err)
				}
				key := "aks-oneshot-" + job + ".dispatch-intent.1.2"
				wantCopies(t, read(t, open(t, f, 2), job), copyOf(intent("a")[1], key, 1), copyOf(intent("a")[0], key, 1))
			})
		})
	}
}

// A save that never ended holds its key for a day; so does what others put there.
func TestWriteBesideKeysThatAreOfNoUse(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, open func(*testing.T, *fake, int) *Store) {
		f := newFake(t)
		key := "aks-oneshot-" + job + ".dispatch-intent.1"
		f.put("the first", true, nil) // In v1, 0 is no number of an entry.
		f.put(key, false, nil)
		f.put(key+".2", true, []byte("no zip"))
		f.put(key+".12", true, packed(t, job, intent("b")...)) // begins with .1, and is another
		s := open(t, f, 1)
		if err := s.Write(t.Context(), job, intent("a")...); err != nil {
			t.Fatal(err)
		}
		wantCopies(t, read(t, open(t, f, 2), job), copyOf(intent("a")[1], key+".3", 1), copyOf(intent("a")[0], key+".3", 1))
	})
}

func packed(t *testing.T, execution string, documents ...checkpoint.Document) []byte {
	t.Helper()
	data, err := bundle.Pack(execution, documents)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
