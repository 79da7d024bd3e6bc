package main

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

func TestDifferences(t *testing.T) {
	t.Parallel()
	done := want{outputs: map[string]string{"outcome": "succeeded", "reason": ""}, jobs: 1, log: []string{"created"}}
	killed := want{status: -1, jobs: 1}
	good := harness.Ended{Stdout: "created\n", Outputs: map[string]string{"outcome": "succeeded", "reason": "", "other": "x"}}
	for name, c := range map[string]struct {
		want  want
		ended harness.Ended
		jobs  int
		wrong []string
	}{
		"as wanted":      {done, good, 1, nil},
		"one Job more":   {done, good, 2, []string{"the number of Jobs created is 2, want 1"}},
		"another status": {done, harness.Ended{Status: 4, Stdout: "created", Outputs: good.Outputs}, 1, []string{"the exit status is 4, want 0"}},
		"another output": {
			done, harness.Ended{Stdout: "created", Outputs: map[string]string{"outcome": "failed"}}, 1,
			[]string{`the output outcome is "failed", want "succeeded"`, "the output reason is not set"},
		},
		"another log":      {done, harness.Ended{Outputs: good.Outputs}, 1, []string{`the log has no "created"`}},
		"killed":           {killed, harness.Ended{Status: -1, Signal: syscall.SIGKILL}, 1, nil},
		"killed otherwise": {killed, harness.Ended{Status: -1, Signal: syscall.SIGSEGV}, 1, []string{"killed is false, want true"}},
		"not killed": {
			killed, good, 1,
			[]string{"the exit status is 0, want -1", "killed is false, want true", "the number of outputs is 3, want 0"},
		},
		"killed, not wanted": {
			want{outputs: map[string]string{}}, harness.Ended{Status: -1, Signal: syscall.SIGKILL}, 0,
			[]string{"the exit status is -1, want 0", "killed is true, want false"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if have := c.want.differences(c.ended, c.jobs); !slices.Equal(have, c.wrong) {
				t.Errorf("have %q, want %q", have, c.wrong)
			}
		})
	}
}

func TestSeen(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]harness.Ended{
		"ended by SIGKILL, no outputs, 0.0 s. Jobs created in the cluster so far: 7, by the API server's audit log.":                          {Status: -1, Signal: syscall.SIGKILL},
		"exit status 3, outcome=refused, reason=template-drift, 0.0 s. Jobs created in the cluster so far: 7, by the API server's audit log.": {Status: 3, Outputs: map[string]string{"reason": "template-drift", "outcome": "refused", "job-name": ""}},
	} {
		if have := seen(e, 7); have != want {
			t.Errorf("have %q, want %q", have, want)
		}
	}
}

// What people are told to read next is there to be read.
func TestReadNextIsInTheREADME(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	for _, r := range readNext {
		if !slices.Contains(lines, "## "+r.heading) {
			t.Errorf("README.md has no section %q", r.heading)
		}
	}
}

func TestStyle(t *testing.T) {
	t.Parallel()
	if have := (style{}).good("x") + (style{colour: true}).good("y"); have != "x\x1b[32my\x1b[0m" {
		t.Errorf("have %q", have)
	}
	// A file that is no terminal.
	f, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if styleFor(f, func(string) string { return "xterm" }).colour {
		t.Error("a file is coloured")
	}
}
