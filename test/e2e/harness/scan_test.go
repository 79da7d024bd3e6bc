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

// TestScanFindsWhatTheStoresIssued: the same of the tokens that a workflow's
// services are asked with, and of the key that records are signed with.
func TestScanFindsWhatTheStoresIssued(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		found  bool
	}{
		"nothing":       {`echo well`, false},
		"runtime token": {`printenv ACTIONS_RUNTIME_TOKEN`, true},
		"github token":  {`printenv GIVEN | cut -c5-`, true},
		"key":           {`printenv KEY > "$HOME/key"`, true},
		"key, hidden":   {`echo "::add-mask::$(printenv KEY)"`, false},
		"earlier token": {`printenv EARLIER`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &Scenario{World: &World{Dir: t.TempDir(), Runner: runnerOf(t, c.script)}, Name: "it", Inputs: map[string]string{}, Dir: t.TempDir()}
			k, err := s.Keep(standin.StoresOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := k.Close(); err != nil {
					t.Error(err)
				}
			})
			s.Sign("a key of thirty-two bytes and some more")
			earlier := k.Attempt().RuntimeToken
			if err := s.Rerun(standin.RerunAll); err != nil {
				t.Fatal(err)
			}
			// A shell takes no variable over that has a dash in its name.
			s.Env["EARLIER"], s.Env["GIVEN"], s.Env["KEY"] = earlier, s.Inputs["github-token"], s.Inputs["checkpoint-key"]
			e, err := s.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			found, err := s.Scan([]Ended{e})
			if err != nil || (len(found) > 0) != c.found {
				t.Errorf("found is %q, %v; the log:\n%s", found, err, e.Log())
			}
			if n := &s.World.Scans; n.Runs != 1 || n.Secrets != 5 || (n.Found > 0) != c.found {
				t.Errorf("counted: %d runs, %d secrets, %d found", n.Runs, n.Secrets, n.Found)
			}
		})
	}
}

// TestMove: another machine has nothing of the one before.
func TestMove(t *testing.T) {
	t.Parallel()
	s := &Scenario{Dir: t.TempDir()}
	s.Inputs = map[string]string{"work-dir": s.path("records")}
	for range 3 {
		old := s.Inputs["work-dir"]
		if err := os.Mkdir(old, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := s.Move(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(old); !os.IsNotExist(err) || s.Inputs["work-dir"] == old {
			t.Errorf("%s is still there, or used: %v", old, err)
		}
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
