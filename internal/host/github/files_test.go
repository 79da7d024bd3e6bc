package github

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/host/github/runnertest"
)

// report is a report of one text.
type report string

func (r report) Markdown() string { return string(r) }
func (r report) Plain() string    { return string(r) }

// files are those that the runner made for a step.
type files string

func newFiles(t testing.TB) files {
	t.Helper()
	f := files(t.TempDir())
	f.write(t, "output", "")
	f.write(t, "summary", "")
	return f
}

func (f files) env() map[string]string {
	return map[string]string{
		"GITHUB_OUTPUT":       filepath.Join(string(f), "output"),
		"GITHUB_STEP_SUMMARY": filepath.Join(string(f), "summary"),
	}
}

func (f files) read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(string(f), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (f files) write(t testing.TB, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(string(f), name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// hostileOutputs are values that would be more than one output, or none, if the
// delimiter were known or missing.
var hostileOutputs = []string{
	"", "x", "a\nb", "\n", "\n\n", "a\n", "\r", "a\r\nb\r\n", "a=b", "a<<b", "x\n_GitHubActionsFileCommandDelimeter_\nadmin=true",
	"EOF\nadmin=true", "end-AAAA", "end-AAAA\nadmin=true\n", "\x00", "\ufeffa=b", "日本", strings.Repeat("long ", 100000),
}

func TestOutput(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	h, stdout := step(t, files.env())
	var want []runnertest.Output
	for i, value := range hostileOutputs {
		name := "output-" + string(rune('a'+i))
		if err := h.Output(name, value); err != nil {
			t.Fatalf("%.40q: %v", value, err)
		}
		want = append(want, runnertest.Output{Name: name, Value: value})
	}
	got, err := runnertest.Outputs(files.read(t, "output"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	if stdout.Len() > 0 {
		t.Errorf("printed %q", stdout)
	}
}

func TestOutputDelimiterIsNotInTheValue(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	h, _ := step(t, files.env())
	next := []string{"AAAA", "BBBB", "CCCC"}
	h.random = func() string {
		r := next[0]
		next = next[1:]
		return r
	}
	const value = "x\nend-AAAA\nadmin=true\nend-BBBB"
	if err := h.Output("a", value); err != nil {
		t.Fatal(err)
	}
	if got, want := files.read(t, "output"), "a<<end-CCCC\n"+value+"\nend-CCCC\n"; got != want {
		t.Errorf("the file holds %q, want %q", got, want)
	}
}

func TestOutputDelimitersDiffer(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	h, _ := step(t, files.env())
	for range 2 {
		if err := h.Output("a", ""); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(files.read(t, "output"), "\n")
	if lines[0] == lines[3] || len(lines[0]) < len("a<<end-")+20 {
		t.Errorf("delimiters can be guessed: %q", lines)
	}
}

func TestOutputAfterAnUnfinishedLine(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	files.write(t, "output", "earlier=1")
	h, _ := step(t, files.env())
	if err := h.Output("a", "b"); err != nil {
		t.Fatal(err)
	}
	got, err := runnertest.Outputs(files.read(t, "output"))
	want := []runnertest.Output{{Name: "earlier", Value: "1"}, {Name: "a", Value: "b"}}
	if err != nil || !cmp.Equal(want, got) {
		t.Errorf("outputs are %v, want %v, error %v", got, want, err)
	}
}

func TestOutputName(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	h, _ := step(t, files.env())
	for _, name := range []string{"", "a=b", "a\nadmin=true", "a<<b", "a b"} {
		if err := h.Output(name, "x"); err == nil {
			t.Errorf("output %q was taken", name)
		}
	}
	if got := files.read(t, "output"); got != "" {
		t.Errorf("the file holds %q", got)
	}
}

// The library panics in each of these cases.
func TestFilesThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, path := range map[string]string{
		"a folder":         dir,
		"no such folder":   filepath.Join(dir, "none", "file"),
		"no room (device)": "/dev/full",
	} {
		if _, err := os.Stat("/dev/full"); path == "/dev/full" && err != nil {
			continue // Linux has it, and CI is Linux.
		}
		h, _ := step(t, map[string]string{"GITHUB_OUTPUT": path, "GITHUB_STEP_SUMMARY": path})
		if err := h.Output("job-name", "x"); err == nil || !strings.Contains(err.Error(), "job-name") || !strings.Contains(err.Error(), "GITHUB_OUTPUT") {
			t.Errorf("%s: the error of an output is %v", name, err)
		}
		if err := h.Summary(report("x")); err == nil || !strings.Contains(err.Error(), "GITHUB_STEP_SUMMARY") {
			t.Errorf("%s: the error of the summary is %v", name, err)
		}
	}
}

func TestWithoutFiles(t *testing.T) {
	t.Parallel()
	h, stdout := step(t, nil)
	for _, err := range []error{
		h.Output("job-name", "j"), h.Output("reason", "::error::x"),
		h.Summary(report("all is well\n::notice::x\n")), h.Summary(report("again\n")),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	s := runnertest.Read(stdout.String())
	if w := s.Named("warning"); len(w) != 2 || !strings.Contains(w[0], "GITHUB_OUTPUT") || !strings.Contains(w[1], "GITHUB_STEP_SUMMARY") {
		t.Errorf("warnings are %q", w)
	}
	want := []string{"job-name=j", "reason=::error::x", "all is well", "| ::notice::x", "again"}
	if diff := cmp.Diff(want, s.Log); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func FuzzOutput(f *testing.F) {
	for _, value := range hostileOutputs {
		f.Add(value[:min(len(value), 100)])
	}
	files := newFiles(f)
	h, _ := step(f, files.env())
	f.Fuzz(func(t *testing.T, value string) {
		files.write(t, "output", "")
		if err := h.Output("a", value); err != nil {
			t.Fatal(err)
		}
		got, err := runnertest.Outputs(files.read(t, "output"))
		want := []runnertest.Output{{Name: "a", Value: strings.ToValidUTF8(value, "\uFFFD")}}
		if err != nil || !cmp.Equal(want, got) || !utf8.ValidString(files.read(t, "output")) {
			t.Errorf("outputs are %q, want %q, error %v", got, want, err)
		}
	})
}
