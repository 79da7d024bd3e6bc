package cluster_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
)

// childEnv makes the test binary a program that starts a cluster and waits, to
// be killed.
const childEnv = "ONESHOT_CLUSTER_TEST_CHILD"

func childMain() int {
	if os.Getenv(childEnv) == "interrupted" {
		// The parent kills us as soon as it reads the first line of progress.
		_, err := cluster.Start(context.Background(), cluster.Options{Log: os.Stdout})
		fmt.Println("not interrupted", err)
		return 1
	}
	c, err := cluster.Start(context.Background(), cluster.Options{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	pod := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stubborn"}, "spec": {"containers": [
		{"name": "main", "image": %q, "args": ["ignore-term", "--", "sleep", "1h"]}]}}`, c.Workload())
	if err := c.Apply(context.Background(), pod); err != nil {
		fmt.Println(err)
		return 1
	}
	if _, err := c.Kubectl(context.Background(), nil, "wait", "--for=condition=Ready", "--timeout=60s", "pod/stubborn"); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready", c.Dir())
	time.Sleep(time.Hour)
	return 0
}

// startChild runs the child until it prints a line that begins with the word,
// and returns the rest of the line.
func startChild(t *testing.T, mode, word string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+mode)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), word); ok {
			return cmd, strings.TrimSpace(rest)
		}
		t.Log(lines.Text())
	}
	t.Fatal("the child ended")
	return nil, ""
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
