//go:build !linux

package harness

import "syscall"

// peakBytes is the largest resident set; BSD systems count in bytes.
func peakBytes(u *syscall.Rusage) int64 { return int64(u.Maxrss) }
