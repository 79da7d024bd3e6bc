package private

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOpenDirRefuses(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		root bool // needs root, to make something another user's
		// arrange prepares base and returns the path to open and the path that
		// has to be named.
		arrange func(t *testing.T, base string) (path, at string)
		says    []string
	}{
		{"a relative path", false, func(*testing.T, string) (string, string) {
			return "work", "work"
		}, []string{"not an absolute path"}},
		{"no path", false, func(*testing.T, string) (string, string) {
			return "", "the path"
		}, []string{"is empty"}},
		{"a path with ..", false, func(t *testing.T, base string) (string, string) {
			mkdir(t, base+"/a", 0o700)
			return base + "/a/../work", base + "/a/../work"
		}, []string{"not a clean path"}},
		{"a path with a slash at its end", false, func(_ *testing.T, base string) (string, string) {
			return base + "/", base + "/"
		}, []string{"not a clean path"}},
		{"a path with a NUL", false, func(_ *testing.T, base string) (string, string) {
			return base + "/a\x00b", "the path"
		}, []string{"NUL"}},
		{"the root folder", false, func(*testing.T, string) (string, string) {
			return "/", "/"
		}, []string{"cannot be a private folder"}},
		{"a symbolic link as the folder", false, func(t *testing.T, base string) (string, string) {
			mkdir(t, base+"/real", 0o700)
			symlink(t, "real", base+"/link")
			return base + "/link", base + "/link"
		}, []string{"is a symbolic link"}},
		{"a symbolic link on the way", false, func(t *testing.T, base string) (string, string) {
			mkdir(t, base+"/real", 0o700)
			mkdir(t, base+"/real/work", 0o700)
			symlink(t, base+"/real", base+"/link")
			return base + "/link/work", base + "/link"
		}, []string{"is a symbolic link"}},
		{"a link to nowhere on the way", false, func(t *testing.T, base string) (string, string) {
			symlink(t, "nowhere", base+"/link")
			return base + "/link/work", base + "/link"
		}, []string{"is a symbolic link"}},
		{"a file on the way", false, func(t *testing.T, base string) (string, string) {
			write(t, base+"/file", "", 0o600)
			return base + "/file/work", base + "/file"
		}, []string{"must be a folder"}},
		{"a FIFO as the folder", false, func(t *testing.T, base string) (string, string) {
			fifo(t, base+"/fifo")
			return base + "/fifo", base + "/fifo"
		}, []string{"is a FIFO"}},
		{"an ancestor that its group can write to", false, func(t *testing.T, base string) (string, string) {
			mkdir(t, base+"/shared", 0o770)
			mkdir(t, base+"/shared/work", 0o700)
			return base + "/shared/work", base + "/shared"
		}, []string{"mode 0770", "other users can exchange"}},
		{"an ancestor that everybody can write to", false, func(t *testing.T, base string) (string, string) {
			mkdir(t, base+"/shared", 0o702)
			mkdir(t, base+"/shared/a", 0o700)
			mkdir(t, base+"/shared/a/work", 0o700)
			return base + "/shared/a/work", base + "/shared"
		}, []string{"mode 0702"}},
		{"a missing folder below an ancestor that its group can write to", false, func(t *testing.T, base string) (string, string) {
			mkdir(t, base+"/shared", 0o720)
			return base + "/shared/a/work", base + "/shared"
		}, []string{"mode 0720"}},
		{"a folder that others can read", false, func(t *testing.T, base string) (string, string) {
			return mkdir(t, base+"/work", 0o755), base + "/work"
		}, []string{"mode 0755, must have 0700"}},
		{"a folder that we cannot write to", false, func(t *testing.T, base string) (string, string) {
			return mkdir(t, base+"/work", 0o500), base + "/work"
		}, []string{"mode 0500, must have 0700"}},
		{"a folder with the sticky bit", false, func(t *testing.T, base string) (string, string) {
			return mkdir(t, base+"/work", 0o1700), base + "/work"
		}, []string{"mode 1700, must have 0700"}},
		{"an ancestor of another user", true, func(t *testing.T, base string) (string, string) {
			mkdir(t, base+"/home", 0o755)
			mkdir(t, base+"/home/work", 0o700)
			giveAway(t, base+"/home")
			return base + "/home/work", base + "/home"
		}, []string{"belongs to uid 54321", "uid 0"}},
		{"a sticky ancestor of another user", true, func(t *testing.T, base string) (string, string) {
			mkdir(t, base+"/tmp", 0o1777)
			mkdir(t, base+"/tmp/work", 0o700)
			giveAway(t, base+"/tmp")
			return base + "/tmp/work", base + "/tmp"
		}, []string{"belongs to uid 54321"}},
		{"a folder of another user", true, func(t *testing.T, base string) (string, string) {
			giveAway(t, mkdir(t, base+"/work", 0o700))
			return base + "/work", base + "/work"
		}, []string{"belongs to uid 54321", "must belong to uid 0"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.root && !isRoot() {
				t.Skip("left out: only root can give a folder to another user; TestOwnerOfSystemFolders tests the rule without")
			}
			base := privateDir(t)
			path, at := c.arrange(t, base)
			before := tree(t, base)
			d, err := OpenDir(path)
			if err == nil {
				_ = d.Close()
			}
			wantViolation(t, err, at, c.says...)
			if after := tree(t, base); after != before {
				t.Errorf("a refused path changed the file system:\nbefore %s\nafter  %s", before, after)
			}
		})
	}
}

