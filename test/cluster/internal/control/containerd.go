package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

const (
	criSocket = "containerd.sock"
	// PauseImage holds a pod's namespaces; its archive comes with the cluster.
	PauseImage = "registry.k8s.io/pause:3.10"
)

// fakeNet is a CNI plugin that gives every pod the same address and no network:
// a pod has its loopback only, and the machine's network stays as it is.
const fakeNet = `#!/bin/sh
cat >/dev/null
case "$CNI_COMMAND" in
ADD) printf '{"cniVersion":"0.4.0","interfaces":[{"name":"%s","sandbox":"%s"}],"ips":[{"version":"4","interface":0,"address":"127.97.0.2/32"}],"dns":{}}' "$CNI_IFNAME" "$CNI_NETNS" ;;
VERSION) printf '{"cniVersion":"0.4.0","supportedVersions":["0.3.1","0.4.0"]}' ;;
esac
`

func (c *Cluster) newContainerd() *process {
	return c.process("containerd", c.spec.Programs.Containerd, "--config="+c.spec.path("containerd.toml"))
}

func (c *Cluster) writeContainerd() error {
	config := fmt.Sprintf(`version = 2
root = %[1]q
state = %[2]q
[grpc]
  address = %[3]q
[plugins."io.containerd.internal.v1.opt"]
  path = %[4]q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %[5]q
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %[6]q
    conf_dir = %[7]q
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = %[8]q
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
`, c.spec.path("containerd"), c.spec.path("containerd-state"), c.spec.path(criSocket), c.spec.path("opt"),
		PauseImage, c.spec.path("cni/bin"), c.spec.path("cni/conf"), c.snapshotter())
	return errors.Join(
		os.MkdirAll(c.spec.path("cni/bin"), 0o755),
		os.MkdirAll(c.spec.path("cni/conf"), 0o755),
		os.WriteFile(c.spec.path("containerd.toml"), []byte(config), 0o600),
		os.WriteFile(c.spec.path("cni/bin/fakenet"), []byte(fakeNet), 0o755),
		os.Symlink(c.spec.Programs.Loopback, c.spec.path("cni/bin/loopback")),
		os.WriteFile(c.spec.path("cni/conf/10-fake.conflist"), []byte(`{"cniVersion":"0.4.0","name":"fake","plugins":[{"type":"fakenet"}]}`), 0o600),
	)
}

// snapshotter is how a container's files are laid over its image's. An overlay
// cannot lie on an overlay, which is what a container's /tmp is.
func (c *Cluster) snapshotter() string {
	const overlay = 0x794c7630
	var fs syscall.Statfs_t
	if err := syscall.Statfs(c.spec.Base, &fs); err == nil && fs.Type == overlay {
		return "native"
	}
	return "overlayfs"
}

// startContainerd starts containerd and brings the images in.
func (c *Cluster) startContainerd(ctx context.Context) error {
	if err := c.writeContainerd(); err != nil {
		return fmt.Errorf("could not configure containerd: %w", err)
	}
	if err := c.containerd.start(); err != nil {
		return err
	}
	err := until(ctx, "waiting for containerd", []*process{c.containerd}, func(ctx context.Context) error {
		return c.ctr(ctx, "version")
	})
	if err != nil {
		return err
	}
	for _, archive := range c.spec.Archives {
		if err := c.ctr(ctx, "images", "import", "--snapshotter="+c.snapshotter(), archive); err != nil {
			return fmt.Errorf("could not import the images in %s: %w", archive, err)
		}
	}
	return nil
}

func (c *Cluster) ctr(ctx context.Context, args ...string) error {
	args = append([]string{"--address=" + c.spec.path(criSocket), "--namespace=k8s.io"}, args...)
	out, err := exec.CommandContext(ctx, c.spec.Programs.Ctr, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}
