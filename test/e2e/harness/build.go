// Package harness starts the built action as a CI runner would, against a
// Kubernetes cluster of package cluster, and tells what came of it.
//
//	world, err := harness.NewWorld(ctx, cluster, program, folder)
//	scenario, err := world.Scenario(ctx, harness.Template{Name: "backfill"})
//	scenario.Inputs["args"] = "sleep\n1s"
//	ended, err := scenario.Run(ctx)
//
// Nothing in it is about testing: the demonstration and the benchmark use it
// too.
package harness

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// rootModule is the module of the action.
const rootModule = "github.com/aks-oneshot/aks-oneshot"

// BuildOptions say how the action is built.
type BuildOptions struct {
	// Race builds with the race detector, which needs cgo.
	Race bool
	// Strip leaves out symbols and debug information, as a release does.
	Strip bool
}

// Build builds the action into a folder and returns the program's path. It is
// built from the tree that this module's replace directive names.
func Build(ctx context.Context, folder string, o BuildOptions) (string, error) {
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	program := filepath.Join(folder, "aks-oneshot")
	args := []string{"-C", root, "build", "-trimpath", "-o", program}
	cgo := "CGO_ENABLED=0"
	if o.Race {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	if o.Strip {
		args = append(args, "-ldflags=-s -w")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/action")...)
	cmd.Env = append(os.Environ(), cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("could not build the action: %w\n%s", err, bytes.TrimSpace(out))
	}
	return program, nil
}

// Root returns the folder of the action's module.
func Root(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", rootModule)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("could not find the module %s: %w: %s", rootModule, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(stdout.String()), nil
}
