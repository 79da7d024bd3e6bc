package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// hostile are values that would be something else than text to a reader of
// Markdown, HTML, a terminal or a log, if they were let through.
var hostile = []string{
	"|", "||", `\|`, `\\|`, `\`, "a|b`c|d", "`", "``", "`|`", "` |", "x`", "`x", " x ", "   ", "| |", "|  a  |", "| --- | --- |",
	"</details>", "</summary>", "<details>", "<script>alert(1)</script>", "<!--", "-->", "<img src=x onerror=y>",
	"](https://example.com)", "[a](b)", "![a](b)", "[^1]", "<https://example.com>", "https://example.com/a", "www.example.com", "a@example.com",
	"@octocat", "#1", "octo/repo#1", ":tada:", ":+1:", "$x$", "$`x`$", "*a*", "_a_", "**a**", "~~a~~",
	"\n# heading", "\n\n- item", "a\r\nb", "a\rb", "\n```\nout", "\n~~~\nout", "````", "\n| a | b |\n", "\n\n<b>", "    code", "\tcode", "---", "===", "> quote", "- [ ] task", "1. item",
	"&lt;", "&#124;", "&amp;", "&", "\x00", "\x1b[31mred", "\x1b]0;title\x07", "\u202edlrow", "a\u2028b\u2029c\u0085d", "\u200d", "\ufeff", "\xff\xfe", "\U000e0041",
	"::error::x", "\n::set-output name=a::b", "##[error]x", "##vso[task.complete]x", "***",
	strings.Repeat("`", 400), strings.Repeat("|", 5000), strings.Repeat("a", 50000), strings.Repeat("\n", 3000), strings.Repeat("\x00", 9000), strings.Repeat("é`|", 4000),
}

// infested returns a report that has the value wherever a value can come from
// elsewhere.
func infested(value string) Report {
	event := func(job string) oneshot.Event {
		return oneshot.Event{Kind: oneshot.EventKind(value), Execution: job, Text: value, At: start}
	}
	return Report{
		Facts: Facts{
			Cluster: value, Namespace: value, Template: value, Purpose: value, ServiceAccount: value, Container: value, Image: value,
			Args: []string{value, value}, EnvironmentNames: []string{value}, TemplateDigest: value, BindingDigest: value,
			Contract: value, CheckpointDir: value,
			Stores: []string{value, value}, ResumedFrom: value, Artifacts: []Artifact{{Name: value, ID: 1}}, Missing: []string{value, value},
		},
		Result: oneshot.Result{
			Outcome:   oneshot.Failed,
			Execution: contract.Execution{Name: value, Namespace: value},
			JobUID:    value,
			Duration:  time.Second,
			Evidence: contract.Object{
				"conditions": []any{
					map[string]any{"type": value, "status": value, "reason": value},
					map[string]any{"type": "Failed", "status": "True", "reason": value},
				},
				"succeeded": value, "failed": value, "completion_time": value,
			},
		},
		Err:     failure.New(failure.JobFailed, "%s", value).At(value).WithFix("%s", value),
		Started: start,
		Events:  []oneshot.Event{event(value), event(value + "2"), event(value)},
	}
}

// checkHostile asserts that a value changes nothing of a report but the text
// in its place, and that the text there tells the value.
func checkHostile(t testing.TB, value string) {
	t.Helper()
	r := infested(value)
	markdown := r.Markdown()
	got, want := parse(t, markdown), parse(t, infested("x").Markdown())
	got.check(t)
	got.Headings[0], want.Headings[0] = "", "" // They hold the value.
	if diff := cmp.Diff(want.skeleton, got.skeleton); diff != "" {
		t.Fatalf("%.80q changes the report (-want +got):\n%s\n%.2000s", value, diff, markdown)
	}
	if diff := cmp.Diff(want.blocks, got.blocks); diff != "" {
		t.Fatalf("%.80q changes the blocks (-want +got):\n%s", value, diff)
	}

	// What stands in the cell of the namespace is the value, exactly.
	told := bound(value, maxValue, visible)
	at := slices.IndexFunc(got.cells, func(row []string) bool { return row[0] == "Namespace" })
	if at < 0 {
		t.Fatalf("%.80q: no row for the namespace in\n%.2000s", value, markdown)
	}
	// A cell's outer spaces are not part of it (GFM 4.10); those of a code span
	// are, unless there is nothing else.
	if cell := got.cells[at][1]; strings.TrimSpace(cell) != strings.TrimSpace(told) {
		t.Errorf("%.80q is told as %.80q, want %.80q", value, cell, told)
	}
	if want := bound(value, maxVerbatim, visibleLines) + "\n"; got.fenced[0] != want {
		t.Errorf("%.80q is told in full as %.80q, want %.80q", value, got.fenced[0], want)
	}

	plain := r.Plain()
	if n, m := strings.Count(plain, "\n"), strings.Count(infested("x").Plain(), "\n"); n-strings.Count(got.fenced[0], "\n") != m-1 {
		t.Errorf("%.80q changes the plain report from %d to %d lines", value, m, n)
	}
	for form, text := range map[string]string{"markdown": markdown, "plain": plain} {
		if !utf8.ValidString(text) {
			t.Errorf("%.80q: %s is no UTF-8", value, form)
		}
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) && r != '\ufe0f' }); i >= 0 {
			t.Errorf("%.80q: %s holds the character %q", value, form, text[i:i+1])
		}
	}

	title, message := r.Annotation()
	if first, _, _ := strings.Cut(title, ":"); first != "job-failed" || strings.ContainsAny(title, "\r\n") {
		t.Errorf("%.80q: the title is %q", value, title)
	}
	if !strings.HasPrefix(message, "job-failed: ") || utf8.RuneCountInString(message) > maxAnnotation+len(": ") {
		t.Errorf("%.80q: the message has %d characters and begins %.40q", value, utf8.RuneCountInString(message), message)
	}
}

