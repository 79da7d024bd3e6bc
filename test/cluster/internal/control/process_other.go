//go:build unix && !linux

package control

import "syscall"

// dieWithParent is only a wish where there is no parent-death signal: a child
// outlives a parent that was killed with SIGKILL.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
