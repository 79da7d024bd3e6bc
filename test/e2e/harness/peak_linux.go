package harness

import "syscall"

// peakBytes is the largest resident set; Linux counts in KiB (getrusage(2)).
func peakBytes(u *syscall.Rusage) int64 { return u.Maxrss << 10 }
