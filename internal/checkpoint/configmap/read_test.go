package configmap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// The list that Open began saves the first Read its request, while it says that
// there is nothing, is whole, and is recent.
func TestTheListIsUsed(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, s *scene) {
		s.read(s.store)
		s.asked()
		s.read(s.store)
		s.asked("get")
		// So does the first Read of another execution.
		if _, err := s.store.Read(s.t.Context(), "fdai-inventory-retry-1-0123456789abcdef"); err != nil {
			s.t.Fatal(err)
		}
		s.asked()
	})
	bubble(t, func(_ *testing.T, s *scene) {
		time.Sleep(2 * time.Minute)
		s.read(s.store)
		s.asked("get")
	})
	// What is there is read as it is now.
	bubble(t, func(_ *testing.T, s *scene) {
		s.byAnother(intent("a")...)
		other := s.another()
		s.byAnother(document(checkpoint.Terminal, "a"))
		s.requests()
		if n := len(s.read(other)); n != 3 {
			s.t.Errorf("%d documents", n)
		}
		s.asked("get")
	})
	// More than one page says nothing about what is on the others.
	bubble(t, func(_ *testing.T, s *scene) {
		s.pageSize = 1
		for _, execution := range []string{"a", "b"} {
			s.change(execution, func(o contract.Object) { s.store.mark(o) })
		}
		other := s.another()
		s.requests()
		s.read(other)
		s.asked("get")
	})
}

// A list that cannot be had, or takes too long, is no obstacle.
func TestTheListFails(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]func(context.Context, string) error{
		"denied": plainly(denied), "unavailable": plainly(unavailable), "refused": plainly(rejected), "hangs": hang,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &scene{t: t, fake: newFake(t)}
				s.fault = always("list", wrong)
				store, err := Open(t.Context(), s.options())
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if found := s.read(store); len(found) > 0 {
					t.Errorf("found %v", found)
				}
				s.asked("list", "get")
				if took := time.Since(began); took > overdue {
					t.Errorf("it took %s", took)
				}
				// A run without the verb list is as good as any.
				if err := store.Write(t.Context(), testExecution, intent("a")...); err != nil {
					t.Fatal(err)
				}
				if len(s.told) > 0 {
					t.Errorf("told: %q", s.told)
				}
				<-store.listing.done
			})
		})
	}
}

// A list that is on its way is waited for, and a Read ends with its context.
func TestTheListIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, fake: newFake(t)}
		s.fault = func(_ context.Context, _ int, verb string) fault {
			if verb == "list" {
				time.Sleep(time.Second)
			}
			return fault{}
		}
		store, err := Open(t.Context(), s.options())
		if err != nil {
			t.Fatal(err)
		}
		s.read(store)
		s.asked("list")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("enough"))
		if _, err := store.Read(ctx, "other"); failure.CodeOf(err) != "" || err == nil || !strings.Contains(err.Error(), "enough") {
			t.Errorf("got %v", err)
		}
	})
}

// Open ends its list with its context.
func TestTheListEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, fake: newFake(t)}
		s.fault = always("list", hang)
		ctx, cancel := context.WithCancel(t.Context())
		store, err := Open(ctx, s.options())
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		cancel()
		<-store.listing.done
		if time.Since(began) > 0 {
			t.Error("it went on")
		}
		s.read(store)
	})
}

