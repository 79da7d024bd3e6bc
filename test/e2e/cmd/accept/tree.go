package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// tree is the source tree, in which commands are run.
type tree struct {
	root   string
	stderr io.Writer
	// before is the commit whose program is compared with the one of now.
	before string
	// units are the results of tests that an earlier check ran, for a later one.
	units *results
}

func (t *tree) say(format string, args ...any) {
	fmt.Fprintf(t.stderr, "accept: "+format+"\n", args...)
}

// command is a command at the root of the tree. With CI=true nothing may be
// left out of what it runs.
func (t *tree) command(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = t.root
	cmd.Env = append(append(os.Environ(), "CI=true"), env...)
	cmd.Stderr = t.stderr
	// All that it started has to end with it, and to clear up behind itself: a
	// signal for the go command alone leaves the tests behind.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	return cmd
}

// output runs a command to its end and returns what it printed, shown only when
// it fails. That it fails is not an error here: what it printed is to tell why.
func (t *tree) output(ctx context.Context, env []string, name string, args ...string) (out string, passed bool, err error) {
	cmd := t.command(ctx, env, name, args...)
	var b bytes.Buffer
	cmd.Stdout = &b
	err = cmd.Run()
	if err != nil {
		_, _ = t.stderr.Write(b.Bytes()) // there is nobody else to tell
		if cmd.ProcessState == nil {
			return "", false, fmt.Errorf("could not run %s: %w", name, err)
		}
	}
	return b.String(), err == nil, nil
}