// TestOwnerOfSystemFolders tests the rule about owners where nothing can be
// given away: to anybody but root, a folder of root's is somebody else's.
func TestOwnerOfSystemFolders(t *testing.T) {
	t.Parallel()
	var st unix.Stat_t
	const system = "/usr"
	if err := unix.Stat(system, &st); err != nil {
		t.Fatal(err)
	}
	if st.Uid != 0 {
		t.Skipf("left out: %s belongs to uid %d here, not to root", system, st.Uid)
	}
	_, err := OpenDir(system)
	if isRoot() {
		wantViolation(t, err, system, "must have 0700")
	} else {
		wantViolation(t, err, system, "belongs to uid 0, must belong to uid")
	}
	// As an ancestor, root's folder is fine for everybody.
	if err := checkAncestor(system, &st); err != nil {
		t.Errorf("%s is refused as an ancestor: %v", system, err)
	}
	st.Uid = foreignUID
	wantViolation(t, checkAncestor(system, &st), system, "belongs to uid 54321")
	wantViolation(t, checkFolder(system, &st), system, "belongs to uid 54321")
	st.Mode = unix.S_IFREG | fileMode
	wantViolation(t, checkFile(system, &st, 1), system, "belongs to uid 54321")
}

func TestOpenDirAccepts(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(t *testing.T, base string) string{
		"a private folder": func(_ *testing.T, base string) string { return base },
		"below a sticky folder that everybody can write to": func(t *testing.T, base string) string {
			mkdir(t, base+"/tmp", 0o1777)
			return mkdir(t, base+"/tmp/work", 0o700)
		},
		"below a folder that others can read": func(t *testing.T, base string) string {
			mkdir(t, base+"/open", 0o755)
			return mkdir(t, base+"/open/work", 0o700)
		},
		"with a name that only looks like a way up": func(t *testing.T, base string) string {
			return mkdir(t, base+"/..work", 0o700)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := arrange(t, privateDir(t))
			d, err := OpenDir(path)
			if err != nil {
				t.Fatal(err)
			}
			if d.Path() != path {
				t.Errorf("Path is %q, want %q", d.Path(), path)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOpenDirCreates(t *testing.T) {
	t.Parallel()
	base := privateDir(t)
	// A set-group-id parent hands its bit on to what is made in it (Linux).
	mkdir(t, base+"/setgid", 0o2755)
	for _, path := range []string{base + "/work", base + "/a/b/work", base + "/setgid/a/work"} {
		d, err := OpenDir(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		for p := path; p != base && p != base+"/setgid"; p = filepath.Dir(p) {
			var st unix.Stat_t
			if err := unix.Lstat(p, &st); err != nil {
				t.Fatal(err)
			}
			if mode := permissions(&st); mode != 0o700 {
				t.Errorf("%s was created with mode %04o, want 0700", p, mode)
			}
		}
	}
}

func TestOpenDirCreatesOnceForMany(t *testing.T) {
	t.Parallel()
	path := privateDir(t) + "/a/b/c/d/work"
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			d, err := OpenDir(path)
			if err != nil {
				t.Error(err)
				return
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestOpenDirTellsWhatTheSystemSaid(t *testing.T) {
	t.Parallel()
	base := privateDir(t)
	_, err := ReadFile(base+"/missing/file", 10)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that the folder does not exist", err)
	}
	wantNames(t, base)
}

func TestDirStaysTheSameFolder(t *testing.T) {
	t.Parallel()
	base := privateDir(t)
	d, err := OpenDir(base + "/work")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if err := os.Rename(base+"/work", base+"/moved"); err != nil {
		t.Fatal(err)
	}
	mkdir(t, base+"/work", 0o700)
	if err := d.Create("file", []byte("x")); err != nil {
		t.Fatal(err)
	}
	wantNames(t, base+"/work")
	wantNames(t, base+"/moved", "file")
}

func symlink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func fifo(t *testing.T, path string) {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

// tree spells every entry below path with its mode.
func tree(t *testing.T, path string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		b.WriteString(info.Mode().String() + " " + p + "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What is too long for a path may be the secret content of a file.
func TestWhatIsNoPathIsNotShown(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/" + strings.Repeat("hunter2", 40), strings.Repeat("/hunter2", 600)} {
		_, opened := OpenDir(path)
		_, read := ReadFile(path, 1)
		for _, err := range []error{opened, read} {
			if v, ok := errors.AsType[*Violation](err); !ok || strings.Contains(err.Error()+v.Fix, "hunter2") || !strings.Contains(err.Error(), "is none") {
				t.Errorf("%.200v", err)
			}
		}
	}
}
