package host_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/host"
	"github.com/aks-oneshot/aks-oneshot/internal/host/github/runnertest"
)

func TestLines(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", []string{""}},
		{"one line", "hello", []string{"hello"}},
		{"a newline at the end", "a\nb\n", []string{"a", "b"}},
		{"blank lines", "\na\n\n", []string{"", "a", ""}},
		{"every line end", "a\rb\r\nc\nd", []string{"a", "b", "c", "d"}},
		{"tabs and letters", "\tgrün: 日本 €", []string{"\tgrün: 日本 €"}},
		{"a path with colons", "pkg::fn ::x", []string{"pkg::fn ::x"}},
		{"a command", "::error::x", []string{"| ::error::x"}},
		{"a command after white space", " \t ::error::x", []string{"|  \t ::error::x"}},
		{"a command after a CR", "x\r::error::y", []string{"x", "| ::error::y"}},
		{"a command after a no-break space", "\u00a0::error::x", []string{`\xa0::error::x`}},
		{"a command with invisible characters", ":\u200d:error::x", []string{`:\u200d:error::x`}},
		{"a command after letters that may count for nothing", "\u0301::error::x", []string{"| \u0301::error::x"}},
		{"old syntax", "x ##[error]y", []string{"x ## [error]y"}},
		{"old syntax after a number sign", "###[error]y", []string{"### [error]y"}},
		{"old syntax within colours", "#\x1b[1m#\x1b[0m[error]y", []string{"## [error]y"}},
		{"twice", "##[a]##[b]", []string{"## [a]## [b]"}},
		{"the agent's", "x ##vso[task.complete]y ##VSO[a]", []string{"x ## vso[task.complete]y ## VSO[a]"}},
		{"a heading", "## [link]", []string{"## [link]"}},
		{"colours", "\x1b[1;31mred\x1b[0m", []string{"red"}},
		{"a window title", "\x1b]0;x\x07", []string{`\x1b]0;x\x07`}},
		{"turned around", "a\u202eb", []string{`a\u202eb`}},
		{"no UTF-8", "a\xffb", []string{"a\uFFFDb"}},
		{"a tag character", "\U000e0041", []string{`\U000e0041`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, host.Lines(tt.text)); diff != "" {
				t.Errorf("Lines(%q) (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

// commands are lines that a runner or an agent obeys, in many a disguise.
var commands = []string{
	"::error::x", "::stop-commands::x", "::add-mask::a", "  ::set-output name=a::b", "\r::notice::x", "a\n::group::b", "\u2003::warning::x",
	"::\u200derror::x", ":\u00ad:error::x", "\ufeff::error::x", "\x00::error::x", "\u0300::error\u0300::x", "\u3164::error::x",
	"##[error]x", "x##[set-env name=a]b", "#\u200d#[error]x", "##\ufe0f[error]", "\x1b[0m::error::x", "#\x1b[m#[error]x", "##\x1b[0m[debug]",
	"##vso[task.setvariable variable=a]b", "x ##vs\u200do[task.complete]", "#\x1b[0m#vso[a]", "##VsO[a]b", ":\x1b[0m:error::x", "\xff::error::x", "\u0085::error::x", "\u2028::error::x",
}

// checkLines asserts that neither a runner nor an agent finds a command in the
// lines, whichever characters they look through, and no terminal does either.
func checkLines(t *testing.T, text string) {
	t.Helper()
	lines := host.Lines(text)
	out := strings.Join(lines, "\n") + "\n"
	if s := runnertest.Read(out); len(s.Commands) > 0 || len(s.Log) != len(lines) {
		t.Errorf("%q: the runner obeys %v and shows %q", text, s.Commands, s.Log)
	}
	if s := runnertest.ReadLoosely(out); len(s.Commands) > 0 {
		t.Errorf("%q: a runner that compares by culture obeys %v", text, s.Commands)
	}
	agent := strings.ToLower(strings.Map(func(r rune) rune {
		if runnertest.Ignorable(r) {
			return -1
		}
		return r
	}, out))
	if strings.Contains(agent, "##vso[") || strings.Contains(agent, "##[") {
		t.Errorf("%q: an agent finds a command in %q", text, out)
	}
	for _, line := range lines {
		if i := strings.IndexFunc(line, func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%q: line %q holds a character without a shape at %d", text, line, i)
		}
		if again := host.Lines(line); len(again) != 1 || strings.TrimPrefix(again[0], "| ") != strings.TrimPrefix(line, "| ") {
			t.Errorf("%q: line %q becomes %q the second time", text, line, again)
		}
	}
}

func TestLinesAreNoCommands(t *testing.T) {
	t.Parallel()
	for _, c := range commands {
		checkLines(t, c)
	}
}

func FuzzLines(f *testing.F) {
	for _, c := range commands {
		f.Add(c)
	}
	f.Fuzz(checkLines)
}

func TestBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 8<<10)
	lines := append([]string{"a", long, long + "b", "x" + long}, make([]string, 2000)...)
	have := host.Bounded(lines)
	if len(have) != 2001 || have[2000] != "(4 more lines left out)" {
		t.Errorf("%d lines, the last %q", len(have), have[len(have)-1])
	}
	want := []string{"a", long, long + " (1 bytes left out)", "x" + long[:len(long)-2] + " (2 bytes left out)"}
	if diff := cmp.Diff(want, have[:4]); diff != "" {
		t.Errorf("(-want +have)\n%.500s", diff)
	}
}
