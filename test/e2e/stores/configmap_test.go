package stores

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/configmap"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	testcluster "github.com/aks-oneshot/aks-oneshot/test/cluster"
)

func open(t *testing.T, user string, change ...func(*configmap.Options)) *configmap.Store {
	t.Helper()
	o := configmap.Options{
		API: client(t, user), Namespace: namespace, CronJob: label(t), Purpose: "inventory", Attempt: 1,
		Run: "https://github.com/octo/app/actions/runs/17/attempts/1", Retention: time.Hour,
		Notify: func(text string) { t.Log(text) },
	}
	for _, c := range change {
		c(&o)
	}
	s, err := configmap.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// label is a CronJob's name of the test's own.
func label(t *testing.T) string {
	t.Helper()
	return strings.ToLower(strings.NewReplacer("/", "-", "_", "-", "#", "-").Replace(t.Name()))
}

func document(step checkpoint.Step, by string) checkpoint.Document {
	return checkpoint.Document{Step: step, Data: fmt.Appendf(nil, "{\"by\":%q,\"state\":%q}\n", by, step), Seal: strings.Repeat("5a", 32)}
}

func intent(by string) []checkpoint.Document {
	return []checkpoint.Document{document(checkpoint.Prepared, "all"), document(checkpoint.Intent, by)}
}

func read(t *testing.T, s *configmap.Store, execution string) map[checkpoint.Step]checkpoint.Document {
	t.Helper()
	found, err := s.Read(t.Context(), execution)
	if err != nil {
		t.Fatal(err)
	}
	if !found.Complete {
		t.Error("not complete")
	}
	all := map[checkpoint.Step]checkpoint.Document{}
	for _, c := range found.Copies {
		if c.Err != nil || c.Attempt != 1 || c.Where != "ConfigMap "+namespace+"/aks-oneshot-"+execution {
			t.Errorf("copy %+v", c)
		}
		all[c.Step] = c.Document
	}
	return all
}

// requests are those on the ConfigMap of an execution, and lists, by a user.
func requests(t *testing.T, execution, cronJob string) []string {
	t.Helper()
	events, err := control.Audit(t.Context(), func(e testcluster.AuditEvent) bool {
		return e.Resource == "configmaps" && (e.Name == "aks-oneshot-"+execution || e.Verb == "list" && strings.Contains(e.RequestURI, cronJob))
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range events {
		all = append(all, fmt.Sprint(e.Verb, " ", e.Code))
	}
	return all
}

// TestARunAndTheNext: what one run stored is what the next one finds, and the API
// server saw as few requests as there have to be.
func TestARunAndTheNext(t *testing.T) {
	t.Parallel()
	execution := label(t)
	first := open(t, runner)
	if found := read(t, first, execution); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	want := map[checkpoint.Step]checkpoint.Document{}
	for _, documents := range [][]checkpoint.Document{intent("a"), {document(checkpoint.Dispatched, "a")}, {document(checkpoint.Terminal, "a")}} {
		if err := first.Write(t.Context(), execution, documents...); err != nil {
			t.Fatal(err)
		}
		for _, d := range documents {
			want[d.Step] = d
		}
	}
	if diff := cmp.Diff([]string{"list 200", "create 201", "update 200", "update 200"}, requests(t, execution, label(t))); diff != "" {
		t.Errorf("requests (-want +have)\n%s", diff)
	}
	if diff := cmp.Diff(want, read(t, open(t, runner), execution)); diff != "" {
		t.Errorf("found (-want +have)\n%s", diff)
	}
	if _, err := control.Kubectl(t.Context(), nil, "-n", namespace, "label", "configmap", "aks-oneshot-"+execution, "team=platform"); err != nil {
		t.Fatal(err)
	}
	if err := first.Write(t.Context(), execution, document(checkpoint.Ambiguous, "a")); err != nil {
		t.Fatal(err)
	}
	out, err := control.Kubectl(t.Context(), nil, "-n", namespace, "get", "configmap", "-l", "team=platform,app.kubernetes.io/managed-by=aks-oneshot,aks-oneshot/purpose=inventory", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Items []struct{ Data map[string]string }
	}
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || len(list.Items[0].Data) != 10 {
		t.Errorf("in the cluster: %s", out)
	}
}

// TestOneOfTwoRunsIsFirst: two runs store an intent of one execution at the same
// time, 50 times. One succeeds, and the other knows that it does not.
func TestOneOfTwoRunsIsFirst(t *testing.T) {
	t.Parallel()
	for round := range 50 {
		execution := fmt.Sprintf("%s-%d", label(t), round)
		stores := []*configmap.Store{open(t, runner), open(t, runner)}
		errs := make([]error, len(stores))
		var runs sync.WaitGroup
		start := make(chan struct{})
		for i, s := range stores {
			read(t, s, execution)
			runs.Go(func() {
				<-start
				errs[i] = s.Write(context.WithoutCancel(t.Context()), execution, intent(strconv.Itoa(i))...)
			})
		}
		close(start)
		runs.Wait()
		first := slices.Index(errs, nil)
		if first < 0 || !errors.Is(errs[1-first], checkpoint.ErrTaken) {
			t.Fatalf("round %d: %v", round, errs)
		}
		for _, s := range append(stores, open(t, runner)) {
			if have := read(t, s, execution)[checkpoint.Intent]; !bytes.Equal(have.Data, document(checkpoint.Intent, strconv.Itoa(first)).Data) {
				t.Errorf("round %d: run %d was first, and the intent is %s", round, first, have.Data)
			}
		}
		// What follows is stored by both, at the same time.
		for i, s := range stores {
			runs.Go(func() {
				errs[i] = s.Write(context.WithoutCancel(t.Context()), execution, document([]checkpoint.Step{checkpoint.Dispatched, checkpoint.Terminal}[i], "any"))
			})
		}
		runs.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if n := len(read(t, stores[0], execution)); n != 4 {
			t.Errorf("round %d: %d documents", round, n)
		}
	}
}

// TestDeletedWhileARunGoesOn: it is made anew, with all that the run knows.
func TestDeletedWhileARunGoesOn(t *testing.T) {
	t.Parallel()
	execution := label(t)
	var told []string
	s := open(t, runner, func(o *configmap.Options) { o.Notify = func(text string) { told = append(told, text) } })
	if err := s.Write(t.Context(), execution, intent("a")...); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Kubectl(t.Context(), nil, "-n", namespace, "delete", "configmap", "aks-oneshot-"+execution); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), execution, document(checkpoint.Dispatched, "a")); err != nil {
		t.Fatal(err)
	}
	if found := read(t, open(t, runner), execution); len(found) != 3 || len(told) != 1 {
		t.Errorf("found %v, told %q", found, told)
	}
}

// TestEachVerbIsMissed: without one of its verbs the store says which five it needs,
// where it cannot do without.
func TestEachVerbIsMissed(t *testing.T) {
	t.Parallel()
	for _, missing := range verbs {
		t.Run(missing, func(t *testing.T) {
			t.Parallel()
			execution := label(t)
			var told []string
			limited := func(o *configmap.Options) { o.Notify = func(text string) { told = append(told, text) } }
			s := open(t, without(missing), limited)
			steps := map[string]error{}
			_, steps["first read"] = s.Read(t.Context(), execution)
			_, steps["second read"] = s.Read(t.Context(), execution)
			steps["intent"] = s.Write(t.Context(), execution, intent("a")...)
			steps["dispatched"] = s.Write(t.Context(), execution, document(checkpoint.Dispatched, "a"))
			fails := map[string][]string{"get": {"second read"}, "create": {"intent", "dispatched"}, "update": {"dispatched"}}[missing]
			for step, err := range steps {
				if slices.Contains(fails, step) != (err != nil) {
					t.Errorf("%s: %v", step, err)
				}
				if err == nil {
					continue
				}
				for _, part := range []string{"cannot " + missing, "get, list, create, update and delete on configmaps in namespace " + namespace} {
					if failure.CodeOf(err) != failure.PermissionDenied || !strings.Contains(err.Error(), part) {
						t.Errorf("%s: %q is not in: %v", step, part, err)
					}
				}
			}
			expiring(t, execution+"-old", label(t), -time.Hour)
			s.Expire(t.Context())
			kept := missing == "list" || missing == "delete"
			if kept != (len(told) == 1 && strings.Contains(told[0], "cannot "+missing)) {
				t.Errorf("told: %q", told)
			}
			if kept != there(t, execution+"-old") {
				t.Errorf("what expired is there: %t", !kept)
			}
		})
	}
}

// TestExpiry: what expired is gone, and nothing else.
func TestExpiry(t *testing.T) {
	t.Parallel()
	expiring(t, "expiry-old", label(t), -time.Hour)
	expiring(t, "expiry-new", label(t), time.Hour)
	expiring(t, "expiry-mine", label(t), -time.Hour)
	expiring(t, "expiry-theirs", "another-cronjob", -time.Hour)
	s := open(t, runner)
	if _, err := s.Read(t.Context(), "expiry-mine"); err != nil {
		t.Fatal(err)
	}
	s.Expire(t.Context())
	for execution, want := range map[string]bool{"expiry-old": false, "expiry-new": true, "expiry-mine": true, "expiry-theirs": true} {
		if there(t, execution) != want {
			t.Errorf("%s is there: %t, want %t", execution, !want, want)
		}
	}
}

// expiring makes a ConfigMap as a run did that ended some time ago.
func expiring(t *testing.T, execution, cronJob string, in time.Duration) {
	t.Helper()
	past := open(t, runner, func(o *configmap.Options) {
		o.CronJob, o.Now = cronJob, func() time.Time { return time.Now().Add(in - o.Retention) }
	})
	if err := past.Write(t.Context(), execution, intent("past")...); err != nil {
		t.Fatal(err)
	}
}

func there(t *testing.T, execution string) bool {
	t.Helper()
	_, err := client(t, runner).ConfigMap(t.Context(), namespace, "aks-oneshot-"+execution)
	return err == nil
}

// TestImmutable: somebody made it so. The intent stands, and what follows says what
// is in the way.
func TestImmutable(t *testing.T) {
	t.Parallel()
	execution := label(t)
	s := open(t, runner)
	if err := s.Write(t.Context(), execution, intent("a")...); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Kubectl(t.Context(), nil, "-n", namespace, "patch", "configmap", "aks-oneshot-"+execution, "-p", `{"immutable":true}`); err != nil {
		t.Fatal(err)
	}
	err := s.Write(t.Context(), execution, document(checkpoint.Terminal, "a"))
	if failure.CodeOf(err) != failure.CheckpointStoreFailed || !strings.Contains(err.Error(), "immutable") {
		t.Errorf("got %v", err)
	}
	if n := len(read(t, s, execution)); n != 2 {
		t.Errorf("%d documents", n)
	}
}
