package cluster_test

import (
	"fmt"
	"strings"
	"testing"
)

func job(name, args string) string {
	return fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      securityContext: {runAsNonRoot: true}
      containers:
      - name: main
        image: %s
        args: %s
`, name, c.Workload(), args)
}

func TestJobSucceeds(t *testing.T) {
	t.Parallel()
	if err := c.Apply(t.Context(), job("works", `[print, hello, --, env, HOME]`)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Kubectl(t.Context(), nil, "wait", "--for=condition=Complete", "--timeout=60s", "job/works"); err != nil {
		t.Fatal(err)
	}
	out, err := c.Kubectl(t.Context(), nil, "logs", "job/works")
	if err != nil {
		t.Fatal(err)
	}
	want := "hello\nHOME=/\n"
	if !c.RealNode() {
		want = "this pod is played by kwok: nothing runs\n"
	}
	if string(out) != want {
		t.Errorf("log is %q, want %q", out, want)
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	if err := c.Apply(t.Context(), job("fails", `[exit, "3"]`)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Kubectl(t.Context(), nil, "wait", "--for=condition=Failed", "--timeout=60s", "job/fails"); err != nil {
		t.Fatal(err)
	}
	out, err := c.Kubectl(t.Context(), nil, "get", "pods", "-l", "job-name=fails", "-o", "jsonpath={.items[*].status.containerStatuses[*].state.terminated.exitCode}")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(out)); got != "3" {
		t.Errorf("exit code is %q, want 3", got)
	}
}
