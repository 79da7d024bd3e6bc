package private

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// descriptor is what openat takes for a folder.
func descriptor(f *os.File) int { return int(f.Fd()) }

// uninterrupted repeats a call that a signal cut short. The Go runtime asks
// the kernel to restart calls, but some file systems (FUSE, NFS) do not.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// openRoot opens the folder that every path begins with, to go through it.
func openRoot() (*os.File, error) {
	var fd int
	err := uninterrupted(func() (err error) {
		fd, err = unix.Open("/", passFolder|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: "/", Err: err}
	}
	return os.NewFile(uintptr(fd), "/"), nil
}

// openAt opens an entry of a folder, never through a symbolic link.
func openAt(dir *os.File, name string, flags int) (*os.File, error) {
	var fd int
	err := uninterrupted(func() (err error) {
		fd, err = unix.Openat(descriptor(dir), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, fileMode)
		return err
	})
	path := within(dir, name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// statAt returns the status of an entry of a folder, of a symbolic link itself.
func statAt(dir *os.File, name string) (*unix.Stat_t, error) {
	var st unix.Stat_t
	err := uninterrupted(func() error {
		return unix.Fstatat(descriptor(dir), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: within(dir, name), Err: err}
	}
	return &st, nil
}

func stat(f *os.File) (*unix.Stat_t, error) {
	var st unix.Stat_t
	if err := uninterrupted(func() error { return unix.Fstat(descriptor(f), &st) }); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return &st, nil
}

func removeAt(dir *os.File, name string) error {
	err := uninterrupted(func() error { return unix.Unlinkat(descriptor(dir), name, 0) })
	if err != nil {
		return &fs.PathError{Op: "remove", Path: within(dir, name), Err: err}
	}
	return nil
}

// within spells the path of an entry for messages.
func within(dir *os.File, name string) string {
	if name == "." {
		return dir.Name()
	}
	if dir.Name() == "/" {
		return "/" + name
	}
	return dir.Name() + "/" + name
}
