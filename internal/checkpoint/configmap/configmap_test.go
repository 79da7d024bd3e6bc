package configmap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

const (
	testNamespace = "fdai-runtime"
	testCronJob   = "inventory"
	testExecution = "fdai-inventory-0123456789abcdef"
	testRun       = "https://github.com/octo/app/actions/runs/17/attempts/2"
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

// What a run costs before and after its dispatch.
func TestRequestsOfARun(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, s *scene) {
		s.read(s.store)
		s.asked()
		s.write(intent("a")...)
		s.asked("create")
		s.write(document(checkpoint.Dispatched, "a"))
		s.asked("update")
		s.write(document(checkpoint.Terminal, "a"))
		s.asked("update")
		s.holds(append(intent("a"), document(checkpoint.Dispatched, "a"), document(checkpoint.Terminal, "a"))...)
		s.asked("list", "get")
	})
}

func TestWhatAConfigMapLooksLike(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		signed := document(checkpoint.Intent, "a")
		signed.Signature = strings.Repeat("5a", 32)
		s.write(document(checkpoint.Prepared, "a"), signed)
		object := s.object(testExecution)
		metadata := under(object, "metadata")
		for _, key := range []string{"uid", "resourceVersion", "managedFields"} {
			delete(metadata, key)
		}
		want := contract.Object{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{
				"name": "aks-oneshot-fdai-inventory-0123456789abcdef", "namespace": "fdai-runtime",
				"labels": map[string]any{
					"app.kubernetes.io/managed-by": "aks-oneshot", "app.kubernetes.io/component": "checkpoint",
					"aks-oneshot/cronjob": "inventory", "aks-oneshot/purpose": "inventory",
				},
				"annotations": map[string]any{
					// The clock of a bubble begins in 2000.
					"aks-oneshot/expires-at": "2000-03-31T00:00:00Z", "aks-oneshot/attempt": "2", "aks-oneshot/run": testRun,
					"aks-oneshot/source-commit": strings.Repeat("c", 40),
				},
			},
			"data": map[string]any{
				"prepared.json":               "{\"by\":\"a\",\"state\":\"prepared\"}\n",
				"dispatch-intent.json":        "{\"by\":\"a\",\"state\":\"dispatch-intent\"}\n",
				"dispatch-intent.hmac-sha256": strings.Repeat("5a", 32),
			},
		}
		if diff := cmp.Diff(want, object); diff != "" {
			t.Errorf("the ConfigMap (-want +have)\n%s", diff)
		}
	})
}

// A later write puts off the end, and says who was last.
func TestAnnotationsAreTheLastWriters(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.write(intent("a")...)
		time.Sleep(24 * time.Hour)
		later := s.another(func(o *Options) { o.Attempt, o.Run, o.SourceCommit = 3, "", "" })
		if err := later.Write(t.Context(), testExecution, document(checkpoint.Dispatched, "a")); err != nil {
			t.Fatal(err)
		}
		have := under(under(s.object(testExecution), "metadata"), "annotations")
		want := map[string]any{"aks-oneshot/expires-at": "2000-04-01T00:00:00Z", "aks-oneshot/attempt": "3"}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("annotations (-want +have)\n%s", diff)
		}
		found, err := s.another().Read(t.Context(), testExecution)
		if err != nil || len(found.Copies) != 3 || found.Copies[0].Attempt != 3 {
			t.Errorf("found %+v, %v", found, err)
		}
	})
}

func TestASecondIntentComesSecond(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		other := s.another()
		s.read(s.store)
		s.read(other)
		s.write(intent("a")...)
		s.requests()
		err := other.Write(t.Context(), testExecution, intent("b")...)
		if !errors.Is(err, checkpoint.ErrTaken) || failure.CodeOf(err) != "" || !strings.Contains(err.Error(), "dispatch-intent") {
			t.Errorf("got %v", err)
		}
		s.asked("create", "get")
		s.holds(intent("a")...)
		s.requests()
		// The second time it is known, and looked at again: it may be gone.
		if err := other.Write(t.Context(), testExecution, intent("b")...); !errors.Is(err, checkpoint.ErrTaken) {
			t.Errorf("got %v", err)
		}
		s.asked("get")
		if diff := cmp.Diff(intent("a")[1], s.read(other)[checkpoint.Intent]); diff != "" {
			t.Errorf("the other finds (-want +have)\n%s", diff)
		}
	})
}

