package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// TestCasesNameTests: a test that is renamed is renamed in the table too.
func TestCasesNameTests(t *testing.T) {
	t.Parallel()
	root, err := harness.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range slices.Concat(Execution, Credentials, Stores) {
		if len(c.Tests[endToEnd]) == 0 {
			t.Errorf("no end-to-end test: %s", c.Met)
		}
		for folder, names := range c.Tests {
			files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			var source strings.Builder
			for _, file := range files {
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				source.Write(b)
			}
			for _, name := range names {
				test, sub, _ := strings.Cut(name, "/")
				if !strings.Contains(source.String(), "\nfunc "+test+"(t *testing.T)") ||
					sub != "" && !strings.Contains(source.String(), `"`+sub+`"`) {
					t.Errorf("%s has no test %s", folder, name)
				}
			}
		}
	}
}
