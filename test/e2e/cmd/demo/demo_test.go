package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// demo is a demonstration under way, as a process of its own.
type demo struct {
	cmd    *exec.Cmd
	folder string
	mu     sync.Mutex
	out    bytes.Buffer
}

func (d *demo) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.out.Write(p)
}

func (d *demo) output() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.out.String()
}

var build = sync.OnceValues(func() (string, error) {
	program := filepath.Join(folder, "demo")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
})

// folder has the built program.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "demo-test-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// start starts the demonstration with a folder of its own for all its files.
func start(t *testing.T) *demo {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	d := &demo{folder: t.TempDir()}
	d.cmd = exec.Command(program)
	d.cmd.Dir = "../.."
	d.cmd.Env = append(os.Environ(), "TMPDIR="+d.folder)
	d.cmd.Stdout, d.cmd.Stderr = d, d
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return d
}

// wait returns the exit status, and fails the test when something is left of
// the demonstration.
func (d *demo) wait(t *testing.T) int {
	t.Helper()
	if err := d.cmd.Wait(); d.cmd.ProcessState == nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(d.folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		t.Errorf("left behind: %s", entry.Name())
	}
	// Every process of the cluster names its folder.
	for _, path := range glob(t, "/proc/[0-9]*/cmdline") {
		line, err := os.ReadFile(path)
		if err == nil && bytes.Contains(line, []byte(d.folder)) {
			t.Errorf("left behind: %s", bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		}
	}
	mounts, err := os.ReadFile("/proc/mounts")
	if err == nil && bytes.Contains(mounts, []byte(d.folder)) {
		t.Errorf("left behind: mounts in %s", d.folder)
	}
	return d.cmd.ProcessState.ExitCode()
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestDemo(t *testing.T) {
	t.Parallel()
	d := start(t)
	if status := d.wait(t); status != 0 {
		t.Fatalf("exit status %d\n%s", status, d.output())
	}
	out := d.output()
	for text, times := range map[string]int{
		"✓ as it should be": 5, "About to happen: ": 5, "\nSeen: ": 5, "✗": 0,
		"exit status 0, outcome=succeeded, dispatched=true, resumed=false":                                  1,
		"exit status 0, outcome=succeeded, dispatched=false, resumed=true, resumed-from=work-dir":           1,
		"exit status 0, outcome=succeeded, dispatched=false, resumed=true, resumed-from=cluster, attempt 1": 1,
		"ended by SIGKILL, no outputs":                          1,
		"exit status 3, outcome=refused, reason=template-drift": 1,
		"so far: 1,":                          2,
		"so far: 2,":                          3,
		"  log │    0.":                       -1,
		"  summary │ ✅ inventory succeeded":   3,
		"  summary │ ⛔ inventory was refused": 1,
		"\x1b[":                       0,
		"::add-mask::":                0,
		"To read next, in README.md:": 1,
		"the control plane is gone, and nothing is left behind": 1,
	} {
		if n := strings.Count(out, text); n != times && (times >= 0 || n == 0) {
			t.Errorf("%q is shown %d times, want %d", text, n, times)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// Ctrl-C at several moments: nothing is left each time.
func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{
		"building the action", "starting a Kubernetes control plane", "waiting for Job ",
	} {
		d := start(t)
		for deadline := time.Now().Add(2 * time.Minute); !strings.Contains(d.output(), moment); {
			if time.Now().After(deadline) {
				t.Errorf("does not come to %q", moment)
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err := d.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Errorf("at %q: %v", moment, err)
		}
		if status := d.wait(t); status != 130 {
			t.Errorf("stopped at %q, the exit status is %d, want 130", moment, status)
		}
		if out := d.output(); !strings.Contains(out, "Stopped; nothing is left behind.") {
			t.Errorf("stopped at %q, it does not say that nothing is left:\n%s", moment, out)
		}
	}
}
