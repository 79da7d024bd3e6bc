package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	for _, content := range []string{"", "x", strings.Repeat("long", 1<<18)} {
		name := fmt.Sprintf("file-%d", len(content))
		if err := d.Create(name, []byte(content)); err != nil {
			t.Fatal(err)
		}
		data, err := d.Read(name, 1<<20)
		if err != nil || string(data) != content {
			t.Errorf("%s: got %d bytes and error %v, want %d", name, len(data), err, len(content))
		}
	}
	wantNames(t, d.Path(), "file-0", "file-1", "file-1048576")
}

func TestCreateReplacesNothing(t *testing.T) {
	t.Parallel()
	for name, rename := range renames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []func(t *testing.T, path string){
				func(t *testing.T, path string) { write(t, path, "first", 0o600) },
				func(t *testing.T, path string) { symlink(t, "nowhere", path) },
				func(t *testing.T, path string) { mkdir(t, path, 0o700) },
			} {
				d := openNew(t)
				d.rename = rename
				c(t, d.Path()+"/file")
				before := tree(t, d.Path())
				if err := d.Create("file", []byte("second")); !errors.Is(err, fs.ErrExist) {
					t.Errorf("got %v, want that it exists", err)
				}
				if after := tree(t, d.Path()); after != before {
					t.Errorf("the folder was changed:\nbefore %s\nafter  %s", before, after)
				}
			}
		})
	}
}

// TestCreateOneWins has many create the same file at once, with the real
// rename: one does, all others learn that it exists.
func TestCreateOneWins(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	for round := range 20 {
		name := fmt.Sprintf("file-%d", round)
		var won atomic.Int32
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				switch err := d.Create(name, fmt.Appendf(nil, "%d", i)); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, fs.ErrExist):
					t.Error(err)
				}
			})
		}
		group.Wait()
		if won.Load() != 1 {
			t.Errorf("%s was created %d times", name, won.Load())
		}
	}
	if entries, err := os.ReadDir(d.Path()); err != nil || len(entries) != 20 {
		t.Errorf("the folder holds %d entries (error %v), want 20", len(entries), err)
	}
}

// TestCreateFlushes counts what makes a file durable: itself before it gets its
// name, and the folder after.
func TestCreateFlushes(t *testing.T) {
	t.Parallel()
	for name, rename := range renames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openNew(t)
			var order []string
			d.sync = func(f *os.File) error {
				st, err := stat(f)
				if err != nil {
					return err
				}
				order = append(order, fmt.Sprintf("flush %d", st.Ino))
				return f.Sync()
			}
			d.rename = func(dir *os.File, from, to string) error {
				order = append(order, "rename")
				return rename(dir, from, to)
			}
			if err := d.Create("file", []byte("x")); err != nil {
				t.Fatal(err)
			}
			file, errF := statAt(d.dir, "file")
			folder, errD := stat(d.dir)
			if errF != nil || errD != nil {
				t.Fatal(errF, errD)
			}
			want := []string{fmt.Sprintf("flush %d", file.Ino), "rename", fmt.Sprintf("flush %d", folder.Ino)}
			if fmt.Sprint(order) != fmt.Sprint(want) {
				t.Errorf("got %v, want %v", order, want)
			}
		})
	}
}

func TestCreateFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		arrange func(d *Dir)
		left    []string
	}{
		"when the file cannot be flushed": {func(d *Dir) {
			d.sync = func(*os.File) error { return syscall.EIO }
		}, nil},
		"when it cannot be renamed": {func(d *Dir) {
			d.rename = func(*os.File, string, string) error { return syscall.EIO }
		}, nil},
		// By then the name is there, and it may or may not outlive a power failure.
		"when the folder cannot be flushed": {func(d *Dir) {
			flushes := 0
			d.sync = func(*os.File) error {
				if flushes++; flushes == 2 {
					return syscall.EIO
				}
				return nil
			}
		}, []string{"file"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openNew(t)
			c.arrange(d)
			if err := d.Create("file", []byte("x")); !errors.Is(err, syscall.EIO) {
				t.Errorf("got %v, want the system's own error", err)
			}
			wantNames(t, d.Path(), c.left...)
		})
	}
}

func TestCreateInRemovedFolder(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	if err := os.Remove(d.Path()); err != nil {
		t.Fatal(err)
	}
	if err := d.Create("file", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that the folder does not exist", err)
	}
}

func TestRemoveTemporary(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	kept := []string{
		".checkpoint.lock", ".file.tmp", ".file.tmp-1-0123456789abcdef.json", ".file.tmp-1-xyz", "file.tmp-1-0123456789abcdef",
	}
	for _, name := range append([]string{".file.tmp-1-0123456789abcdef", temporaryName("other.json")}, kept...) {
		write(t, d.Path()+"/"+name, "", 0o600)
	}
	symlink(t, d.Path()+"/.checkpoint.lock", d.Path()+"/.link.tmp-1-0123456789abcdef")
	folder := ".folder.tmp-1-0123456789abcdef"
	if err := os.Mkdir(d.Path()+"/"+folder, 0o700); err != nil {
		t.Fatal(err)
	}
	kept = append(kept, folder)
	for range 2 { // it can be done again
		if err := d.RemoveTemporary(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(kept)
		wantNames(t, d.Path(), kept...)
	}
}

// renames returns the system's own rename and the ones of file systems that
// cannot tell it to replace nothing.
func renames() map[string]func(*os.File, string, string) error {
	all := map[string]func(*os.File, string, string) error{"as the system does": renameNoReplace}
	for _, errno := range []syscall.Errno{unix.ENOSYS, unix.EINVAL, unix.ENOTSUP} {
		all["answered "+errno.Error()] = func(*os.File, string, string) error { return errno }
	}
	return all
}
