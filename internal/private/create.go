package private

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Create makes a private file with the given content, whole and durable or not
// at all: it is written under a temporary name, flushed to the disk and then
// renamed, and the folder is flushed too. That is two flushes (fsync(2)).
//
// A name that is taken is [fs.ErrExist], and nothing is changed. On a file
// system that has no rename that replaces nothing, that holds only as long as
// every process takes the lock first. After any other error the file is there
// whole or not at all.
func (d *Dir) Create(name string, data []byte) error {
	if err := checkName(name); err != nil {
		return err
	}
	temp := temporaryName(name)
	f, err := openAt(d.dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return err
	}
	err = d.fill(f, data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = d.place(temp, name)
	}
	if err != nil {
		// The first error is the one that matters. What cannot be removed now is
		// removed when the folder is next opened.
		_ = removeAt(d.dir, temp)
		return err
	}
	return d.Sync()
}

func (d *Dir) fill(f *os.File, data []byte) error {
	// The umask may have taken bits away.
	if err := f.Chmod(fileMode); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	return d.sync(f)
}

// place gives a finished file its name, unless that is taken.
func (d *Dir) place(temp, name string) error {
	err := uninterrupted(func() error { return d.rename(d.dir, temp, name) })
	if unsupported(err) {
		if _, err = statAt(d.dir, name); err == nil {
			err = unix.EEXIST
		} else if errors.Is(err, fs.ErrNotExist) {
			err = uninterrupted(func() error {
				return unix.Renameat(descriptor(d.dir), temp, descriptor(d.dir), name)
			})
		}
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: within(d.dir, temp), New: within(d.dir, name), Err: err}
	}
	return nil
}

// unsupported reports whether the system or the file system does not know how
// to rename without replacing (rename(2), ERRORS).
func unsupported(err error) bool {
	return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP)
}

// temporaryName names a file in the making: hidden, and tied to the process so
// that people can see what left it behind.
func temporaryName(name string) string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	return fmt.Sprintf(".%s.tmp-%d-%s", name, os.Getpid(), hex.EncodeToString(random[:]))
}
