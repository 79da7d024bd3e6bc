package cluster_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
)

func TestCancelledStart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "state")
	if _, err := cluster.Start(ctx, cluster.Options{Dir: dir}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a start without time gives %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a start without time leaves its folder: %v", err)
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	// Longer than a Unix socket's path may be.
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30), "state")
	own := start(t, cluster.Options{Dir: dir})
	if own.Dir() != dir {
		t.Errorf("the folder is %s, want %s", own.Dir(), dir)
	}
	for path, want := range map[string]os.FileMode{own.Dir(): 0o700 | os.ModeDir, own.Kubeconfig(): 0o600, own.CAFile(): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v, want mode %v", path, info.Mode(), err, want)
		}
	}
	if _, err := cluster.Start(t.Context(), cluster.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "running cluster") {
		t.Errorf("a second cluster in the same folder: %v", err)
	}
	if err := own.Apply(t.Context(), `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "`+own.Workload()+`", "args": ["signal-wait"]}]}}`); err != nil {
		t.Fatal(err)
	}
	if _, err := own.Kubectl(t.Context(), nil, "wait", "--for=condition=Ready", "--timeout=60s", "pod/p"); err != nil {
		t.Error(err)
	}
	if err := own.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestCancelledUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "state")
	if _, err := cluster.Up(ctx, cluster.Options{Dir: dir}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an up without time gives %v", err)
	}
	if s := cluster.Status(dir); s != "not running" {
		t.Errorf("status after an up without time: %s", s)
	}
}

func TestStrangersFolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "precious")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Start(t.Context(), cluster.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a folder with other files: %v", err)
	}
	if err := cluster.Down(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the file is gone: %v", err)
	}
}

func TestUpAndDown(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "up")
	t.Cleanup(func() { _ = cluster.Down(dir) })
	second := make(chan *cluster.Found, 1)
	go func() { // two at once must agree on one cluster
		found, err := cluster.Up(t.Context(), cluster.Options{Dir: dir})
		if err != nil {
			t.Error(err)
		}
		second <- found
	}()
	first, err := cluster.Up(t.Context(), cluster.Options{Dir: dir, Log: t.Output()})
	if other := <-second; err != nil || other == nil || *other != *first {
		t.Fatalf("two at once found %+v and %+v, %v", first, other, err)
	}
	if s := cluster.Status(dir); !strings.HasPrefix(s, "running") {
		t.Errorf("status of a running cluster: %s", s)
	}
	again, err := cluster.Up(t.Context(), cluster.Options{Dir: dir})
	if err != nil || *again != *first {
		t.Errorf("the third up found %+v, %v; want %+v", again, err, first)
	}
	for range 2 { // the second time there is nothing
		if err := cluster.Down(dir); err != nil {
			t.Error(err)
		}
	}
	if s := cluster.Status(dir); s != "not running" {
		t.Errorf("status after down: %s", s)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}
