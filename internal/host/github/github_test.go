package github

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/host/github/runnertest"
)

// step is a step of a workflow whose standard output is kept.
func step(t testing.TB, env map[string]string) (*Host, *bytes.Buffer) {
	t.Helper()
	var stdout bytes.Buffer
	return New(&stdout, func(name string) string { return env[name] }), &stdout
}

func TestCommands(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(*Host)
		want runnertest.Step
	}{
		{"log", func(h *Host) { h.Log("a\nb %d 100%") }, runnertest.Step{Log: []string{"a", "b %d 100%"}}},
		{"log of a command", func(h *Host) { h.Log("::error::x") }, runnertest.Step{Log: []string{"| ::error::x"}}},
		{"warning without a title", func(h *Host) { h.Warning("", "x") }, runnertest.Step{Commands: []runnertest.Command{{Name: "warning", Data: "x"}}}},
		{"warning", func(h *Host) { h.Warning("t", "x") }, runnertest.Step{Commands: []runnertest.Command{
			{Name: "warning", Properties: map[string]string{"title": "t"}, Data: "x"},
		}}},
		{"error with everything to escape", func(h *Host) { h.Error("a: b, 100%\r\nc", "1%\n::notice::2\r%0A3") }, runnertest.Step{Commands: []runnertest.Command{
			{Name: "error", Properties: map[string]string{"title": "a: b, 100% c"}, Data: "1%\n| ::notice::2\n%0A3"},
		}}},
		{"a title that would add properties", func(h *Host) { h.Error("x,file=a::b", "y") }, runnertest.Step{Commands: []runnertest.Command{
			{Name: "error", Properties: map[string]string{"title": "x,file=a::b"}, Data: "y"},
		}}},
		{"group", func(h *Host) { end := h.Group("a\nb"); h.Log("in"); end(); end(); h.Log("out") }, runnertest.Step{
			Commands: []runnertest.Command{{Name: "group", Data: "a b"}, {Name: "endgroup"}},
			Log:      []string{"in", "out"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, stdout := step(t, nil)
			tt.do(h)
			if diff := cmp.Diff(tt.want, runnertest.Read(stdout.String())); diff != "" {
				t.Errorf("what the runner makes of it (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInput(t *testing.T) {
	t.Parallel()
	h, _ := step(t, map[string]string{"INPUT_CLUSTER-NAME": "prod", "INPUT_IMAGE": ""})
	if got, given := h.Input("cluster-name"); got != "prod" || !given {
		t.Errorf("cluster-name is %q, %t", got, given)
	}
	if got, given := h.Input("image"); got != "" || given {
		t.Errorf("image is %q, %t", got, given)
	}
}

func TestMaskHidesEverywhere(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	h, stdout := step(t, files.env())
	h.Mask("first-line\nsecond%line\n}")
	told := stdout.Len()
	const text = "first-line, second%line, sec\x1b[0mond%line"
	if got := h.Hide("a first-line"); got != "a ***" {
		t.Errorf("Hide returns %q", got)
	}
	h.Log(text)
	h.Warning(text, text)
	h.Error(text, text)
	h.Group(text)()
	if err := h.Output("a", text); err != nil {
		t.Error(err)
	}
	if err := h.Summary(report(text)); err != nil {
		t.Error(err)
	}

	if diff := cmp.Diff([]string{"first-line", "second%line"}, runnertest.Read(stdout.String()).Named("add-mask")); diff != "" {
		t.Errorf("masks the runner was told (-want +got):\n%s", diff)
	}
	all := stdout.String()[told:] + files.read(t, "output") + files.read(t, "summary")
	for _, secret := range []string{"first-line", "second%line", "second%25line"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q is in what came after the mask:\n%s", secret, all)
		}
	}
}

// brokenPipe is a standard output that nobody reads.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// A run must not end because nobody listens: its records are still to be made.
func TestBrokenStandardOutput(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	env := files.env()
	h := New(brokenPipe{}, func(name string) string { return env[name] })
	h.Log("x")
	h.Mask("secret")
	h.Error("t", "x")
	h.Group("g")()
	if err := h.Output("a", "b"); err != nil {
		t.Error(err)
	}
	if got := files.read(t, "output"); !strings.Contains(got, "\nb\n") {
		t.Errorf("the output file holds %q", got)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	h, stdout := step(t, files.env())
	const workers, each = 8, 25
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range each {
				h.Log(fmt.Sprintf("line %d.%d", w, i))
				h.Mask(fmt.Sprintf("secret-%d-%d", w, i))
				h.Warning("", fmt.Sprintf("warning %d.%d", w, i))
				if err := h.Output(fmt.Sprintf("out-%d-%d", w, i), "a\nb"); err != nil {
					t.Error(err)
				}
				if err := h.Summary(report(fmt.Sprintf("summary %d.%d\n", w, i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	s := runnertest.Read(stdout.String())
	if len(s.Log) != workers*each || len(s.Named("warning")) != workers*each || len(s.Named("add-mask")) != workers*each {
		t.Errorf("%d lines, %d warnings, %d masks, want %d of each", len(s.Log), len(s.Named("warning")), len(s.Named("add-mask")), workers*each)
	}
	outputs, err := runnertest.Outputs(files.read(t, "output"))
	if err != nil || len(outputs) != workers*each {
		t.Errorf("%d outputs, want %d, error %v", len(outputs), workers*each, err)
	}
	for _, o := range outputs {
		if o.Value != "a\nb" {
			t.Errorf("output %s is %q", o.Name, o.Value)
		}
	}
	if n := strings.Count(files.read(t, "summary"), "summary "); n != workers*each {
		t.Errorf("%d summaries, want %d", n, workers*each)
	}
}

// Whatever comes from elsewhere, the runner obeys the commands that were meant
// and no other.
func FuzzCommands(f *testing.F) {
	for _, text := range []string{
		"", "::error::x", "\n::set-output name=a::b", "\r::stop-commands::x", "##[error]x", "a,b=c:d%25", "%0A::error::x", "::", "a::b::c", "\u200d::error::x", "]##[debug]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, stdout := step(t, nil)
		h.Log(text)
		h.Error(text, text)
		h.Group(text)()
		for form, s := range map[string]runnertest.Step{"exactly": runnertest.Read(stdout.String()), "loosely": runnertest.ReadLoosely(stdout.String())} {
			var names []string
			for _, c := range s.Commands {
				names = append(names, c.Name)
				for key := range c.Properties {
					if key != "title" {
						t.Errorf("%q: read %s, there is a property %s", text, form, key)
					}
				}
			}
			if diff := cmp.Diff([]string{"error", "group", "endgroup"}, names); diff != "" {
				t.Errorf("%q: read %s, commands (-want +got):\n%s\n%q", text, form, diff, stdout.String())
			}
		}
	})
}
