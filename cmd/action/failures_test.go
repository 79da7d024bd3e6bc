package main

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What the page about failures quotes of a message is what is said, as the golden
// files and the sources have it; and the page has every code of Entra that has an
// advice of its own.
func TestCredentialsPageQuotesWhatIsSaid(t *testing.T) {
	t.Parallel()
	const page = docs + "credentials.md"
	_, tables, found := strings.Cut(readFile(t, page), "## When it fails\n")
	if !found {
		t.Fatalf("%s says nothing of failures", page)
	}
	said := everythingSaid(t)
	quoted := 0
	for line := range strings.Lines(tables) {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) < 3 {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[0], -1) {
			quoted++
			if !strings.Contains(said, m[1]) {
				t.Errorf("nothing says: %s", m[1])
			}
		}
	}
	if quoted < 40 {
		t.Errorf("the page quotes %d messages", quoted)
	}
	codes := regexp.MustCompile(`(?m)^\t(\d+): +\{`).FindAllStringSubmatch(readFile(t, "../../internal/azure/denials.go"), -1)
	if len(codes) < 8 {
		t.Errorf("found %d codes of Entra", len(codes))
	}
	for _, code := range codes {
		if !strings.Contains(tables, "| `AADSTS"+code[1]+"`") && !strings.Contains(tables, ", `AADSTS"+code[1]+"`") {
			t.Errorf("the page does not have AADSTS%s", code[1])
		}
	}
}

// everythingSaid is the text of all golden files and sources of those who speak
// of credentials.
func everythingSaid(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, folder := range []string{"azure", "cluster", "host/github"} {
		err := filepath.WalkDir("../../internal/"+folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			if suffix := filepath.Ext(path); suffix == ".txt" || suffix == ".go" {
				b.WriteString(readFile(t, path))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}
