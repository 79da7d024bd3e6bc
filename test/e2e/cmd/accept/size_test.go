package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The program of a commit is compared with the one of now, and where the commit
// is not there, as in a shallow clone, that is said.
func TestSize(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", root, "-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	write("go.mod", "module example.com/action\n\ngo 1.26\n")
	write("cmd/action/main.go", "package main\n\nfunc main() {}\n")
	git("add", ".")
	git("commit", "-q", "-m", "before")
	before := git("rev-parse", "HEAD")
	write("cmd/action/main.go", "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println() }\n")

	for _, c := range []struct {
		before string
		ok     bool
		says   string
	}{
		{before, true, "; at " + before + ": "},
		{beforeAzure, true, "not compared: this checkout has no commit " + beforeAzure},
		{strings.Repeat("1", 40), false, "not compared: this checkout has no commit 111"},
	} {
		lines, err := size(t.Context(), &tree{root: root, stderr: t.Output(), before: c.before})
		if err != nil || len(lines) != 1 {
			t.Fatalf("%v, %v", lines, err)
		}
		if l := lines[0]; l.ok != c.ok || !strings.Contains(l.value, c.says) {
			t.Errorf("compared with %s: %v, want %t and %q", c.before, l, c.ok, c.says)
		}
	}
	if left := git("status", "--porcelain"); left != "M cmd/action/main.go" {
		t.Errorf("the repository was changed:\n%s", left)
	}
}
