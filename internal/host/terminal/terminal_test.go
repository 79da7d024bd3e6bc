package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/host/github/runnertest"
)

type report string

func (r report) Markdown() string { return "**not for a terminal**" }
func (r report) Plain() string    { return string(r) }

// streams are what a process wrote.
type streams struct{ stdout, stderr bytes.Buffer }

func open(env map[string]string) (*Host, *streams) {
	var s streams
	return New(&s.stdout, &s.stderr, func(name string) string { return env[name] }), &s
}

func TestWhatIsSaid(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		do             func(*Host)
		stdout, stderr string
	}{
		{name: "log", do: func(h *Host) { h.Log("a\nb\n") }, stderr: "a\nb\n"},
		{name: "log of a command", do: func(h *Host) { h.Log("::error::x\x1b[2J") }, stderr: "| ::error::x\n"},
		{name: "annotations", do: func(h *Host) { h.Warning("", "n"); h.Warning("t", "w"); h.Error("t", "e\nmore") },
			stderr: "warning: n\nwarning: t: w\nerror: t: e\nmore\n"},
		{name: "a code at the begin of both", do: func(h *Host) { h.Error("c-d: job", "c-d: e: f"); h.Error("c-d: job", "c: e") },
			stderr: "error: c-d: job: e: f\nerror: c-d: job: c: e\n"},
		{name: "group", do: func(h *Host) { end := h.Group("g"); h.Log("in\nside"); end(); end(); h.Log("out") },
			stderr: "g\n  in\n  side\nout\n"},
		{name: "summary", do: func(h *Host) { check(h.Summary(report("all is well\n::x::\n"))) }, stderr: "\nall is well\n| ::x::\n"},
		{name: "outputs", do: func(h *Host) { check(h.Output("job-name", "j")); check(h.Output("reason", "")) }, stdout: "job-name=j\nreason=\n"},
		{name: "outputs that are JSON", do: func(h *Host) { check(h.Output("e", `{"a":"<b>"}`)) }, stdout: "e={\"a\":\"<b>\"}\n"},
		{name: "outputs that are no plain line", do: func(h *Host) {
			check(h.Output("e", "a\nb=c\x1b"))
			check(h.Output("f", `"x"`))
			check(h.Output("g", "##[error]"))
		},
			stdout: `e="a\nb=c\u001b"` + "\n" + `f="\"x\""` + "\n" + `g="\u0023\u0023[error]"` + "\n"},
		{name: "masks", do: func(h *Host) {
			h.Mask("secret\nother")
			h.Log(h.Hide("secret") + " x")
			h.Log("a secret, sec\x1b[0mret")
			h.Error("other", "secret")
			check(h.Output("a", "x secret"))
			check(h.Summary(report("secret\n")))
		}, stdout: "a=x ***\n", stderr: "*** x\na ***, ***\nerror: ***: ***\n\n***\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, s := open(nil)
			tt.do(h)
			if s.stdout.String() != tt.stdout {
				t.Errorf("standard output is %q, want %q", &s.stdout, tt.stdout)
			}
			if s.stderr.String() != tt.stderr {
				t.Errorf("standard error is %q, want %q", &s.stderr, tt.stderr)
			}
		})
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func TestColour(t *testing.T) {
	t.Parallel()
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatalf("opening a terminal: %v", err)
	}
	defer func() { _ = tty.Close() }()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()

	for _, tt := range []struct {
		name   string
		stderr *os.File
		env    map[string]string
		want   bool
	}{
		{"terminal", tty, nil, true},
		{"terminal and NO_COLOR", tty, map[string]string{"NO_COLOR": "1"}, false},
		{"dumb terminal", tty, map[string]string{"TERM": "dumb"}, false},
		{"no terminal", null, nil, false},
	} {
		h := New(nil, tt.stderr, func(name string) string { return tt.env[name] })
		if h.Colour != tt.want {
			t.Errorf("%s: colour is %t", tt.name, h.Colour)
		}
	}

	h, s := open(nil)
	h.Colour = true
	h.Error("t", "\x1b[31mx")
	if got, want := s.stderr.String(), "\x1b[31merror: \x1b[0mt: x\n"; got != want {
		t.Errorf("in colour it is %q, want %q", got, want)
	}
}

func TestInput(t *testing.T) {
	t.Parallel()
	h, _ := open(map[string]string{"INPUT_WORK_DIR": "/tmp/x"})
	if got, given := h.Input("work-dir"); got != "/tmp/x" || !given {
		t.Errorf("work-dir is %q, %t", got, given)
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("closed") }

func TestClosedStreams(t *testing.T) {
	t.Parallel()
	h := New(closed{}, closed{}, func(string) string { return "" })
	h.Log("x")
	h.Error("t", "x")
	h.Group("g")()
	if err := h.Output("job-name", "x"); err == nil || !strings.Contains(err.Error(), "job-name") {
		t.Errorf("the error of an output is %v", err)
	}
	if err := h.Summary(report("x")); err == nil {
		t.Error("the summary went nowhere and nobody is told")
	}
	if err := h.Output("a\nb", "x"); err == nil {
		t.Error("an output of two lines was taken")
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	h, s := open(nil)
	var group sync.WaitGroup
	for w := range 8 {
		group.Go(func() {
			for i := range 50 {
				h.Log(fmt.Sprintf("line %d.%d\nand more", w, i))
				h.Mask(fmt.Sprintf("secret-%d-%d", w, i))
				check(h.Output("a", "b"))
			}
		})
	}
	group.Wait()
	if got := strings.Count(s.stderr.String(), "\nand more\n"); got != 400 {
		t.Errorf("%d pairs of lines are whole, want 400", got)
	}
	if got := strings.Count(s.stdout.String(), "a=b\n"); got != 400 {
		t.Errorf("%d outputs, want 400", got)
	}
}

// A script reads back every value, and a CI system that happens to see the
// streams obeys nothing in them.
func FuzzTerminal(f *testing.F) {
	for _, text := range []string{"", "x", "a\nb=c", `"`, `"x"`, "\x1b[31m", "::error::x", "\n##vso[a]", "##[error]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, s := open(nil)
		check(h.Output("a", text))
		check(h.Output("b", "second"))
		lines := strings.Split(s.stdout.String(), "\n")
		if len(lines) != 3 || lines[1] != "b=second" || !strings.HasPrefix(lines[0], "a=") {
			t.Fatalf("%q: standard output is %q", text, &s.stdout)
		}
		got, want := strings.TrimPrefix(lines[0], "a="), strings.ToValidUTF8(text, "\uFFFD")
		if strings.HasPrefix(got, `"`) {
			var value string
			if err := json.Unmarshal([]byte(got), &value); err != nil {
				t.Fatalf("%q: %q is no JSON string: %v", text, got, err)
			}
			got = value
		}
		if got != want {
			t.Errorf("%q is read back as %q", text, got)
		}
		h.Log(text)
		h.Error(text, text)
		check(h.Summary(report(text)))
		all := s.stdout.String() + s.stderr.String()
		if r := runnertest.ReadLoosely(all); len(r.Commands) > 0 {
			t.Errorf("%q: a runner obeys %v", text, r.Commands)
		}
	})
}
