package main

// bytes converts ru_maxrss; Linux counts in KiB (getrusage(2)).
func bytes(maxrss int64) int64 { return maxrss << 10 }