// What is there and cannot be read is a copy with a reason.
func TestUnreadableCopies(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scene) {
		s.byAnother(intent("a")...)
		s.change(testExecution, func(o contract.Object) {
			o["binaryData"] = map[string]any{"terminal.json": "e30=", "else": "AAAA"}
			under(o, "data")["dispatched.json"] = json.Number("7")
			under(o, "data")["dispatch-ambiguous.json"] = ""
			annotations := under(under(o, "metadata"), "annotations")
			run, _, _ := strings.Cut(testRun, "2")
			annotations[storedByPrefix+"prepared"], annotations[storedByPrefix+"dispatch-intent"] = run+"many", run+"-1"
		})
		found, err := s.another().Read(t.Context(), testExecution)
		if err != nil {
			t.Fatal(err)
		}
		var have []string
		for _, c := range found.Copies {
			have = append(have, fmt.Sprintf("%s %d %v", c.Step, c.Attempt, c.Err))
		}
		want := []string{
			"prepared 0 <nil>", "dispatch-intent 0 <nil>", "dispatched 0 dispatched.json is no text",
			"dispatch-ambiguous 0 <nil>", "terminal 0 terminal.json is kept as binary data, which this program never does",
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("copies (-want +have)\n%s", diff)
		}
		// Nothing is put in its place.
		for step, want := range map[checkpoint.Step]string{checkpoint.Dispatched: "no text", checkpoint.Terminal: "binary data"} {
			wantFailure(t, s.store.Write(t.Context(), testExecution, document(step, "a")), failure.CheckpointStoreFailed, want)
		}
		// An empty document is one with another content.
		if err := s.store.Write(t.Context(), testExecution, document(checkpoint.Ambiguous, "a")); !errors.Is(err, checkpoint.ErrTaken) {
			t.Errorf("got %v", err)
		}
	})
}

// FuzzRead reads whatever a ConfigMap may be. It finds each step once at most, and
// then the text that is there; and what is written to it afterwards changes nothing
// of that.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"data":null}`, `{"data":[]}`, `{"data":{"terminal.json":"{}","terminal.seal":"00"}}`,
		`{"data":{"dispatch-intent.json":7,"dispatch-intent.seal":[]}}`, `{"binaryData":{"prepared.json":"e30="}}`,
		`{"metadata":{"annotations":{"aks-oneshot/stored-by.terminal":"/attempts/-1","aks-oneshot/expires-at":"never"}}}`,
		`{"metadata":{"annotations":{"aks-oneshot/stored-by.terminal":"https://github.com/octo/app/actions/runs/17/attempts/99999999999999999999"},"labels":{"a":7}},"immutable":true}`,
		`{"metadata":null,"data":{"manifest.json":"{}"," prepared.json":"x","PREPARED.json":"x"}}`,
		`{"metadata":{"labels":"app.kubernetes.io/managed-by"},"data":{"terminal.json":"\ud83d\ude00\u0000"}}`,
	} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, labelled bool) {
		object, err := contract.ParseObject(data)
		if err != nil {
			return
		}
		s := &scene{t: t, fake: newFake(t)}
		s.change(testExecution, func(o contract.Object) {
			metadata := under(o, "metadata")
			for key, value := range object {
				o[key] = value
			}
			for key, value := range metadata {
				member(o, "metadata")[key] = value
			}
			if labelled {
				labels := member(member(o, "metadata"), "labels")
				labels[managedByLabel], labels[componentLabel] = managedBy, component
			}
		})
		present := s.object(testExecution)
		store, err := Open(t.Context(), s.options())
		if err != nil {
			t.Fatal(err)
		}
		store.unasked(testExecution)
		found, err := store.Read(t.Context(), testExecution)
		if ours(present) != (err == nil) || err != nil && failure.CodeOf(err) != failure.CheckpointDiffers {
			t.Fatalf("got %v", err)
		}
		seen := map[checkpoint.Step]checkpoint.Copy{}
		for _, c := range found.Copies {
			if _, twice := seen[c.Step]; twice || c.Attempt < 0 {
				t.Errorf("copy %+v", c)
			}
			seen[c.Step] = c
			if text, ok := under(present, "data")[string(c.Step)+".json"].(string); c.Err == nil && (!ok || text != string(c.Data)) {
				t.Errorf("%s is %q, found %q", c.Step, text, c.Data)
			}
		}
		d := document(checkpoint.Terminal, "a")
		err = store.Write(t.Context(), testExecution, d)
		was, there := seen[checkpoint.Terminal]
		if err == nil && there && !alike(was.Data, d.Data) {
			t.Errorf("%q was replaced", was.Data)
		}
		now := s.object(testExecution)
		for key, value := range under(present, "data") {
			if diff := cmp.Diff(value, under(now, "data")[key]); diff != "" && (err != nil || !strings.HasPrefix(key, "terminal.")) {
				t.Errorf("%s (-before +after)\n%s", key, diff)
			}
		}
	})
}
