package report

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// glued finds a full stop behind an option's value, or behind a piece of YAML that
// ends a line: who pastes it has the stop in it.
var glued = regexp.MustCompile(`--[a-z-]+ (?:'[^']*'|"[^"]*"|[^\s')"]+)\.(?: |$)|\}\.$`)

// What is there to be pasted is shown as it has to be pasted: every message that the
// golden files keep, as an annotation shows it.
func TestNoStopIsGluedToACommand(t *testing.T) {
	t.Parallel()
	checked := 0
	check := func(where, line string) {
		checked++
		if found := glued.FindString(line); found != "" {
			t.Errorf("%s: %q in: %s", where, found, line)
		}
	}
	for _, pattern := range []string{
		"../azure/testdata/failures/*.txt",
		"../cluster/testdata/hints/*.txt",
		"../../test/e2e/testdata/oidc/*.txt",
	} {
		files, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has %d files: %v", pattern, len(files), err)
		}
		for _, file := range files {
			kept, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(kept)) {
				line = strings.TrimSuffix(line, "\n")
				check(file, line)
				if text, ends := strings.CutPrefix(line, "text: "); ends {
					as := Report{Err: failure.New(failure.CredentialFailed, "x").WithFix("%s", text)}
					_, annotation := as.Annotation()
					check(file, annotation)
				}
				if filepath.Base(filepath.Dir(file)) == "hints" && line != "" {
					// More is said after these, so a command cannot be their end.
					as := Report{Err: failure.New(failure.ClusterUnreachable, "%s", line).WithFix("Run again")}
					_, annotation := as.Annotation()
					check(file, annotation)
					if !strings.HasSuffix(annotation, ". Run again.") {
						t.Errorf("%s: what is told does not end before the advice: %s", file, annotation)
					}
				}
			}
		}
	}
	if checked < 250 {
		t.Errorf("%d lines are kept", checked)
	}
}

func TestSentenced(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                    "",
		"Run again":                           "Run again.",
		"Run again.\n":                        "Run again.",
		"Why?":                                "Why?",
		"Start it: az aks start --name x":     "Start it: az aks start --name x",
		"Start it: az aks start --name 'a;b'": "Start it: az aks start --name 'a;b'",
		"Start it: az aks start --name x; GROUP is what az prints": "Start it: az aks start --name x; GROUP is what az prints.",
		"Map it: env: { A: $(B) }":                                 "Map it: env: { A: $(B) }",
		"Start it (az aks start --name x)":                         "Start it (az aks start --name x).",
		"Start it (by: az aks start --name x)":                     "Start it (by: az aks start --name x).",
		"See: kubectl get jobs --namespace x":                      "See: kubectl get jobs --namespace x",
		"asking az: it printed nothing":                            "asking az: it printed nothing.",
	} {
		if got := sentenced(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
