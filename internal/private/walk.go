package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// openFolder opens a folder to be read and flushed.
const openFolder = unix.O_RDONLY | unix.O_DIRECTORY

// walk opens a private folder, coming from the root and holding every folder on
// the way against the rules. With create, components that are missing at the
// end of the path are made.
func walk(path string, create bool) (*os.File, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	here, err := openRoot()
	if err != nil {
		return nil, err
	}
	check := checkAncestor
	names := strings.Split(path[1:], "/")
	for i := 0; ; i++ {
		if i == len(names) {
			check = checkFolder
		}
		st, err := stat(here)
		if err == nil {
			err = check(here.Name(), st)
		}
		if err == nil && i == len(names) {
			return here, nil
		}
		var next *os.File
		if err == nil {
			// What is only on the way need not be readable, and often is not for
			// anybody but root.
			how := passFolder
			if i == len(names)-1 {
				how = openFolder
			}
			next, err = enter(here, names[i], how, create)
		}
		_ = here.Close() // nothing was written through it
		if err != nil {
			return nil, err
		}
		here = next
	}
}

func checkPath(path string) error {
	const fix = "Give an absolute path as it is spelt by realpath(1), without . and .. and without a slash at its end"
	switch {
	case path == "":
		return &Violation{"the path", "is empty", fix}
	case strings.ContainsRune(path, 0):
		return &Violation{"the path", "holds a NUL", fix}
	case tooLong(path):
		// Not shown: what is no path may be the content that was wanted from it.
		return &Violation{"the path", fmt.Sprintf("is none: it has %d bytes, or a name of more than %d in it", len(path), maxName), fix}
	case !filepath.IsAbs(path):
		return &Violation{path, "is not an absolute path", fix}
	case filepath.Clean(path) != path:
		return &Violation{path, "is not a clean path", fix}
	case path == "/":
		return &Violation{path, "cannot be a private folder", fix}
	}
	return nil
}

// What Linux and macOS take at most, in bytes (limits.h(0p), PATH_MAX and NAME_MAX).
const (
	maxPath = 4095
	maxName = 255
)

func tooLong(path string) bool {
	return len(path) > maxPath || slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool { return len(name) > maxName })
}

// enter opens a folder in a folder as the flags say, or makes it.
func enter(parent *os.File, name string, flags int, create bool) (*os.File, error) {
	next, err := openAt(parent, name, flags)
	switch {
	case err == nil:
		return next, nil
	case create && errors.Is(err, fs.ErrNotExist):
		return makeFolder(parent, name)
	}
	// The errno of a symbolic link differs between systems; the status does not.
	st, statErr := statAt(parent, name)
	if statErr != nil {
		return nil, err
	}
	switch kind := kindOf(st); kind {
	case unix.S_IFDIR:
		return nil, err
	case unix.S_IFLNK:
		return nil, &Violation{within(parent, name), "is a symbolic link",
			"Give the path that it leads to, as it is spelt by realpath(1)"}
	default:
		return nil, &Violation{within(parent, name), "is " + kindName(kind) + ", must be a folder", "Give another path"}
	}
}

// makeFolder makes a private folder durably. One that another process made in
// the meantime is fine; the caller checks it like any other.
func makeFolder(parent *os.File, name string) (*os.File, error) {
	// The one there is may not be good for flushing. It comes first: what was
	// made and cannot be made durable would be taken for durable by the next run.
	parent, err := openAt(parent, ".", openFolder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = parent.Close() }()
	err = uninterrupted(func() error { return unix.Mkdirat(descriptor(parent), name, folderMode) })
	made := err == nil
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, &fs.PathError{Op: "mkdir", Path: within(parent, name), Err: err}
	}
	folder, err := openAt(parent, name, openFolder)
	if err != nil {
		return nil, err
	}
	if made {
		// The umask takes bits away and a set-group-id parent adds one.
		if err = folder.Chmod(folderMode); err == nil {
			err = parent.Sync()
		}
		if err != nil {
			_ = folder.Close()
			return nil, err
		}
	}
	return folder, nil
}
