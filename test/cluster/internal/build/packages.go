package build

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// tool is a program that comes from the system's packages.
type tool struct {
	name, pkg string
	path      string // where it is if not in PATH
}

// Tools finds the programs by name, installing the Debian packages of missing
// ones where that is possible. The result is in the order of the names.
func Tools(ctx context.Context, say func(string, ...any), names ...string) ([]string, error) {
	known := []tool{
		{name: "containerd", pkg: "containerd"},
		{name: "ctr", pkg: "containerd"},
		{name: "runc", pkg: "runc"},
		{name: "loopback", pkg: "containernetworking-plugins", path: "/usr/lib/cni/loopback"},
	}
	var wanted []tool
	for _, name := range names {
		for _, t := range known {
			if t.name == name {
				wanted = append(wanted, t)
			}
		}
	}
	paths, missing := find(wanted)
	if len(missing) == 0 {
		return paths, nil
	}
	if err := install(ctx, say, missing); err != nil {
		return nil, err
	}
	if paths, missing = find(wanted); len(missing) > 0 {
		return nil, fmt.Errorf("the packages %s are installed and still something of them is not found", strings.Join(missing, " "))
	}
	return paths, nil
}

func find(tools []tool) (paths, missing []string) {
	for _, t := range tools {
		path := t.path
		if path == "" {
			path = lookPath(t.name)
		}
		if _, err := os.Stat(path); err != nil {
			missing = append(missing, t.pkg)
		}
		paths = append(paths, path)
	}
	return paths, slices.Compact(missing)
}

// lookPath also looks where Debian puts programs for root: they are not in the
// PATH of other users.
func lookPath(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		if path := filepath.Join(dir, name); isExecutable(path) {
			return path
		}
	}
	return ""
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}

func install(ctx context.Context, say func(string, ...any), packages []string) error {
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("missing on this machine: the Debian packages %s, or the same programs from elsewhere; as root on Debian or Ubuntu: apt-get install --no-install-recommends %[1]s",
			strings.Join(packages, " "))
	}
	say("installing the Debian packages %s", strings.Join(packages, " "))
	policy, err := keepServicesDown()
	if err != nil {
		return err
	}
	defer policy()
	for _, args := range [][]string{
		{"update"},
		append([]string{"install", "--yes", "--no-install-recommends"}, packages...),
	} {
		cmd := exec.CommandContext(ctx, apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("could not install %s: apt-get %s: %w\n%s", strings.Join(packages, " "), args[0], err, tail(string(out), 20))
		}
	}
	return nil
}

// keepServicesDown tells Debian's package scripts not to start what
// they install as a service, unless the machine has its own word on that.
func keepServicesDown() (undo func(), err error) {
	const policy = "/usr/sbin/policy-rc.d"
	f, err := os.OpenFile(policy, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if os.IsExist(err) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString("#!/bin/sh\nexit 101\n")
	f.Close()
	return func() { os.Remove(policy) }, err
}
