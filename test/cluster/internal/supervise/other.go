//go:build unix && !linux

package supervise

import (
	"errors"
	"syscall"
)

const insideBase = ""

var errLinux = errors.New("real containers need Linux")

// CanIsolate tells whether this process may make the namespaces of a real node.
func CanIsolate() error { return errLinux }

func initAttributes() *syscall.SysProcAttr { return nil }

func runnerAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func initMain() int { return fail(errLinux) }

type cgroup struct{ name string }

func newCgroup(string) (*cgroup, error) { return nil, errLinux }

func (*cgroup) remove() error { return nil }

func sweepCgroups() {}
