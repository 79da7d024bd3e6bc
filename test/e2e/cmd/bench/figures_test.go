package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

func TestCount(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 9, 27, 1, 0, 0, 0, time.UTC)
	event := func(seconds int, user, verb, stage string) cluster.AuditEvent {
		return cluster.AuditEvent{Time: begin.Add(time.Duration(seconds) * time.Second), User: user, Verb: verb, Stage: stage}
	}
	events := []cluster.AuditEvent{
		event(0, "me", "create", "ResponseComplete"),  // what it counts from
		event(1, "me", "watch", "ResponseStarted"),    // counts
		event(2, "you", "get", "ResponseComplete"),    // somebody else
		event(30, "me", "get", "ResponseComplete"),    // counts
		event(40, "me", "watch", "ResponseComplete"),  // counted when it began
		event(60, "me", "get", "ResponseComplete"),    // counts
		event(61, "me", "get", "ResponseComplete"),    // too late
		event(-1, "me", "watch", "ResponseStarted"),   // too early
		event(50, "me", "watch", "ResponseStarted"),   // counts
		event(55, "me", "connect", "ResponseStarted"), // counts when it ends
	}
	if n := count(events, "me", begin, begin.Add(time.Minute)); n != 4 {
		t.Errorf("%d requests, want 4", n)
	}
}

// kubectl's wait in the audit log of a cluster stands for what the figures are
// made of in TestBench.
func TestFigures(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, make([]byte, 3*mebibyte), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &bench{
		options: options{n: 1, wait: time.Minute},
		stage:   &harness.Stage{Program: program}, sequence: &kubectl{path: program},
		plain: &harness.Scenario{User: serviceAccount("bench")},
	}
	begin := time.Date(2026, 9, 27, 1, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	create := func(ms int, user, job string) cluster.AuditEvent {
		return cluster.AuditEvent{Time: at(ms), User: serviceAccount(user), Verb: "create", Resource: "jobs", Name: job, Code: 201, Stage: "ResponseComplete"}
	}
	get := func(ms int, user string) cluster.AuditEvent {
		return cluster.AuditEvent{Time: at(ms), User: serviceAccount(user), Verb: "get", Resource: "jobs", Code: 200, Stage: "ResponseComplete"}
	}
	events := []cluster.AuditEvent{
		create(50, "bench", "a"), create(10_400, "sequence", "b"), create(20_200, "create-wait", "c"),
		create(30_000, "bench", "wa"), create(30_000, "sequence", "wb"), create(30_000, "create-wait", "wc"),
		get(40_000, "bench"), get(70_000, "bench"), get(35_000, "sequence"), get(40_000, "sequence"), get(95_000, "sequence"),
	}
	spans := []span{
		{way: byAction, job: "a", began: at(0), terminal: at(3000), ended: at(3020), again: 40 * time.Millisecond},
		{way: byKubectl, job: "b", began: at(10_000), terminal: at(13_000), ended: at(15_000), again: 300 * time.Millisecond},
		{way: byCreateWait, job: "c", began: at(20_000), terminal: at(23_000), ended: at(23_010)},
	}
	w := waits{
		jobs:  [ways]string{"wa", "wb", "wc"},
		peaks: [ways][]float64{{20 * mebibyte, 10 * mebibyte}, {40 * mebibyte}, {50 * mebibyte}},
	}
	figures, err := b.figures(spans, w, events)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][3]float64{ // -1: there is none
		"start_to_create": {50, 400, 200}, "detection": {20, 2000, 10}, "replay": {40, 300, -1},
		"wait_requests": {2, 2, 0}, "run_requests": {1, 1, 1}, "peak_memory": {20, 40, 50}, "binary_size": {3, 3, 3},
	}
	for _, f := range figures {
		for i, s := range []*Series{&f.Action, f.Kubectl, f.CreateWait} {
			have := -1.0
			if s != nil {
				have = s.Value
			}
			if have != want[f.Name][i] {
				t.Errorf("%s of way %d is %v, want %v", f.Name, i, have, want[f.Name][i])
			}
		}
		delete(want, f.Name)
	}
	if len(want) > 0 || !met(figures) {
		t.Errorf("missing: %v, met: %v", want, met(figures))
	}
	spans[1].job = "nobody"
	if _, err := b.figures(spans, w, events); err == nil {
		t.Error("a Job that was never created has a time")
	}
}

func TestReadPeak(t *testing.T) {
	t.Parallel()
	for content, ok := range map[string]bool{"20 10\n": true, "10 10\n": false, "9 10\n": false, "20\n": false, "x": false} {
		file := filepath.Join(t.TempDir(), "peak")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if peak, err := readPeak(file); (err == nil) != ok || ok && peak != 20 {
			t.Errorf("%q is read as %v, %v", content, peak, err)
		}
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	job := func(kind, status string) harness.Object {
		return harness.Object{"status": map[string]any{"conditions": []any{map[string]any{"type": kind, "status": status}}}}
	}
	for _, c := range []struct {
		job  harness.Object
		want bool
	}{
		{job("Complete", "True"), true}, {job("Failed", "True"), true}, {job("Complete", "False"), false},
		{job("SuccessCriteriaMet", "True"), false}, {job("FailureTarget", "True"), false}, {harness.Object{}, false},
	} {
		if have := terminal(c.job); have != c.want {
			t.Errorf("%v: %v, want %v", c.job, have, c.want)
		}
	}
}
