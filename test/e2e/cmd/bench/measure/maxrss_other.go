//go:build !linux

package main

// bytes converts ru_maxrss; BSD systems count in bytes.
func bytes(maxrss int64) int64 { return maxrss }
