package harness

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runnerOf starts a shell script in the place of the action.
func runnerOf(t *testing.T, script string) *Runner {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return &Runner{Program: program, Dir: dir}
}

func TestRunnerHandsOverWhatARunnerDoes(t *testing.T) {
	t.Setenv("ONESHOT_OF_THE_TEST", "must not be seen")
	r := runnerOf(t, `
env
echo "a<<E
$1
E" >> "$GITHUB_OUTPUT"
echo '## done' >> "$GITHUB_STEP_SUMMARY"
pwd >&2
exit 3
`)
	run, err := r.Start(t.Context(), Step{
		Inputs: map[string]string{"work-dir": "/w", "two words": "x"}, Env: map[string]string{"CI": "no"}, Args: []string{"first"},
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := run.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if e.Status != 3 || e.Signal != 0 || e.Outputs["a"] != "first" || e.Summary != "## done\n" {
		t.Errorf("it ended as %+v", e)
	}
	if e.Took <= 0 || e.PeakMemory < 1<<16 {
		t.Errorf("it took %s and %d bytes", e.Took, e.PeakMemory)
	}
	// A shell shows no variable whose name has a dash; it hands it on all the
	// same, and env shows it.
	for _, line := range []string{"INPUT_TWO_WORDS=x", "CI=no", "GITHUB_ACTIONS=true", "HOME=" + e.Dir + "/home"} {
		if !strings.Contains("\n"+e.Stdout, "\n"+line+"\n") {
			t.Errorf("%s is not in the environment:\n%s", line, e.Stdout)
		}
	}
	if strings.Contains(e.Stdout, "ONESHOT_OF_THE_TEST") {
		t.Error("the environment of the test is handed on")
	}
	if !strings.HasSuffix(strings.TrimSpace(e.Stderr), "/workspace") {
		t.Errorf("the working folder is %s", e.Stderr)
	}
	env, err := (&Run{Dir: t.TempDir()}).environment(Step{Inputs: map[string]string{"work-dir": "/w"}})
	if err != nil || !strings.Contains(strings.Join(env, "\n"), "\nINPUT_WORK-DIR=/w\n") {
		t.Errorf("dashes do not stay: %q, %v", env, err)
	}
}

func TestWaitFor(t *testing.T) {
	t.Parallel()
	run, err := runnerOf(t, "echo begin; exec sleep 60").Start(t.Context(), Step{})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.WaitFor(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := run.WaitFor(short, "never"); err == nil || !strings.Contains(err.Error(), "begin") {
		t.Errorf("waiting too long gives %v, want the log so far", err)
	}
	if !run.Running() {
		t.Error("it does not run any more")
	}
	e, err := run.Kill()
	if err != nil || e.Signal != syscall.SIGKILL || e.Status != -1 || run.Running() {
		t.Errorf("killed, it ended as %+v, %v", e, err)
	}
	if err := run.WaitFor(t.Context(), "never"); err == nil {
		t.Error("a text that never came was waited for with success")
	}
	if _, err := run.Kill(); err != nil {
		t.Errorf("killing what has ended: %v", err)
	}
}

func TestProgramThatIsNotThere(t *testing.T) {
	t.Parallel()
	if _, err := (&Runner{Program: "/nowhere/program", Dir: t.TempDir()}).Start(t.Context(), Step{}); err == nil {
		t.Error("a program that is not there was started")
	}
}

func TestOwns(t *testing.T) {
	t.Parallel()
	s := Scenario{Name: "kept"}
	const digest = "-0123456789abcdef"
	for job, want := range map[string]bool{
		"fdai-kept" + digest: true, "fdai-kept-retry-1" + digest: true,
		"fdai-kept-too" + digest: false, "fdai-kept": false, "fdai-kept-0": false, "kept" + digest: false,
	} {
		if have := s.owns(job); have != want {
			t.Errorf("%s is the scenario's: %t, want %t", job, have, want)
		}
	}
}
