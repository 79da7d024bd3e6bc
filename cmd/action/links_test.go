package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const docs = "../../docs/"

// A link from one page to another, or to a part of one, leads somewhere.
func TestLinksBetweenPagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	pages := []string{"../../README.md", "../../SECURITY.md", "../../CONTRIBUTING.md"}
	more, err := filepath.Glob(docs + "*.md")
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	found := 0
	for _, page := range slices.Concat(pages, more) {
		text := readFile(t, page)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			found++
			file, part, _ := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s: %v", page, m[1], err)
			} else if part != "" && !slices.Contains(headings(readFile(t, target)), part) {
				t.Errorf("%s: %s has no heading #%s", page, target, part)
			}
		}
	}
	if found < 20 {
		t.Errorf("found %d links", found)
	}
}

// headings are the anchors that GitHub gives the headings of a page.
func headings(text string) (anchors []string) {
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		title, isHeading := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if fenced || !isHeading || !strings.HasPrefix(line, "#") {
			continue
		}
		title = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
		anchors = append(anchors, strings.ReplaceAll(title, " ", "-"))
	}
	return anchors
}
