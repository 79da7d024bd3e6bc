package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// world is shared by the tests that disturb nobody: each has a template, a
// purpose and a user of its own.
var world *harness.World

func TestMain(m *testing.M) { os.Exit(cluster.Main(inWorld{m}, cluster.Options{}, &shared)) }

var shared *cluster.Cluster

// inWorld runs the tests when the shared cluster is there.
type inWorld struct{ m *testing.M }

func (w inWorld) Run() int {
	code, err := w.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func (w inWorld) run() (int, error) {
	if os.Getenv("CI") == "true" && !shared.RealNode() {
		return 1, fmt.Errorf("these tests need real containers, and this machine is one that must have them (CI=true): run them as root on Linux")
	}
	dir, err := os.MkdirTemp("", "aks-oneshot-e2e-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	program, err := harness.Build(context.Background(), dir, harness.BuildOptions{})
	if err != nil {
		return 1, err
	}
	if world, err = harness.NewWorld(context.Background(), shared, program, dir); err != nil {
		return 1, err
	}
	return w.m.Run(), nil
}
