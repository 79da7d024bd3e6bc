package control

import "syscall"

// dieWithParent lets the kernel end a child whose parent was killed.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
