//go:build unix && !linux

package control

import "syscall"

const soReusePort = syscall.SO_REUSEPORT
