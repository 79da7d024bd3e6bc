// Command measure runs another program and writes down its peak memory:
//
//	measure FILE PROGRAM [ARGUMENT…]
//
// The file then holds two numbers, in bytes: the peak of the program, and a
// floor below which nothing can be seen. The exit status is the program's, or
// 125.
//
// It is a program of its own, and small, because Linux counts in the ru_maxrss
// of a process what the process that started it had at that time: execve(2)
// keeps the mark of the memory that vfork(2) shares. That is the floor.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

const failed = 125

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: measure FILE PROGRAM [ARGUMENT…]")
		os.Exit(failed)
	}
	status, err := run(os.Args[1], os.Args[2], os.Args[3:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		status = failed
	}
	os.Exit(status)
}

func run(file, program string, args []string) (int, error) {
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		return failed, err
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // It may have ended.
		}
	}()
	_ = cmd.Wait() // The state says it.
	floor, err := highWater()
	if err != nil {
		return failed, err
	}
	child, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return failed, fmt.Errorf("no resource usage of %s", program)
	}
	text := fmt.Sprintln(bytes(child.Maxrss), floor)
	return cmd.ProcessState.ExitCode(), os.WriteFile(file, []byte(text), 0o600)
}
