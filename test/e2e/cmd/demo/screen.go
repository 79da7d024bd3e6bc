package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// screen is what the user sees.
type screen struct {
	w     io.Writer
	style style
}

// Write implements [io.Writer] for those that tell what goes on.
func (s *screen) Write(p []byte) (int, error) { return s.w.Write(p) }

func (s *screen) line(format string, args ...any) { _, _ = fmt.Fprintf(s.w, format+"\n", args...) }

// header opens an act and says what is about to happen.
func (s *screen) header(title, about string) {
	s.line("")
	s.line("%s", s.style.step("━━ "+title+" "+strings.Repeat("━", max(0, width-4-utf8.RuneCountInString(title)))))
	s.line("About to happen: %s", about)
	s.line("")
}

// log shows a line of the step's log.
func (s *screen) log(line string) { s.line("%s %s", s.style.faint("  log │"), line) }

// summary shows a job summary.
func (s *screen) summary(markdown string) {
	s.line("")
	if markdown == "" {
		s.line("  %s", s.style.faint("(there is no summary: a killed process writes none)"))
		return
	}
	for line := range strings.Lines(renderMarkdown(markdown, s.style)) {
		s.line("%s %s", s.style.faint("  summary │"), strings.TrimSuffix(line, "\n"))
	}
}

// seen says what an act came to, and whether that is what it should.
func (s *screen) seen(what string, wrong []string) {
	s.line("")
	s.line("Seen: %s", what)
	if len(wrong) == 0 {
		s.line("%s", s.style.good("✓ as it should be"))
		return
	}
	for _, w := range wrong {
		s.line("%s", s.style.bad("✗ "+w))
	}
}

// readNext are the README's sections that go on from here.
var readNext = []struct{ heading, about string }{
	{"Use it in a workflow", "a workflow to paste, and the credential that it takes"},
	{"What at most once means", "what is promised, what is not, and how a re-run resumes"},
	{"Failure codes", "what each refusal means and what to do"},
	{"What it has to be allowed", "the Role to grant"},
}

func (s *screen) end() {
	s.line("")
	s.line("%s", s.style.good("All runs ended as they should; the control plane is gone, and nothing is left behind."))
	s.line("")
	s.line("To read next, in README.md:")
	for _, r := range readNext {
		s.line("  %s  %s", s.style.bold(fmt.Sprintf("%-25s", r.heading)), r.about)
	}
	s.line("To set up the identity in Azure that a workflow signs in as: docs/federation.md")
	s.line("To choose where records are kept, which a re-run on another runner resumes from: docs/stores.md")
	s.line("And to measure it beside kubectl: make bench")
}
