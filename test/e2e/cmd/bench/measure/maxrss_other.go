//go:build !linux

package main

// bytes converts ru_maxrss; BSD systems count in bytes.
func bytes(maxrss int64) int64 { return maxrss }

// highWater is not known; BSD systems begin to count anew at execve(2).
func highWater() (int64, error) { return 0, nil }
