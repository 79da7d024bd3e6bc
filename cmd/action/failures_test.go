package main

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
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
	quotes := quotesIn(tables)
	if len(quotes) < 60 {
		t.Errorf("the page quotes %d messages", len(quotes))
	}
	for _, quote := range quotes {
		if !saying(said, quote) {
			t.Errorf("nothing says: %s", quote)
		}
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

// saying reports whether a text has a quote in it. A piece of advice begins with a
// capital where it stands by itself.
func saying(text, quote string) bool {
	return strings.Contains(text, quote) || strings.Contains(text, strings.ToUpper(quote[:1])+quote[1:])
}

// quotesIn returns what is quoted in the first column of tables.
func quotesIn(tables string) []string {
	var quotes []string
	for line := range strings.Lines(tables) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			quotes = append(quotes, m[1])
		}
	}
	return quotes
}

// unexplained are the failures that are kept and have no row of the page, and why.
var unexplained = map[string]string{
	"unknown-auth":  "The inputs refuse it before: it is for who calls the package with another word.",
	"create, quota": "It is no failure of signing in: create-rejected.",
	"get, absent":   "It is no failure of signing in: template-unavailable or identity-unavailable.",
}

// Whoever meets a failure finds it on the page: each message that a golden file
// keeps of the way to the API server has a part that the page quotes.
func TestCredentialsPageHasEveryFailure(t *testing.T) {
	t.Parallel()
	_, tables, _ := strings.Cut(readFile(t, docs+"credentials.md"), "## When it fails\n")
	quotes := quotesIn(tables)
	kept := keptFailures(t)
	if len(kept) < 130 {
		t.Errorf("%d failures are kept", len(kept))
	}
	met := map[string]bool{}
	for name, message := range kept {
		quoted := slices.ContainsFunc(quotes, func(quote string) bool { return saying(message, quote) })
		_, excepted := unexplained[path.Base(name)]
		met[path.Base(name)] = true
		if quoted == excepted {
			t.Errorf("%s: is on the page: %t, is an exception: %t\n%s", name, quoted, excepted, message)
		}
	}
	for name := range unexplained {
		if !met[name] {
			t.Errorf("there is no failure %s", name)
		}
	}
}

// keptFailures returns the messages of golden files: of the way to the API server,
// and of a connection to it whose settings come from Azure.
func keptFailures(t *testing.T) map[string]string {
	t.Helper()
	kept := map[string]string{}
	files, err := filepath.Glob("../../internal/azure/testdata/failures/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		kept["azure/"+strings.TrimSuffix(filepath.Base(file), ".txt")] = readFile(t, file)
	}
	for _, file := range []string{"connections-token", "connections-certificate", "refusals-token", "refusals-token-in-rbac", "refusals-certificate"} {
		sections := strings.Split("\n"+readFile(t, "../../internal/cluster/testdata/hints/"+file+".txt"), "\n# ")
		for _, section := range sections[1:] {
			title, message, _ := strings.Cut(section, "\n")
			kept["cluster/"+file+"/"+title] = message
		}
	}
	return kept
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
