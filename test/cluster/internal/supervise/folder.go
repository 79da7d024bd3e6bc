package supervise

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Files of a cluster's folder that the supervisor writes. The first marks the
// folder as a cluster's: only such a folder is ever removed.
const (
	specFile  = "spec.json"
	ownerFile = "supervisor.json"
	readyFile = "ready.json"
)

// ErrInUse says that a live supervisor has the folder.
var ErrInUse = errors.New("a running cluster has this folder")

// folder is a cluster's folder, locked while its supervisor lives. The lock is
// the proof of life: the kernel drops it with the process, and unlike a process
// number it cannot come to mean somebody else.
type folder struct {
	path string
	id   string // a name that no other cluster of the moment has
	lock *os.File
}

// claim takes the folder at path, or makes a temporary one when path is empty.
func claim(path string) (*folder, error) {
	if path != "" {
		return claimGiven(path)
	}
	for range 10 {
		temp, err := os.MkdirTemp("", Prefix)
		if err != nil {
			return nil, err
		}
		if lock, err := lockFolder(temp); err == nil {
			return &folder{path: temp, id: temp, lock: lock}, nil
		} // a sweep of another supervisor got between: take another name
	}
	return nil, fmt.Errorf("could not make a folder in %s", os.TempDir())
}

func claimGiven(path string) (*folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockFolder(path)
	for range 20 {
		if !errors.Is(err, ErrInUse) {
			break
		}
		time.Sleep(10 * time.Millisecond) // somebody may only have looked, see Look
		lock, err = lockFolder(path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := empty(path); err != nil {
		lock.Close()
		return nil, err
	}
	id := fmt.Sprintf("%s%d-%s", Prefix, os.Getpid(), filepath.Base(path))
	return &folder{path: path, id: id, lock: lock}, os.Chmod(path, 0o700)
}

// empty empties a folder that a cluster left behind, and refuses any other.
func empty(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) == 0 {
		return err
	}
	if _, err := os.Stat(filepath.Join(path, specFile)); err != nil {
		return fmt.Errorf("%s is not empty and not a cluster's folder: give an empty one", path)
	}
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(path, e.Name())))
	}
	return err
}

// lockFolder locks a folder, and makes sure that it is still the one at path.
func lockFolder(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrInUse
		}
		return nil, fmt.Errorf("could not lock %s: %w", path, err)
	}
	ours, err1 := f.Stat()
	there, err2 := os.Stat(path)
	if err := errors.Join(err1, err2); err != nil || !os.SameFile(ours, there) {
		f.Close()
		return nil, fmt.Errorf("%s was replaced: %w", path, err)
	}
	return f, nil
}

// remove removes the folder and all in it.
func (f *folder) remove() error {
	defer f.lock.Close()
	return os.RemoveAll(f.path)
}

// Sweep removes what supervisors that were killed themselves left behind: their
// temporary folders and their cgroups. Their processes and mounts are gone with
// them. What belongs to a live one is locked.
func Sweep() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), Prefix+"*"))
	for _, path := range left {
		lock, err := lockFolder(path)
		if err != nil {
			continue
		}
		if empty(path) == nil {
			_ = os.Remove(path)
		}
		lock.Close()
	}
	sweepCgroups()
}
