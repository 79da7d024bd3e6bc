package harness

import (
	"slices"
	"testing"
	"time"
)

func TestFollow(t *testing.T) {
	t.Parallel()
	r := &Runner{Program: "/bin/sh", Dir: t.TempDir()}
	// Half a line is shown when it is whole, and the last one as it is.
	run, err := r.Start(t.Context(), Step{Args: []string{"-c", "echo one; printf tw; sleep 0.3; echo o; echo; printf three"}})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	var first time.Duration
	run.Follow(func(line string) {
		if len(lines) == 0 {
			first = time.Since(run.begin)
		}
		lines = append(lines, line)
	})
	ended, err := run.Wait()
	if err != nil || ended.Status != 0 {
		t.Fatalf("status %d, %v", ended.Status, err)
	}
	if want := []string{"one", "two", "", "three"}; !slices.Equal(lines, want) {
		t.Errorf("lines %q, want %q", lines, want)
	}
	if first > ended.Took-200*time.Millisecond {
		t.Errorf("the first line came after %v of %v", first, ended.Took)
	}
}
