package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

const clusterModule = "github.com/aks-oneshot/aks-oneshot/test/cluster"

// buildKubectl builds a kubectl alone. The one in the test cluster's binary
// starts more slowly, as the whole of Kubernetes is in there with it; to compare
// with that one would flatter the action.
func buildKubectl(ctx context.Context, folder, gitVersion string) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", clusterModule)
	dir, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("could not find the module %s: %w", clusterModule, err)
	}
	program := filepath.Join(folder, "kubectl")
	flags := "-ldflags=-s -w -X k8s.io/component-base/version.gitVersion=" + gitVersion
	build := exec.CommandContext(ctx, "go", "-C", filepath.Join(strings.TrimSpace(string(dir)), "kubernetes"),
		"build", "-trimpath", "-buildvcs=false", flags,
		"-o", program, "k8s.io/kubernetes/cmd/kubectl")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("could not build kubectl (-kubectl names one that is there): %w\n%s", err, out)
	}
	return program, nil
}

// kubectl is a kubectl with a user's credential. Its caches stay from one
// command to the next, as they do on a machine that uses it all the time.
type kubectl struct {
	path string
	env  []string
	// usage is a file for the peak memory of a command, measured by meter, or "".
	usage, meter string
	// peak is the largest of all commands that were measured, in bytes.
	peak float64
}

// newKubectl returns a kubectl that acts as a ServiceAccount of its own with the
// action's Role. folder is its home.
func newKubectl(ctx context.Context, w *harness.World, path, user, folder string) (*kubectl, error) {
	token, err := w.Token(ctx, harness.RunnersNamespace, user)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(w.Cluster.CAFile())
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	config := filepath.Join(folder, "kubeconfig")
	data := harness.Kubeconfig(w.Cluster.Server(), ca, map[string]any{"token": token})
	if err := os.WriteFile(config, data, 0o600); err != nil {
		return nil, err
	}
	return &kubectl{path: path, env: []string{
		"PATH=/usr/bin:/bin", "HOME=" + folder, "KUBECONFIG=" + config, "KUBECACHEDIR=" + filepath.Join(folder, "cache"),
	}}, nil
}

// run runs a command and returns what it printed.
func (k *kubectl) run(ctx context.Context, args ...string) ([]byte, error) {
	args = append([]string{"--namespace=" + harness.Namespace}, args...)
	program := k.path
	if k.usage != "" {
		program, args = k.meter, append([]string{k.usage, k.path}, args...)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = k.env
	// What measures hands this on; after a SIGKILL it could not.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(exit.Stderr)))
	}
	if k.usage != "" {
		peak, usageErr := readPeak(k.usage)
		k.peak, err = max(k.peak, peak), errors.Join(err, usageErr)
	}
	return out, err
}

// kubectlVersion returns what a kubectl says of itself.
func kubectlVersion(ctx context.Context, path string) (string, error) {
	out, err := exec.CommandContext(ctx, path, "version", "--client", "-o", "json").Output()
	if err != nil {
		return "", fmt.Errorf("%s version: %w", path, err)
	}
	var v struct{ ClientVersion struct{ GitVersion string } }
	err = json.Unmarshal(out, &v)
	return v.ClientVersion.GitVersion, err
}

// notFound reports whether a command failed because there is no such object.
func notFound(err error) bool { return err != nil && strings.Contains(err.Error(), "(NotFound)") }

// look makes the reads that tell how things stand before a create. The Job may
// be there or not.
func (k *kubectl) look(ctx context.Context, template, job string) error {
	for _, object := range []string{"cronjob/" + template, "serviceaccount/" + template + "-job"} {
		if _, err := k.run(ctx, "get", object, "-o", "json"); err != nil {
			return err
		}
	}
	_, err := k.run(ctx, "get", "job/"+job, "-o", "json")
	if notFound(err) {
		return nil
	}
	return err
}

// pollInterval is the pause between two reads of the Job in the sequence of
// plain calls.
const pollInterval = 5 * time.Second

// sequence makes the calls that the action makes, one command each, and returns
// when a read showed that the Job ended.
func (k *kubectl) sequence(ctx context.Context, template, job, manifest string) error {
	if err := k.look(ctx, template, job); err != nil {
		return err
	}
	if _, err := k.run(ctx, "create", "-f", manifest, "-o", "json"); err != nil {
		return err
	}
	for {
		out, err := k.run(ctx, "get", "job/"+job, "-o", "json")
		if err != nil {
			return err
		}
		var object harness.Object
		if err := json.Unmarshal(out, &object); err != nil {
			return fmt.Errorf("reading what kubectl printed: %w", err)
		}
		if terminal(object) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pollInterval):
		}
	}
}

// createAndWait is what people do who have nothing but kubectl. A Job that fails
// keeps it waiting until its time is up.
func (k *kubectl) createAndWait(ctx context.Context, template, job string) error {
	if _, err := k.run(ctx, "create", "job", job, "--from=cronjob/"+template); err != nil {
		return err
	}
	_, err := k.run(ctx, "wait", "--for=condition=complete", "--timeout=5m", "job/"+job)
	return err
}
