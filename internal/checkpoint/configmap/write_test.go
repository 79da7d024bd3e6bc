package configmap

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

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
			signed.Seal = signature
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
		"signature": func(_ string, o contract.Object) { delete(under(o, "data"), "dispatch-intent.seal") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, s *scene) {
				s.admit = admit
				d := document(checkpoint.Intent, "a")
				d.Seal = "11"
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

// What is only there until its finalizers are done keeps nothing.
func TestAConfigMapThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.write(intent("a")...)
		s.change(testExecution, func(o contract.Object) {
			under(o, "metadata")["deletionTimestamp"] = "2026-11-30T14:21:40Z"
			under(o, "metadata")["finalizers"] = []any{"example.com/keep"}
		})
		for _, documents := range [][]checkpoint.Document{intent("a"), {document(checkpoint.Dispatched, "a")}} {
			wantFailure(t, s.store.Write(t.Context(), testExecution, documents...), failure.CheckpointStoreFailed, "being deleted", "finalizers")
		}
		// What a Write cannot count on, a Read does not count as kept either.
		_, err := s.another().Read(t.Context(), testExecution)
		wantFailure(t, err, failure.CheckpointStoreFailed, "looking for records in ConfigMap", "being deleted", "finalizers", "Keep what is in it")
		s.remove(testExecution)
		s.write(document(checkpoint.Dispatched, "a"))
		s.holds(append(intent("a"), document(checkpoint.Dispatched, "a"))...)
	})
}

// Somebody deletes it at the moment that it is written to.
func TestAConfigMapThatIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.write(intent("a")...)
		s.admit = func(_ string, object contract.Object) {
			under(object, "metadata")["deletionTimestamp"] = "2026-11-30T14:21:40Z"
		}
		wantFailure(t, s.store.Write(t.Context(), testExecution, document(checkpoint.Dispatched, "a")), failure.CheckpointStoreFailed, "being deleted")
	})
}

// What is stuck with the ConfigMap of one execution holds up no other's.
func TestEachExecutionHasItsOwnTurn(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.write(intent("a")...)
		s.fault = always("update", hang)
		ctx, cancel := context.WithCancel(t.Context())
		stuck := make(chan error)
		go func() { stuck <- s.store.Write(ctx, testExecution, document(checkpoint.Dispatched, "a")) }()
		synctest.Wait()
		began := time.Now()
		if err := s.store.Write(t.Context(), "fdai-inventory-retry-1-0123456789abcdef", intent("a")...); err != nil {
			t.Error(err)
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("a successor waited for %s", waited)
		}
		cancel()
		if err := <-stuck; err == nil {
			t.Error("the first was not stuck: this test shows nothing")
		}
	})
}
