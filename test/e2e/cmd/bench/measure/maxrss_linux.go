package main

import (
	"fmt"
	"os"
	"strings"
)

// bytes converts ru_maxrss; Linux counts in KiB (getrusage(2)).
func bytes(maxrss int64) int64 { return maxrss << 10 }

// highWater returns the peak of this process's own memory, in bytes (VmHWM,
// proc_pid_status(5)). Its ru_maxrss has that of its parent in it.
func highWater() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, line, _ := strings.Cut(string(status), "\nVmHWM:")
	var kib int64
	if _, err := fmt.Sscan(line, &kib); err != nil {
		return 0, fmt.Errorf("reading VmHWM: %w", err)
	}
	return kib << 10, nil
}
