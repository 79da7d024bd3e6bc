package main

import (
	"errors"
	"path/filepath"
	"reflect"
	"testing"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	got := steps([]string{"print", "a b", "--", "--", "sleep", "1s", ";", "exit", "3"})
	want := [][]string{{"print", "a b"}, {"sleep", "1s"}, {"exit", "3"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("steps are %q, want %q", got, want)
	}
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	var s status
	if err := run([]string{"exit", "3", "--", "exit", "4"}); !errors.As(err, &s) || s != 3 {
		t.Errorf("run gives %v, want exit status 3", err)
	}
	for _, args := range [][]string{{"exit"}, {"exit", "x"}, {"no-such-step"}, {"sleep", "soon"}} {
		if err := run(args); err == nil || errors.As(err, &s) {
			t.Errorf("%q gives %v, want a complaint", args, err)
		}
	}
}

func TestFailUntil(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tries")
	var s status
	for try := range 2 {
		if err := run([]string{"fail-until", "3", path}); !errors.As(err, &s) || s != 1 {
			t.Errorf("try %d gives %v, want exit status 1", try+1, err)
		}
	}
	if err := run([]string{"fail-until", "3", path}); err != nil {
		t.Errorf("try 3 gives %v", err)
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	if got := line(7, 20); len(got) != 20 || got[:9] != "00000007 " || got != line(7, 20) {
		t.Errorf("line is %q", got)
	}
	if got := line(7, 0); got != "00000007 " {
		t.Errorf("a line is never shorter than its number: %q", got)
	}
}