func TestEqualContentIsLeftAlone(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.write(intent("a")...)
		version := metaText(s.object(testExecution), "resourceVersion")
		s.requests()
		s.write(intent("a")...)
		s.asked("get")
		// Somebody wrote it in their own way.
		s.change(testExecution, func(object contract.Object) {
			under(object, "data")["dispatch-intent.json"] = "{ \"state\": \"dispatch-intent\",\n \"by\": \"a\" }"
		})
		if err := s.another().Write(t.Context(), testExecution, intent("a")...); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(s.requests(), "update") || version == "" {
			t.Error("equal content was written again")
		}
	})
}

// A record is signed later, or was signed badly: its content stays, and the
// signature is made good. One that is signed stays so.
func TestSignaturesAreMadeGood(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, s *scene) {
		plain := document(checkpoint.Terminal, "a")
		s.write(plain)
		signed := plain
		for _, signature := range []string{"11", "22"} {
			signed.Signature = signature
			s.write(signed)
			s.holds(signed)
		}
		s.write(plain)
		s.holds(signed)
	})
}

func TestWhatOthersAddStays(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.admit = func(_ string, object contract.Object) {
			member(member(object, "metadata"), "labels")["team"] = "platform"
			member(member(object, "metadata"), "annotations")["policy.example/seen"] = "yes"
		}
		s.write(intent("a")...)
		s.change(testExecution, func(object contract.Object) {
			under(object, "data")["note.txt"] = "looked at by Kim"
			object["binaryData"] = map[string]any{"picture": "AAAA"}
			under(object, "metadata")["finalizers"] = []any{"example.com/keep"}
			under(under(object, "metadata"), "labels")["aks-oneshot/purpose"] = "theirs"
		})
		s.write(document(checkpoint.Dispatched, "a"))
		object := s.object(testExecution)
		labels := under(under(object, "metadata"), "labels")
		if under(object, "data")["note.txt"] != "looked at by Kim" || under(object, "binaryData")["picture"] != "AAAA" ||
			labels["team"] != "platform" || labels["aks-oneshot/purpose"] != "theirs" || under(object, "metadata")["finalizers"] == nil {
			t.Errorf("something of theirs is gone: %v", object)
		}
		s.holds(append(intent("a"), document(checkpoint.Dispatched, "a"))...)
	})
}

// Two runs add different steps at the same time.
func TestNeitherUndoesTheOther(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		other := s.another()
		s.write(intent("a")...)
		if err := other.Write(t.Context(), testExecution, document(checkpoint.Dispatched, "a")); err != nil {
			t.Fatal(err)
		}
		s.requests()
		s.write(document(checkpoint.Terminal, "a"))
		s.asked("update", "get", "update")
		s.holds(append(intent("a"), document(checkpoint.Dispatched, "a"), document(checkpoint.Terminal, "a"))...)
	})
}

func TestDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.write(intent("a")...)
		s.remove(testExecution)
		s.requests()
		s.write(document(checkpoint.Dispatched, "a"))
		s.asked("update", "create")
		s.holds(append(intent("a"), document(checkpoint.Dispatched, "a"))...)
		if len(s.told) != 1 || !strings.Contains(s.told[0], "ConfigMap fdai-runtime/aks-oneshot-"+testExecution+" is gone") {
			t.Errorf("told: %q", s.told)
		}
		// Somebody took one record out.
		s.change(testExecution, func(object contract.Object) { delete(under(object, "data"), "dispatch-intent.json") })
		s.write(document(checkpoint.Terminal, "a"))
		s.holds(append(intent("a"), document(checkpoint.Dispatched, "a"), document(checkpoint.Terminal, "a"))...)
	})
}

func TestAConfigMapOfSomebodyElse(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.change(testExecution, func(object contract.Object) { object["data"] = map[string]any{"terminal.json": "{}"} })
		parts := []string{"ConfigMap fdai-runtime/aks-oneshot-" + testExecution, "app.kubernetes.io/managed-by: aks-oneshot"}
		wantFailure(t, s.store.Write(t.Context(), testExecution, intent("a")...), failure.CheckpointDiffers, parts...)
		_, err := s.store.Read(t.Context(), testExecution)
		wantFailure(t, err, failure.CheckpointDiffers, parts...)
		if diff := cmp.Diff(map[string]any{"terminal.json": "{}"}, under(s.object(testExecution), "data")); diff != "" {
			t.Errorf("it was changed:\n%s", diff)
		}
	})
}

