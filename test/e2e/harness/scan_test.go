package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// TestScanFindsWhatWasIssued: a secret is found wherever a step leaves it, and
// nowhere else than where it is told to the runner to be hidden.
func TestScanFindsWhatWasIssued(t *testing.T) {
	t.Parallel()
	azure, err := standin.NewAzure(t.TempDir(), "https://127.0.0.1:6443", []byte("ca"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := azure.Close(); err != nil {
			t.Error(err)
		}
	})
	token, err := azure.GitHub.Token(standin.TokenAudience)
	if err != nil {
		t.Fatal(err)
	}
	given := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(given, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		script string
		system System
		found  bool
	}{
		"nothing":               {`echo well`, GitHub, false},
		"mask":                  {`echo "::add-mask::$(cat $TOKEN)"`, GitHub, false},
		"before the mask":       {`cat $TOKEN; echo; echo "::add-mask::$(cat $TOKEN)"`, GitHub, true},
		"after the mask":        {`echo "::add-mask::$(cat $TOKEN)"; cat $TOKEN`, GitHub, true},
		"in a line with a mask": {`echo "see ::add-mask::$(cat $TOKEN)"`, GitHub, true},
		"no runner hides it":    {`echo "outcome=::add-mask::$(cat $TOKEN)"`, Pipelines, true},
		"standard error":        {`cat $TOKEN >&2`, GitHub, true},
		"output":                {`echo "reason=$(tail -c 80 $TOKEN)" >> "$GITHUB_OUTPUT"`, GitHub, true},
		"summary":               {`base64 $TOKEN >> "$GITHUB_STEP_SUMMARY"`, GitHub, true},
		"home":                  {`cp $TOKEN $HOME/.cache`, GitHub, true},
		"record":                {`cp $TOKEN $RECORDS/x.json`, GitHub, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &Scenario{World: &World{Runner: runnerOf(t, c.script)}, Azure: &Azure{Azure: azure}, Dir: t.TempDir(), System: c.system}
			s.Env = map[string]string{"TOKEN": given, "RECORDS": s.Dir}
			e, err := s.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			found, err := s.Scan([]Ended{e})
			if err != nil || (len(found) > 0) != c.found {
				t.Errorf("found is %q, %v", found, err)
			}
			if strings.Contains(strings.Join(found, "\n"), token[len(token)-40:]) {
				t.Error("what is found is shown")
			}
			if n := &s.World.Scans; n.Runs != 1 || n.Bytes == 0 && c.found || n.Secrets < 3 || (n.Found > 0) != c.found {
				t.Errorf("counted: %d runs, %d bytes, %d secrets, %d found", n.Runs, n.Bytes, n.Secrets, n.Found)
			}
		})
	}
}

func TestOutputsOfATerminal(t *testing.T) {
	t.Parallel()
	have, err := parseLines("outcome=failed\nterminal-evidence=\"{\\\"a\\\": 1}\"\nreason=\n")
	if err != nil || have["outcome"] != "failed" || have["terminal-evidence"] != `{"a": 1}` || len(have) != 3 {
		t.Errorf("the outputs are %q, %v", have, err)
	}
	for _, bad := range []string{"a line of a log", "waiting for x: y=1\n", "a=\"torn\n"} {
		if _, err := parseLines(bad); err == nil {
			t.Errorf("%q is read as an output", bad)
		}
	}
}