func TestHostileValues(t *testing.T) {
	t.Parallel()
	for _, value := range hostile {
		checkHostile(t, value)
	}
}

func FuzzReport(f *testing.F) {
	for _, value := range hostile {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if value == "" {
			return // A value that is not there has no row.
		}
		checkHostile(t, value)
	})
}

// Whatever there is to tell, GitHub shows it: a summary over 1 MiB is dropped.
func TestReportIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"a", "|", "`", "|`", "\U0010ffff", "漢", "\n", "\x00"} {
		r := infested(strings.Repeat(c, 50000))
		for len(r.Events) < 2000 {
			r.Events = append(r.Events, r.Events[0])
		}
		for len(r.Facts.Args) < 2000 {
			r.Facts.Args = append(r.Facts.Args, r.Facts.Args[0])
			r.Facts.EnvironmentNames = append(r.Facts.EnvironmentNames, r.Facts.Args[0])
			r.Facts.Missing = append(r.Facts.Missing, r.Facts.Args[0])
			r.Facts.Artifacts = append(r.Facts.Artifacts, r.Facts.Artifacts[0])
		}
		conditions := slices.Repeat(r.Result.Evidence["conditions"].([]any)[:1], 2000)
		r.Result.Evidence["conditions"] = conditions
		if n := len(r.Markdown()); n > 512<<10 {
			t.Errorf("a report full of %q has %d bytes of Markdown", c, n)
		}
		if n := len(r.Plain()); n > 512<<10 {
			t.Errorf("a report full of %q has %d bytes of plain text", c, n)
		}
	}
}

func TestManyStepsKeepTheFirstAndTheLast(t *testing.T) {
	t.Parallel()
	r := infested("x")
	r.Events = nil
	for i := range 250 {
		r.Events = append(r.Events, oneshot.Event{Kind: "retrying", Text: fmt.Sprintf("try %d", i), At: start})
	}
	markdown := r.Markdown()
	for _, want := range []string{"try 0 ", "try 49 ", "150 more steps", "try 200 ", "try 249 "} {
		if !strings.Contains(markdown, want) {
			t.Errorf("no %q among the steps", want)
		}
	}
	for _, not := range []string{"try 50 ", "try 199 "} {
		if strings.Contains(markdown, not) {
			t.Errorf("%q is among the steps", not)
		}
	}
}

// An error from below that is no failure is told too.
func TestErrorWithoutCode(t *testing.T) {
	t.Parallel()
	r := Report{Err: errors.New("disk on fire")}
	title, message := r.Annotation()
	if title != "unknown: aks-oneshot" || message != "unknown: disk on fire" {
		t.Errorf("annotation is %q, %q", title, message)
	}
	p := parse(t, r.Markdown())
	p.check(t)
	if len(p.fenced) != 1 || p.fenced[0] != "disk on fire\n" {
		t.Errorf("the error is told as %q", p.fenced)
	}
	wrapped := Report{Err: fmt.Errorf("reading inputs: %w", failure.New(failure.ConfigInvalid, "no such thing").At("image"))}
	if _, message := wrapped.Annotation(); !strings.HasPrefix(message, "config-invalid: reading inputs: ") {
		t.Errorf("a wrapped failure is told as %q", message)
	}
}

// A secret is hidden before it is shortened or escaped: what is left of it then
// would pass any mask.
func TestSecretsAreHiddenWhole(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{
		"tok" + strings.Repeat("0123456789", 3000), "pa|ss`wo|rd-tok", "tok\x1b\u202etok", "<tok>&_tok_",
	} {
		r := infested("see " + secret + " here")
		r.Hide = func(text string) string { return strings.ReplaceAll(text, secret, "***") }
		title, message := r.Annotation()
		all := r.Markdown() + r.Plain() + r.Status() + title + message
		if i := strings.Index(all, "tok"); i >= 0 || strings.Contains(all, "pa") && strings.Contains(all, "wo|rd") {
			t.Errorf("of %.20q is left: %.60q", secret, all[max(i, 0):])
		}
		if strings.Count(all, "***") < 30 {
			t.Errorf("%.20q is hidden %d times", secret, strings.Count(all, "***"))
		}
	}
}

// A message that happens to hold the field's name is still told with the field.
func TestAnnotationNamesTheField(t *testing.T) {
	t.Parallel()
	inner := failure.New(failure.ConfigInvalid, "is not a kubeconfig: want YAML").At("kubeconfig")
	for _, err := range []error{inner, failure.New(failure.ConfigInvalid, "%w", inner).At("kubeconfig")} {
		_, message := Report{Err: err, Result: oneshot.Result{Outcome: oneshot.Invalid}}.Annotation()
		if n := strings.Count(message, "kubeconfig: is not a kubeconfig: want YAML"); n != 1 || strings.Count(message, "kubeconfig: ") != 2 {
			t.Errorf("have %q", message)
		}
	}
}