// What the cluster's admission makes of a record is looked at before a Job depends
// on it.
func TestAdmissionThatChangesRecords(t *testing.T) {
	t.Parallel()
	for name, admit := range map[string]func(string, contract.Object){
		"data":      func(_ string, o contract.Object) { under(o, "data")["dispatch-intent.json"] = "{}" },
		"no data":   func(_ string, o contract.Object) { delete(o, "data") },
		"labels":    func(_ string, o contract.Object) { under(under(o, "metadata"), "labels")[managedByLabel] = "argocd" },
		"signature": func(_ string, o contract.Object) { delete(under(o, "data"), "dispatch-intent.hmac-sha256") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, s *scene) {
				s.admit = admit
				d := document(checkpoint.Intent, "a")
				d.Signature = "11"
				wantFailure(t, s.store.Write(t.Context(), testExecution, d), failure.CheckpointStoreFailed, "did not store what it was sent", "admission")
			})
		})
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.write(intent("a")...)
		s.change(testExecution, func(object contract.Object) { under(object, "data")["dump"] = strings.Repeat("x", 1<<20-500) })
		large := checkpoint.Document{Step: checkpoint.Terminal, Data: []byte(strings.Repeat("y", 600))}
		wantFailure(t, s.store.Write(t.Context(), testExecution, large), failure.CheckpointStoreFailed, "bytes of data, 1048576 at most", "terminal record")
		small := checkpoint.Document{Step: checkpoint.Terminal, Data: []byte("{}")}
		s.write(small)
		s.holds(append(intent("a"), small)...)
	})
}

func TestDocumentsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		for want, documents := range map[string][]checkpoint.Document{
			"no record":                  nil,
			"are not kept there":         {{Step: checkpoint.Manifest, Data: []byte("{}")}},
			"two of that step":           {document(checkpoint.Intent, "a"), document(checkpoint.Intent, "b")},
			"the terminal record: it is": {{Step: checkpoint.Terminal, Data: []byte{0xff}}},
		} {
			f, ok := errors.AsType[*failure.Error](s.store.Write(t.Context(), testExecution, documents...))
			if !ok || f.Code != failure.CheckpointStoreFailed || !strings.Contains(f.Error(), want) {
				t.Errorf("got %v, want %q", f, want)
			}
		}
		s.asked()
	})
}

func TestOpenNeedsSomethingToWorkWith(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"api": func(o *Options) { o.API = nil }, "namespace": func(o *Options) { o.Namespace = "" },
		"cronjob": func(o *Options) { o.CronJob = "" }, "retention": func(o *Options) { o.Retention = 0 },
	} {
		s := &scene{t: t, fake: newFake(t)}
		o := s.options()
		change(&o)
		if _, err := Open(t.Context(), o); failure.CodeOf(err) != failure.ConfigInvalid {
			t.Errorf("%s: got %v", name, err)
		}
	}
	s := &scene{t: t, fake: newFake(t)}
	if name := s.another().Name(); name != "cluster" {
		t.Errorf("its name is %q", name)
	}
}

// Of two runs one is first, however they interleave, and later steps of both stay.
func TestRace(t *testing.T) {
	t.Parallel()
	for range 100 {
		s := &scene{t: t, fake: newFake(t)}
		runs := map[string]*Store{"a": s.another(), "b": s.another(), "c": s.another()}
		var mu sync.Mutex
		won := map[string]error{}
		var all sync.WaitGroup
		for name, store := range runs {
			all.Go(func() {
				err := store.Write(context.Background(), testExecution, intent(name)...)
				mu.Lock()
				defer mu.Unlock()
				won[name] = err
			})
		}
		all.Wait()
		var winner []string
		for name, err := range won {
			if err == nil {
				winner = append(winner, name)
			} else if !errors.Is(err, checkpoint.ErrTaken) {
				t.Fatal(err)
			}
		}
		if len(winner) != 1 {
			t.Fatalf("%d won: %v", len(winner), won)
		}
		steps := []checkpoint.Step{checkpoint.Dispatched, checkpoint.Ambiguous, checkpoint.Terminal}
		for i, name := range slices.Sorted(maps.Keys(runs)) {
			all.Go(func() {
				if err := runs[name].Write(context.Background(), testExecution, document(steps[i], "any")); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		s.holds(append(intent(winner[0]), document(steps[0], "any"), document(steps[1], "any"), document(steps[2], "any"))...)
	}
}
