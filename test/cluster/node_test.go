package cluster_test

import (
	"fmt"
	"strings"
	"testing"
)

// pod is a pod of the test program with more fields of its container.
func pod(name, args, more string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  restartPolicy: Never
  securityContext: {runAsNonRoot: true}
  containers: [{name: main, image: "%s", args: %s%s}]
`, name, c.Workload(), args, more)
}

// ended waits for the end of a pod and returns its phase, exit code and reason.
func ended(t *testing.T, name string) string {
	t.Helper()
	if _, err := c.Kubectl(t.Context(), nil, "wait", "--for=jsonpath={.status.containerStatuses[0].state.terminated}", "--timeout=60s", "pod/"+name); err != nil {
		t.Fatal(err)
	}
	out, err := c.Kubectl(t.Context(), nil, "get", "pod", name, "-o",
		"jsonpath={.status.containerStatuses[0].state.terminated.exitCode} {.status.containerStatuses[0].state.terminated.reason}")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestLongLog(t *testing.T) {
	t.Parallel()
	needRealNode(t)
	if err := c.Apply(t.Context(), pod("talks", `[lines, "5000", "100"]`, "")); err != nil {
		t.Fatal(err)
	}
	if got := ended(t, "talks"); got != "0 Completed" {
		t.Errorf("the pod ended with %s", got)
	}
	out, err := c.Kubectl(t.Context(), nil, "logs", "talks")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 5000 || !strings.HasPrefix(lines[4999], "00005000 ") {
		t.Errorf("%d lines, the last one %q", len(lines), lines[len(lines)-1])
	}
}

func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	needRealNode(t)
	if err := c.Apply(t.Context(), pod("hungry", `[oom]`, `, resources: {limits: {memory: 64Mi}}`)); err != nil {
		t.Fatal(err)
	}
	if got := ended(t, "hungry"); got != "137 OOMKilled" {
		t.Errorf("the pod ended with %s, want 137 OOMKilled", got)
	}
}

func TestDeletedPodGetsItsSignal(t *testing.T) {
	t.Parallel()
	needRealNode(t)
	if err := c.Apply(t.Context(), pod("polite", `[signal-wait, "7"]`, "")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Kubectl(t.Context(), nil, "wait", "--for=condition=Ready", "--timeout=60s", "pod/polite"); err != nil {
		t.Fatal(err)
	}
	done := make(chan string, 1)
	go func() {
		out, err := c.Kubectl(t.Context(), nil, "logs", "-f", "polite")
		done <- fmt.Sprint(string(out), err)
	}()
	if _, err := c.Kubectl(t.Context(), nil, "delete", "pod", "polite", "--grace-period=20"); err != nil {
		t.Fatal(err)
	}
	if got, want := <-done, "waiting for SIGTERM\nSIGTERM came\n<nil>"; got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
}

func TestRootIsRefused(t *testing.T) {
	t.Parallel()
	needRealNode(t)
	if err := c.Apply(t.Context(), pod("root", `[id]`, `, securityContext: {runAsUser: 0}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Kubectl(t.Context(), nil, "wait", "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=CreateContainerConfigError", "--timeout=60s", "pod/root"); err != nil {
		t.Fatal(err)
	}
}

func TestImageThatIsNowhere(t *testing.T) {
	t.Parallel()
	needRealNode(t)
	manifest := strings.ReplaceAll(pod("missing", `[]`, ""), c.Workload(), "127.0.0.1:1/missing:1")
	if err := c.Apply(t.Context(), manifest); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Kubectl(t.Context(), nil, "wait", "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=ErrImagePull", "--timeout=60s", "pod/missing"); err != nil {
		t.Fatal(err)
	}
}
