package private

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// cases of files that are not private, for everything that opens one.
var notPrivate = []struct {
	name    string
	root    bool
	arrange func(t *testing.T, path string)
	says    string
}{
	{"a symbolic link", false, func(t *testing.T, path string) {
		write(t, path+".target", "x", 0o600)
		symlink(t, path+".target", path)
	}, "is a symbolic link"},
	{"a symbolic link to nowhere", false, func(t *testing.T, path string) { symlink(t, "nowhere", path) }, "is a symbolic link"},
	{"a folder", false, func(t *testing.T, path string) { mkdir(t, path, 0o700) }, "is a folder"},
	{"a FIFO", false, fifo, "is a FIFO"},
	{"a socket", false, socket, "is a socket"},
	{"a file that others can read", false, func(t *testing.T, path string) { write(t, path, "x", 0o644) }, "mode 0644, must have 0600"},
	{"a file that nobody can read", false, func(t *testing.T, path string) { write(t, path, "x", 0) }, "mode 0000, must have 0600"},
	{"a read-only file", false, func(t *testing.T, path string) { write(t, path, "x", 0o400) }, "mode 0400, must have 0600"},
	{"a set-user-id file", false, func(t *testing.T, path string) { write(t, path, "x", 0o4600) }, "mode 4600, must have 0600"},
	{"a file with two links", false, func(t *testing.T, path string) {
		write(t, path, "x", 0o600)
		if err := os.Link(path, path+".other"); err != nil {
			t.Fatal(err)
		}
	}, "has 2 links"},
	{"a file of another user", true, func(t *testing.T, path string) { giveAway(t, write(t, path, "x", 0o600)) }, "belongs to uid 54321"},
	{"a file that is too large", false, func(t *testing.T, path string) {
		write(t, path, "", 0o600)
		if err := os.Truncate(path, 1<<40); err != nil {
			t.Fatal(err)
		}
	}, "has 1099511627776 bytes, at most"},
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range notPrivate {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.root && !isRoot() {
				t.Skip("left out: only root can give a file to another user")
			}
			d := openNew(t)
			path := d.Path() + "/file"
			c.arrange(t, path)
			_, err := d.Read("file", 100)
			wantViolation(t, err, path, c.says)
			_, err = ReadFile(path, 100)
			wantViolation(t, err, path, c.says)
		})
	}
}

func TestReadBounds(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	for name, size := range map[string]int{"empty": 0, "one": 1, "almost": 99, "full": 100} {
		write(t, d.Path()+"/"+name, strings.Repeat("x", size), 0o600)
		data, err := d.Read(name, 100)
		if err != nil || len(data) != size {
			t.Errorf("%s: got %d bytes and error %v, want %d", name, len(data), err, size)
		}
	}
	write(t, d.Path()+"/over", strings.Repeat("x", 101), 0o600)
	_, err := d.Read("over", 100)
	wantViolation(t, err, d.Path()+"/over", "has 101 bytes, at most 100 are allowed")
}

func TestReadMissing(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	if _, err := d.Read("missing", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that it does not exist", err)
	}
	if _, err := ReadFile(d.Path()+"/missing", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that it does not exist", err)
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	dir := privateDir(t)
	path := write(t, dir+"/config", "content", 0o600)
	data, err := ReadFile(path, 1<<20)
	if err != nil || string(data) != "content" {
		t.Fatalf("got %q and error %v", data, err)
	}
	chmod(t, dir, 0o755)
	_, err = ReadFile(path, 1<<20)
	wantViolation(t, err, dir, "mode 0755, must have 0700")
	for _, path := range []string{"config", dir + "/../config", "/config"} {
		if _, err := ReadFile(path, 1<<20); err == nil {
			t.Errorf("%s is accepted", path)
		}
	}
	wantNames(t, dir, "config")
}

// TestReadWhileWritten reads a file that another one keeps changing: what is
// read is one of its states, or the change is noticed.
func TestReadWhileWritten(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	path := write(t, d.Path()+"/file", "", 0o600)
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = f.Close() }()
		block := bytes.Repeat([]byte("x"), 64<<10)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			var err error
			if i%8 == 7 {
				err = f.Truncate(0)
			} else {
				_, err = f.WriteAt(block, int64(i%8)<<16)
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	noticed := 0
	for deadline := time.Now().Add(10 * time.Second); noticed < 5 && time.Now().Before(deadline); {
		data, err := d.Read("file", 1<<20)
		switch {
		case err != nil:
			wantViolation(t, err, path, "was changed while it was read")
			noticed++
		case len(data)%(64<<10) != 0:
			t.Fatalf("read %d bytes, no state that the file ever had", len(data))
		}
	}
	close(stop)
	writer.Wait()
	if noticed == 0 {
		t.Error("not one change was noticed in 10 s")
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	for _, name := range []string{"", ".", "..", "a/b", "/etc/passwd", "../x", "a\x00b"} {
		for what, do := range map[string]func() error{
			"Read":   func() error { _, err := d.Read(name, 1); return err },
			"Create": func() error { return d.Create(name, nil) },
			"Lock":   func() error { return d.Lock(name) },
		} {
			if _, ok := errors.AsType[*Violation](do()); !ok {
				t.Errorf("%s takes the name %q", what, name)
			}
		}
	}
	wantNames(t, d.Path())
}

// socket makes a socket with a short path: the system bounds its length.
func socket(t *testing.T, path string) {
	t.Helper()
	short, err := os.MkdirTemp("/tmp", "s") //nolint:usetesting // its paths are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short + "/s", Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if err := os.Rename(short+"/s", path); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, 0o600)
}
