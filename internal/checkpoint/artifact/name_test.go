package artifact

import (
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]name{
		"a.dispatch-intent.1":    {"a", checkpoint.Intent, 1, 1},
		"a-1.terminal.50":        {"a-1", checkpoint.Terminal, 50, 1},
		"1.dispatched.2.2":       {"1", checkpoint.Dispatched, 2, 2},
		"x.dispatch-ambiguous.3": {"x", checkpoint.Ambiguous, 3, 1},
		"x.prepared.3.17":        {"x", checkpoint.Prepared, 3, 17},
	} {
		have, ok := parseName(text)
		if !ok || have != want || have.String() != text {
			t.Errorf("%s: %+v, %t", text, have, ok)
		}
	}
}

// An artifact whose name only looks like ours is somebody else's.
func TestNamesThatOnlyLookSimilar(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", ".", "..", "...", "a", "a.terminal", "a.terminal.", ".terminal.1", "a..1", "a.terminal.0", "a.terminal.-1", "a.terminal.+1",
		"a.terminal.01", "a.terminal.1.1", "a.terminal.1.0", "a.terminal.1.02", "a.terminal.1.", "a.terminal.1.2.3", "a.terminal.1 ",
		"a.terminal.1.x", "a.terminal.0x1", "a.terminal.1e3", "a.terminal.99999999999999999999", "a.manifest.1", "a.Terminal.1",
		"A.terminal.1", "a_b.terminal.1", "-a.terminal.1", "a-.terminal.1", "a/b.terminal.1", "\u0430.terminal.1", "a.terminal.\u0661",
		strings.Repeat("a", 64) + ".terminal.1", "a.terminal.1.zip", "b.a.terminal.1",
	} {
		if n, ok := parseName(text); ok {
			t.Errorf("%q is taken for %+v", text, n)
		}
	}
}

// FuzzName reads arbitrary text as a name. What is taken is written the same.
func FuzzName(f *testing.F) {
	for _, text := range []string{"a.terminal.1", "a.terminal.1.2", "a.terminal.01", "a.b.c.d"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, ok := parseName(text)
		if ok && (n.String() != text || !checkpoint.IsExecution(n.execution) || n.attempt < 1 || n.number < 1) {
			t.Errorf("%q is taken for %+v", text, n)
		}
	})
}
