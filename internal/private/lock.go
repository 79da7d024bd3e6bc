package private

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ErrLocked says that another process, or another [Dir] of this one, holds the
// lock.
var ErrLocked = errors.New("locked by another process")

// Lock takes an exclusive lock on the named file in the folder and holds it
// until [Dir.Close], or until the process ends in whatever way (flock(2)). The
// file is created when it is missing, and stays.
//
// The error is [ErrLocked], at once, when somebody else has it; a [*Violation]
// when the file is not private; or one of the operating system's.
func (d *Dir) Lock(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	f, err := d.openLock(name)
	if err != nil {
		return err
	}
	err = uninterrupted(func() error { return unix.Flock(descriptor(f), unix.LOCK_EX|unix.LOCK_NB) })
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		err = ErrLocked
	case err != nil:
		err = &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	default:
		err = checkLock(f)
	}
	if err != nil {
		_ = unlock(f)
		return err
	}
	d.lock = f
	return nil
}

func (d *Dir) openLock(name string) (*os.File, error) {
	f, err := openAt(d.dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
	if err == nil {
		// The umask may have taken bits away.
		if err := f.Chmod(fileMode); err != nil {
			_ = f.Close()
			return nil, err
		}
		return f, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	f, err = openAt(d.dir, name, unix.O_RDWR|unix.O_NONBLOCK)
	if err != nil {
		if st, statErr := statAt(d.dir, name); statErr == nil {
			if v := checkFile(within(d.dir, name), st, maxLock); v != nil {
				return nil, v
			}
		}
		return nil, err
	}
	return f, nil
}

// unlock gives up the lock and closes its file. Closing alone would not do: a
// child that was just forked has a copy of the descriptor until it executes its
// program, and the lock would last until then.
func unlock(f *os.File) error {
	err := uninterrupted(func() error { return unix.Flock(descriptor(f), unix.LOCK_UN) })
	if err != nil {
		err = &fs.PathError{Op: "unlock", Path: f.Name(), Err: err}
	}
	return errors.Join(err, f.Close())
}

// maxLock bounds a lock file; what is in it does not matter.
const maxLock = 1 << 20

// checkLock is done with the lock held: a file that was removed in the meantime
// has no link any more, and locking it excludes nobody.
func checkLock(f *os.File) error {
	st, err := stat(f)
	if err != nil {
		return err
	}
	return checkFile(f.Name(), st, maxLock)
}
