package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// alone gives the test a folder for all temporary files, and fails it when one
// is left in the end.
func alone(t *testing.T) {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	t.Cleanup(func() {
		left, err := os.ReadDir(folder)
		if err != nil {
			t.Error(err)
		}
		for _, entry := range left {
			t.Errorf("left behind: %s", entry.Name())
		}
	})
}

// A benchmark of one round and a short wait is no measure, and does everything
// that a long one does.
func TestBench(t *testing.T) {
	alone(t)
	out := filepath.Join(t.TempDir(), "bench.json")
	var stdout strings.Builder
	getenv := func(name string) string { return map[string]string{"BENCH_OUT": out}[name] }
	if status := realMain(t.Context(), []string{"-rounds=1", "-wait=5s", "-kubelogin=" + plugin(t)}, getenv, &stdout, t.Output()); status != 0 {
		t.Fatalf("exit status %d", status)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var r Result
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if r.Schema != Schema || r.Rounds != 1 || r.WaitSeconds != 5 || r.Environment.Kubectl != r.Environment.Kubernetes {
		t.Errorf("%+v", r)
	}
	figures := map[string]Figure{}
	for _, f := range r.Figures {
		figures[f.Name] = f
		for _, s := range []*Series{&f.Action, f.Kubectl, f.CreateWait} {
			if s != nil && (s.Value <= 0 && f.Unit != "requests" && f.Unit != "delays" || len(s.Samples) != 1) {
				t.Errorf("%s: %+v", f.Name, s)
			}
		}
		if !strings.Contains(stdout.String(), f.Title) {
			t.Errorf("the table has no %q:\n%s", f.Title, &stdout)
		}
	}
	// What does not depend on the time that anything takes.
	for name, want := range map[string][2]float64{
		// The two reviewed objects and the Job are read, the Job is created and
		// watched.
		"run_requests": {5, 5},
		// An id token and Entra's endpoints for each of two tokens, the two tokens,
		// and the cluster and its credential.
		"sign_in_requests": {8, 8},
		// The watch, at least, and the poll.
		"wait_requests": {1, 2},
		// Of the workflow's services and the API server: two lists, and for each of
		// three steps a name, two requests of an upload and its end.
		"stores_artifact_requests": {19, 20},
		// A list, a create and two updates; and a list of what has expired.
		"stores_cluster_requests": {9, 10},
		// Five lookups, and for each of three steps a key, an upload and its end.
		"stores_cache_requests": {19, 19},
		"binary_size":           {1, 20},
		"peak_memory":           {5, 45},
	} {
		if v := figures[name].Action.Value; v < want[0] || v > want[1] {
			t.Errorf("%s is %v, want %v to %v", name, v, want[0], want[1])
		}
	}
	// One token: the id token and the kubeconfig are there already.
	if f := figures["sign_in_requests"]; f.Kubectl == nil || f.Kubectl.Value != 1 {
		t.Errorf("signing in with kubectl's plugin: %+v", f.Kubectl)
	}
	if f := figures["run_requests"]; f.Kubectl == nil || f.Kubectl.Value < 6 {
		t.Errorf("kubectl sent less than it was told to: %+v", f.Kubectl)
	}
}

// What is under way when the benchmark is stopped ends, and nothing is left.
func TestBenchStopped(t *testing.T) {
	alone(t)
	args := []string{"-rounds=1", "-kubelogin=" + plugin(t)}
	if path, err := exec.LookPath("kubectl"); err == nil {
		args = append(args, "-kubectl="+path)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	log := &waiter{log: t.Output(), text: "warming up", then: cancel}
	if status := realMain(ctx, args, func(string) string { return "" }, io.Discard, log); status != 130 {
		t.Errorf("exit status %d, want 130", status)
	}
	if !log.done {
		t.Error("the benchmark ended before it was stopped")
	}
}

// waiter does something when a text is written.
type waiter struct {
	log  io.Writer
	text string
	then func()
	done bool
}

func (w *waiter) Write(p []byte) (int, error) {
	if !w.done && strings.Contains(string(p), w.text) {
		w.done = true
		w.then()
	}
	return w.log.Write(p)
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"-help", 0, "-rounds"}, {"-rounds=0", 2, "-rounds must be"}, {"-wait=1ms", 2, "-wait 1s or more"},
		{"now", 2, "there are no arguments"}, {"-nonsense", 2, "not defined"}, {"-parts=x", 2, "there is no part"},
	} {
		var stderr strings.Builder
		status := realMain(t.Context(), []string{c.args}, func(string) string { return "" }, io.Discard, &stderr)
		if status != c.status || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%s: exit status %d, want %d: %s", c.args, status, c.status, &stderr)
		}
	}
}
