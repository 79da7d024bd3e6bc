package harness

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// Scans counts what was looked through for secrets.
type Scans struct {
	mu sync.Mutex
	// Runs are the steps whose traces were looked through, Bytes how much that
	// was. Secrets are those that had been issued, Found the places where one was.
	Runs, Secrets, Found int
	Bytes                int64
}

// Figure tells what was looked through and what was found.
func (s *Scans) Figure(tell func(name, format string, args ...any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Runs > 0 {
		tell("scan for secrets", "%d runs, %d bytes, %d secrets issued, %d found", s.Runs, s.Bytes, s.Secrets, s.Found)
	}
}

// Scan looks for every secret that the scenario's Azure and its stores ever issued,
// in all that its steps left: what they printed, outputs and summary, every file in their
// folders, and the records. What is found is told in sentences that hold no
// secret.
//
// Of a job of GitHub, the lines that tell the runner what to hide are not looked
// at: the runner shows none of them. All others are, also those that come after
// the secret was to be hidden: nobody should have to rely on that.
func (s *Scenario) Scan(runs []Ended) ([]string, error) {
	var found []string
	var size int64
	var ledger *standin.Ledger
	secrets := 0
	if s.Stores != nil {
		ledger, secrets = s.Stores.ledger, s.Stores.secrets()
	}
	if s.Azure != nil { // Its stores have the same ledger.
		ledger, secrets = s.Azure.Ledger, secrets+s.Azure.secrets()
	}
	look := func(where, text string) {
		size += int64(len(text))
		found = append(found, ledger.Scan(where, []byte(text))...)
	}
	for _, e := range runs {
		out := e.Stdout
		if e.System == GitHub {
			out, _ = SplitMasks(out)
		}
		look("standard output", out)
		look("standard error", e.Stderr)
		for name, value := range e.Outputs {
			look("the output "+name, value)
		}
		if err := eachFile(e.Dir, look); err != nil {
			return nil, err
		}
	}
	if err := eachFile(s.Dir, look); err != nil {
		return nil, err
	}
	scans := &s.World.Scans
	scans.mu.Lock()
	defer scans.mu.Unlock()
	scans.Runs += len(runs)
	scans.Bytes += size
	scans.Found += len(found)
	scans.Secrets += secrets
	return found, nil
}

// SplitMasks returns the log without the lines that tell a runner what to hide,
// and those lines.
func SplitMasks(log string) (shown, masks string) {
	var others, hidden strings.Builder
	for line := range strings.Lines(log) {
		if strings.HasPrefix(line, "::add-mask::") {
			hidden.WriteString(line)
		} else {
			others.WriteString(line)
		}
	}
	return others.String(), hidden.String()
}

// secrets counts what was issued: tokens, and the two that ask for id tokens.
func (a *Azure) secrets() int {
	return 2 + len(a.GitHub.Issued()) + len(a.Pipelines.Issued()) + len(a.Entra.Issued())
}

// eachFile shows every file below a folder, but for kubeconfigs, where secrets
// belong.
func eachFile(dir string, look func(where, text string)) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), "kubeconfig") {
			return err
		}
		b, err := os.ReadFile(path)
		look(path, string(b))
		return err
	})
}
