package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// endsWithin waits for a process and fails when it takes longer than it may.
func endsWithin(t *testing.T, cmd *exec.Cmd, limit time.Duration) (status int) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the exit status says it
	}()
	select {
	case <-ended:
		return cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		_ = cmd.Process.Kill()
		t.Fatalf("the process is still there after %s", limit)
		return 0
	}
}

// A disk that does not answer holds a run up for as long as it likes, but not
// the process.
func TestProcessEndsWhenItsDiskDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for _, step := range []checkpoint.Step{checkpoint.Prepared, checkpoint.Intent} {
		t.Run(string(step), func(t *testing.T) {
			t.Parallel()
			server := newAPIServer(t, complete)
			s := newStep(t, server)
			s.env["INPUT_TIMEOUT"], s.env[impatient], s.env[stuck] = "2s", "1", string(step)
			cmd := s.command(t)
			var log bytes.Buffer
			cmd.Stdout, cmd.Stderr = &log, &log
			begin := time.Now()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			status := endsWithin(t, cmd, 30*time.Second)
			if took := time.Since(begin); took < 2*time.Second {
				t.Errorf("gave up after %s", took)
			}
			e := s.ended(t, status, log.String())
			e.expect(t, 4, "outcome", "unknown", "reason", "deadline-exceeded", "namespace", "fdai-runtime")
			e.expectError(t, "deadline-exceeded", "held up while running the Job")
			if !strings.HasPrefix(e.outputs["job-name"], "fdai-inventory-") || !strings.Contains(e.summary, e.outputs["job-name"]) {
				t.Errorf("the Job's name is %q, the summary:\n%s", e.outputs["job-name"], e.summary)
			}
			if n := server.creates(); n != 0 {
				t.Errorf("%d Jobs were created", n)
			}

			delete(s.env, stuck)
			s.env["INPUT_TIMEOUT"] = "1m"
			_, wait := s.start(t)
			wait().expect(t, 0, "outcome", "succeeded")
			if n := server.creates(); n != 1 {
				t.Errorf("%d Jobs were created in all", n)
			}
		})
	}
}

// Once there is a Job, its end counts for more than what is recorded of it.
func TestAJobIsWaitedForWithoutADisk(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	s := newStep(t, server)
	s.env[impatient], s.env[stuck] = "1", string(checkpoint.Dispatched)
	cmd := s.command(t)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e := s.ended(t, endsWithin(t, cmd, 30*time.Second), log.String())
	e.expect(t, 0, "outcome", "succeeded", "dispatched", "true", "checkpoint-stores", "cluster", "checkpoints-stored", "false")
	for _, step := range []string{"dispatched", "terminal"} {
		if want := "work-dir does not have the " + step + " record of " + e.outputs["job-name"]; !strings.Contains(e.log, "::warning") || !strings.Contains(e.log, want) || !strings.Contains(e.summary, step) {
			t.Errorf("%q is not told:\n%s\n%s", want, e.log, e.summary)
		}
	}

	// The other store has what the disk did not take.
	delete(s.env, stuck)
	_, wait := s.start(t)
	wait().expect(t, 0, "outcome", "succeeded", "dispatched", "false", "resumed", "true", "resumed-from", "cluster, attempt 1", "checkpoints-stored", "true")
	if n := server.creates(); n != 1 {
		t.Errorf("%d Jobs were created in all", n)
	}
}

// What held a run up is looked for where it can have been.
func TestHeldUpSaysWhereToLook(t *testing.T) {
	t.Parallel()
	for want, at := range map[string]stage{
		"the file systems of the kubeconfig and of the context;": reading,
		"az, or the file system of the token,":                   connecting,
		"work folder;":                                           opening,
		"the file system of the work folder;":                    running,
	} {
		s := &session{stage: at}
		s.heldUp(&s.report)
		e, ok := errors.AsType[*failure.Error](s.report.Err)
		if !ok || !strings.Contains(e.Message, at.doing) || !strings.Contains(e.Fix, want) || !strings.Contains(e.Fix, "reads its log") {
			t.Errorf("%s: %v", at.doing, s.report.Err)
		}
		if about := strings.Contains(e.Fix, "work folder"); about != (at == opening || at == running || at == finishing) {
			t.Errorf("%s: %s", at.doing, e.Fix)
		}
	}
}

