package configmap

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

const (
	testNamespace = "fdai-runtime"
	testCronJob   = "inventory"
	testExecution = "fdai-inventory-0123456789abcdef"
	testRun       = "https://github.com/octo/app/actions/runs/17/attempts/2"
	laterRun      = "https://github.com/octo/app/actions/runs/17/attempts/3"
)

// scene is a Store of a fake API server.
type scene struct {
	*fake
	t     testing.TB
	store *Store

	toldMu sync.Mutex
	told   []string
}

func (s *scene) options() Options {
	return Options{
		API: s.fake, Namespace: testNamespace, CronJob: testCronJob, Purpose: "inventory", Attempt: 2, Run: testRun,
		SourceCommit: strings.Repeat("c", 40), Retention: 90 * 24 * time.Hour,
		Notify: func(text string) {
			s.toldMu.Lock()
			defer s.toldMu.Unlock()
			s.told = append(s.told, text)
		},
	}
}

// another opens a Store as another run would, and waits for its list.
func (s *scene) another(change ...func(*Options)) *Store {
	s.t.Helper()
	o := s.options()
	for _, c := range change {
		c(&o)
	}
	store, err := Open(s.t.Context(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	<-store.listing.done
	return store
}

// bubble runs a test of a new store on a clock that moves only when all wait. The
// list has been answered.
func bubble(t *testing.T, test func(t *testing.T, s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, fake: newFake(t)}
		s.store = s.another()
		s.requests()
		test(t, s)
	})
}

// document is a step's document with a content of its own.
func document(step checkpoint.Step, content string) checkpoint.Document {
	return checkpoint.Document{Step: step, Data: fmt.Appendf(nil, "{\"by\":%q,\"state\":%q}\n", content, step)}
}

// intent is what is written together.
func intent(by string) []checkpoint.Document {
	return []checkpoint.Document{document(checkpoint.Prepared, "all"), document(checkpoint.Intent, by)}
}

func (s *scene) write(documents ...checkpoint.Document) {
	s.t.Helper()
	if err := s.store.Write(s.t.Context(), testExecution, documents...); err != nil {
		s.t.Fatal(err)
	}
}

// read returns what a store finds, by step.
func (s *scene) read(store *Store) map[checkpoint.Step]checkpoint.Document {
	s.t.Helper()
	found, err := store.Read(s.t.Context(), testExecution)
	if err != nil {
		s.t.Fatal(err)
	}
	if !found.Complete || found.Blind != nil {
		s.t.Errorf("found is complete: %t, blind: %v", found.Complete, found.Blind)
	}
	all := map[checkpoint.Step]checkpoint.Document{}
	for _, c := range found.Copies {
		if c.Err != nil || c.Where != "ConfigMap fdai-runtime/aks-oneshot-"+testExecution {
			s.t.Errorf("copy %+v", c)
		}
		if _, ok := all[c.Step]; ok {
			s.t.Errorf("two copies of %s", c.Step)
		}
		all[c.Step] = c.Document
	}
	return all
}

// holds checks what another run finds.
func (s *scene) holds(want ...checkpoint.Document) {
	s.t.Helper()
	byStep := map[checkpoint.Step]checkpoint.Document{}
	for _, d := range want {
		byStep[d.Step] = d
	}
	if diff := cmp.Diff(byStep, s.read(s.another())); diff != "" {
		s.t.Errorf("another run finds (-want +have)\n%s", diff)
	}
}

func (s *scene) asked(want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.requests()); diff != "" {
		s.t.Errorf("requests (-want +have)\n%s", diff)
	}
}

func wantFailure(t testing.TB, err error, code failure.Code, parts ...string) {
	t.Helper()
	f, ok := err.(*failure.Error) //nolint:errorlint // what is returned must be the failure itself
	if !ok || f.Code != code {
		t.Fatalf("got error %v, want %s", err, code)
	}
	for _, part := range parts {
		if !strings.Contains(f.Error(), part) {
			t.Errorf("%q is not in: %s", part, f)
		}
	}
	if f.Fix == "" && code != failure.ConfigInvalid {
		t.Errorf("nothing is said about what can be done: %s", f)
	}
}
