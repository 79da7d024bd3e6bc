package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// KubectlPath is the path of a kubectl of the cluster's version.
func (c *Cluster) KubectlPath() string { return c.kubectl }

// Kubectl runs kubectl as Admin and returns its standard output. Give
// --kubeconfig with KubeconfigFor to be somebody else. stdin may be nil.
func (c *Cluster) Kubectl(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, c.kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(), "KUBECACHEDIR="+filepath.Join(c.Dir(), "kubectl"))
	cmd.Stdin = stdin
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
		if fault := c.Fault(); fault != nil {
			err = fmt.Errorf("%w\n%w", err, fault)
		}
		return stdout.Bytes(), err
	}
	return stdout.Bytes(), nil
}

// Apply applies manifests in YAML or JSON as Admin.
func (c *Cluster) Apply(ctx context.Context, manifests string) error {
	_, err := c.Kubectl(ctx, strings.NewReader(manifests), "apply", "-f", "-")
	return err
}

// linkKubectl puts a kubectl beside the binary, which goes by its name. The link
// is relative: caches are moved.
func linkKubectl(kubernetes string) (string, error) {
	target := filepath.Join("..", filepath.Base(kubernetes))
	path := filepath.Join(kubernetes+".bin", "kubectl")
	if have, err := os.Readlink(path); err == nil && have == target {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	temp := fmt.Sprintf("%s.%d", path, os.Getpid()) // others may do the same now
	if err := os.Symlink(target, temp); err != nil {
		return "", err
	}
	return path, os.Rename(temp, path)
}