// A run whose outcome is known keeps it, whatever its stores do.
func TestHeldUpKeepsWhatIsKnown(t *testing.T) {
	t.Parallel()
	s := &session{stage: finishing}
	s.report.Result.Outcome = oneshot.Succeeded
	s.heldUp(&s.report)
	if s.report.Err != nil || s.report.Result.Outcome != oneshot.Succeeded {
		t.Errorf("%s: %v", s.report.Result.Outcome, s.report.Err)
	}
	if missing := s.report.Facts.Missing; len(missing) != 1 || !strings.Contains(missing[0], finishing.doing) || !strings.Contains(missing[0], "the stores of checkpoint-stores") {
		t.Errorf("missing: %q", missing)
	}
}

// Whoever reads the log may stop to read it, and go on to live.
func TestProcessEndsWhenItsLogIsNotRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		until  string // what is read of the log
		signal bool
	}{
		"from the start":         {"", false},
		"from the time it waits": {"  waiting ", false},
		"and it is told to stop": {"", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newAPIServer(t, nil)
			s := newStep(t, server)
			s.env["INPUT_TIMEOUT"] = "2s"
			if c.signal {
				s.env["INPUT_TIMEOUT"] = "1m"
			}
			pipe, theirs := openPipe(t, s.folder+"/log")
			cmd := s.command(t)
			cmd.Stdout, cmd.Stderr = theirs, theirs
			if c.until == "" {
				fill(t, pipe)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if c.until != "" {
				var log []byte
				for piece := make([]byte, 1); !bytes.Contains(log, []byte(c.until)); log = append(log, piece...) {
					if _, err := pipe.Read(piece); err != nil {
						t.Fatal(err)
					}
				}
				fill(t, pipe)
			}
			if c.signal {
				<-server.waiting
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				e := s.ended(t, endsWithin(t, cmd, 5*time.Second), "")
				e.expect(t, 130, "outcome", "cancelled", "dispatched", "true")
				return
			}
			// The engine is not held up: it creates, waits and ends as ever.
			e := s.ended(t, endsWithin(t, cmd, 10*time.Second), "")
			e.expect(t, 4, "outcome", "unknown", "reason", "deadline-exceeded", "dispatched", "true")
			if !strings.Contains(e.summary, "deadline-exceeded") {
				t.Errorf("the summary:\n%s", e.summary)
			}
		})
	}
}

// What is known is not lost when it cannot be told in full.
func TestProcessEndsWhenItsSummaryIsNotTaken(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	s := newStep(t, server)
	s.env["INPUT_TIMEOUT"], s.env[impatient] = "2s", "1"
	pipe, _ := openPipe(t, s.env["GITHUB_STEP_SUMMARY"])
	fill(t, pipe)
	cmd := s.command(t)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	status := endsWithin(t, cmd, 30*time.Second)
	delete(s.env, "GITHUB_STEP_SUMMARY")
	e := s.ended(t, status, log.String())
	e.expect(t, 0, "outcome", "succeeded", "dispatched", "true")
	if !strings.Contains(e.log, "the run is over (succeeded), and what became of it could not be told") {
		t.Errorf("%s", e.log)
	}
}

// openPipe makes a named pipe and opens it twice: for this process, and for one
// that is started.
func openPipe(t *testing.T, path string) (ours, theirs *os.File) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range []**os.File{&ours, &theirs} {
		var err error
		if *f, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*f).Close() })
	}
	return ours, theirs
}

// fill writes into a pipe until nothing more goes in.
func fill(t *testing.T, pipe *os.File) {
	t.Helper()
	for size := 1 << 16; size > 0; size /= 2 {
		for {
			if err := pipe.SetWriteDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			_, err := pipe.Write(make([]byte, size))
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
