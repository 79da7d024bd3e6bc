//go:build unix

package github

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A record that is cut off would have the runner fail the step and drop every
// output.
func TestOutputIsWrittenWholeOrNotAtAll(t *testing.T) {
	if os.Getenv("ONESHOT_TEST_FILE_LIMIT") == "" {
		t.Parallel()
		again(t, "ONESHOT_TEST_FILE_LIMIT")
		return
	}
	files := newFiles(t)
	h, _ := step(t, files.env())
	if err := h.Output("kept", "x"); err != nil {
		t.Fatal(err)
	}
	before := files.read(t, "output")
	limit := &syscall.Rlimit{Cur: 4096, Max: 4096}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, limit); err != nil {
		t.Fatal(err)
	}
	err := h.Output("lost", strings.Repeat("x", 8192))
	if err == nil || !strings.Contains(err.Error(), "file too large") {
		t.Errorf("the error is %v", err)
	}
	if got := files.read(t, "output"); got != before {
		t.Errorf("the file has %d bytes, want the %d from before", len(got), len(before))
	}
}

// again runs the calling test in a process of its own, with the variable set:
// for what changes the whole process.
func again(t *testing.T, variable string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), variable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
