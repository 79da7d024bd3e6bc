package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const asProgram = "CLUSTER_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program runs the command itself with a state folder of its own.
func program(t *testing.T, state string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "ONESHOT_TEST_STATE="+state)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	return out.String(), said.String(), err
}

func TestUpStatusDown(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "it's here")
	t.Cleanup(func() { _, _, _ = program(t, state, "down") })
	stdout, stderr, err := program(t, state, "up")
	if err != nil {
		t.Fatal(err, stderr)
	}
	// What a shell makes of it is what counts.
	path, err := exec.Command("sh", "-c", stdout+`printf %s "$KUBECONFIG"`).Output()
	if err != nil || strings.Count(stdout, "\n") != 1 {
		t.Fatalf("up printed %q: %v", stdout, err)
	}
	if b, err := os.ReadFile(string(path)); err != nil || !strings.Contains(string(b), "server: https://127.0.0.1:") {
		t.Errorf("KUBECONFIG=%s: %v\n%s", path, err, b)
	}
	if out, _, err := program(t, state, "status"); err != nil || !strings.HasPrefix(out, "running: https://127.0.0.1:") {
		t.Errorf("status: %s %v", out, err)
	}
	if out, stderr, err := program(t, state, "down"); err != nil || out != "" {
		t.Errorf("down printed %q: %v %s", out, err, stderr)
	}
	if out, _, err := program(t, state, "status"); err != nil || out != "not running\n" {
		t.Errorf("status after down: %s %v", out, err)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	stdout, _, err := program(t, t.TempDir(), "run", "--", "sh", "-c", `kubectl get nodes -o name; echo "$ONESHOT_TEST_WORKLOAD"; exit 7`)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("run ended with %v, want the command's exit status 7", err)
	}
	if !strings.HasPrefix(stdout, "node/localhost\nexample.azurecr.io/workload@sha256:") {
		t.Errorf("the command printed %q", stdout)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"what"}, {"run"}, {"run", "--"}, {"up", "now"}} {
		stdout, stderr, err := program(t, t.TempDir(), args...)
		if err == nil || stdout != "" || !strings.Contains(stderr, "usage: ") {
			t.Errorf("%q: %v, %q, %q", args, err, stdout, stderr)
		}
	}
}
