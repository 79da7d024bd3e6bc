package private

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestLock(t *testing.T) {
	t.Parallel()
	path := privateDir(t)
	open := func() *Dir {
		t.Helper()
		d, err := OpenDir(path)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	first, second := open(), open()
	if err := first.Lock("lock"); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(path+"/lock", &st); err != nil {
		t.Fatal(err)
	}
	if mode := permissions(&st); mode != 0o600 {
		t.Errorf("the lock file has mode %04o, want 0600", mode)
	}
	start := time.Now()
	if err := second.Lock("lock"); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v, want that it is locked", err)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("that took %s", took)
	}
	if err := second.Lock("other"); err != nil {
		t.Errorf("another lock file is locked too: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	third := open()
	if err := third.Lock("lock"); err != nil {
		t.Errorf("the lock outlives its holder: %v", err)
	}
	for _, d := range []*Dir{second, third} {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestLockRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range notPrivate {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.root && !isRoot() {
				t.Skip("left out: only root can give a file to another user")
			}
			d := openNew(t)
			c.arrange(t, d.Path()+"/lock")
			wantViolation(t, d.Lock("lock"), d.Path()+"/lock", c.says)
		})
	}
}

// TestCloseUnlocksCopies has a copy of the lock's descriptor outlive Close, as
// in a child between fork and exec: the lock is free all the same.
func TestCloseUnlocksCopies(t *testing.T) {
	t.Parallel()
	path := privateDir(t)
	for range 2 {
		d, err := OpenDir(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Lock("lock"); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.FcntlInt(d.lock.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLockOfRemovedFile has the lock file removed between its opening and its
// locking: a lock on it would exclude nobody.
func TestLockOfRemovedFile(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	f, err := d.openLock("lock")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := os.Remove(d.Path() + "/lock"); err != nil {
		t.Fatal(err)
	}
	wantViolation(t, checkLock(f), d.Path()+"/lock", "has 0 links")
}
