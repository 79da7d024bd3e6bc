package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// start runs the program as the runner does: a process of its own, with an
// environment of its own.
func (s *step) start(t *testing.T) (process *os.Process, wait func() ended) {
	t.Helper()
	cmd := s.command(t)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd.Process, func() ended {
		t.Helper()
		err := cmd.Wait()
		if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
			t.Fatal(err)
		}
		return s.ended(t, cmd.ProcessState.ExitCode(), log.String())
	}
}

func (s *step) command(t *testing.T) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = []string{asProgram + "=1", "GOCOVERDIR=" + s.folder}
	for key, value := range s.env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	return cmd
}

func TestProcessEndsOnASignalAndResumes(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			server := newAPIServer(t, nil)
			s := newStep(t, server)
			process, wait := s.start(t)
			<-server.waiting
			begin := time.Now()
			if err := process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			e := wait()
			e.expect(t, 130, "outcome", "cancelled", "reason", "cancelled", "dispatched", "true")
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("took %s to end", took)
			}
			if !strings.Contains(e.log, "received "+name(sig)) {
				t.Errorf("the signal is not told\n%s", e.log)
			}
			if len(e.errors()) > 0 {
				t.Errorf("a cancelled run is told as an error: %q", e.errors())
			}

			server.mu.Lock()
			server.status = complete
			server.mu.Unlock()
			_, wait = s.start(t)
			wait().expect(t, 0, "outcome", "succeeded", "dispatched", "false", "resumed", "true")
			if n := server.creates(); n != 1 {
				t.Errorf("%d Jobs were created", n)
			}
		})
	}
}

func TestProcessKilledResumes(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, nil)
	s := newStep(t, server)
	process, wait := s.start(t)
	<-server.waiting
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	if e := wait(); len(e.outputs) > 0 {
		t.Errorf("a killed process set outputs: %v", e.outputs)
	}
	server.mu.Lock()
	server.status = complete
	server.mu.Unlock()
	_, wait = s.start(t)
	wait().expect(t, 0, "outcome", "succeeded", "dispatched", "false", "resumed", "true")
	if n := server.creates(); n != 1 {
		t.Errorf("%d Jobs were created", n)
	}
}

func TestProcessGoesOnWithoutAReader(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	s := newStep(t, server)
	cmd := s.command(t)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = writer, writer
	if err := errors.Join(cmd.Start(), reader.Close(), writer.Close()); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v", err)
	}
	s.ended(t, cmd.ProcessState.ExitCode(), "").expect(t, 0, "outcome", "succeeded", "dispatched", "true")
}

func TestASecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		second bool
		after  time.Duration
		says   string
	}{
		"a second signal": {true, time.Second, "received SIGTERM as well"},
		"no end":          {false, patience, "could not end in 7s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				signals := make(chan os.Signal, 2)
				begin, stderr := time.Now(), &safeBuffer{}
				ended := make(chan int, 1)
				go obey(signals, cancel, stderr, func(status int) { ended <- status }, patience)
				synctest.Wait()
				if ctx.Err() != nil {
					t.Error("cancelled without a signal")
				}
				signals <- syscall.SIGINT
				<-ctx.Done()
				if cause := context.Cause(ctx).Error(); cause != "received SIGINT" {
					t.Errorf("the cause is %q", cause)
				}
				if c.second {
					time.Sleep(c.after)
					signals <- syscall.SIGTERM
				}
				if status := <-ended; status != 130 {
					t.Errorf("the exit status is %d", status)
				}
				if took := time.Since(begin); took != c.after {
					t.Errorf("took %s, want %s", took, c.after)
				}
				if !strings.Contains(stderr.String(), c.says) {
					t.Errorf("says %q", stderr.String())
				}
			})
		})
	}
}

// The second signal comes because nothing is heard of the run any more.
func TestASecondSignalEndsAlsoWhenTheLogIsNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, cancel := context.WithCancelCause(t.Context())
		signals := make(chan os.Signal, 2)
		ended, release := make(chan int, 1), make(chan struct{})
		go obey(signals, cancel, unread(release), func(status int) { ended <- status }, patience)
		signals <- syscall.SIGINT
		signals <- syscall.SIGTERM
		begin := time.Now()
		if status := <-ended; status != 130 || time.Since(begin) > 2*time.Second {
			t.Errorf("status %d after %s", status, time.Since(begin))
		}
		close(release)
	})
}

// unread takes nothing until it is released.
type unread chan struct{}

func (u unread) Write(p []byte) (int, error) {
	<-u
	return len(p), nil
}
