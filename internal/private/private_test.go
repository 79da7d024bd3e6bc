package private

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// foreignUID belongs to nobody in particular, but neither to root nor to us.
const foreignUID = 54321

// privateDir returns the path of a new folder that meets every rule, whatever
// the umask and wherever the system keeps temporary files.
func privateDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	chmod(t, dir, 0o700)
	return dir
}

func openNew(t *testing.T) *Dir {
	t.Helper()
	d, err := OpenDir(privateDir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func chmod(t *testing.T, path string, mode uint32) {
	t.Helper()
	// Not os.Chmod: its FileMode spells the sticky and set-group-id bits its own way.
	if err := unix.Chmod(path, mode); err != nil {
		t.Fatalf("chmod %04o %s: %v", mode, path, err)
	}
}

func mkdir(t *testing.T, path string, mode uint32) string {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, mode)
	return path
}

func write(t *testing.T, path, content string, mode uint32) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, mode)
	return path
}

// giveAway makes path belong to another user. Only root can do that; without
// root the rule is tested on folders that are another user's already, in
// TestOwnerOfSystemFolders.
func giveAway(t *testing.T, path string) {
	t.Helper()
	if err := os.Lchown(path, foreignUID, -1); err != nil {
		t.Fatal(err)
	}
}

func isRoot() bool { return os.Geteuid() == 0 }

// wantViolation fails the test unless err is a violation of that path whose
// text has all the parts, with advice.
func wantViolation(t *testing.T, err error, path string, parts ...string) {
	t.Helper()
	v, ok := errors.AsType[*Violation](err)
	if !ok {
		t.Fatalf("got error %v, want a violation at %s", err, path)
	}
	if v.Path != path {
		t.Errorf("the violation is at %q, want %q", v.Path, path)
	}
	for _, part := range parts {
		if !strings.Contains(v.Error(), part) {
			t.Errorf("the violation says %q, want %q in it", v, part)
		}
	}
	if v.Fix == "" {
		t.Errorf("the violation %q comes without advice", v)
	}
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	have := []string{}
	for _, e := range entries {
		have = append(have, e.Name())
	}
	if fmt.Sprint(have) != fmt.Sprint(want) {
		t.Errorf("the folder holds %v, want %v", have, want)
	}
}
