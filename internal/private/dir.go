package private

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

// Dir is a private folder that is held open. What is done through it is done in
// that very folder, whatever becomes of its path. Its methods may be called
// concurrently; [Dir.Close] ends all of them.
type Dir struct {
	dir  *os.File
	lock *os.File

	// Seams for tests: what makes things durable, and the rename that fails
	// with EEXIST rather than replace something.
	sync   func(*os.File) error
	rename func(dir *os.File, from, to string) error
}

// OpenDir opens the private folder at path, after it and every folder on the
// way were held against the package's rules. Components that are missing at the
// end of the path are created, each with mode 0700.
//
// The error is a [*Violation], or one of the operating system's.
func OpenDir(path string) (*Dir, error) { return openDir(path, true) }

func openDir(path string, create bool) (*Dir, error) {
	dir, err := walk(path, create)
	if err != nil {
		return nil, err
	}
	return &Dir{dir: dir, sync: (*os.File).Sync, rename: renameNoReplace}, nil
}

// Path returns the path that the folder was opened by.
func (d *Dir) Path() string { return d.dir.Name() }

// Sync makes the names in the folder durable.
func (d *Dir) Sync() error { return d.sync(d.dir) }

// Close gives up the folder, and the lock when there is one.
func (d *Dir) Close() error {
	var err error
	if d.lock != nil {
		err = unlock(d.lock)
	}
	return errors.Join(err, d.dir.Close())
}

// temporary matches the names that [Dir.Create] gives to files in the making.
var temporary = regexp.MustCompile(`^\..+\.tmp-[0-9]+-[0-9a-f]{16}$`)

// RemoveTemporary removes what killed processes left of files in the making.
// A folder of such a name stays: it was not made here, and harms nothing. Call it with the lock held: without it, another process may be making one.
func (d *Dir) RemoveTemporary() error {
	// A second descriptor, because reading a folder moves the first one's offset.
	list, err := openAt(d.dir, ".", openFolder)
	if err != nil {
		return err
	}
	names, err := list.Readdirnames(-1)
	_ = list.Close()
	if err != nil {
		return err
	}
	for _, name := range names {
		if !temporary.MatchString(name) {
			continue
		}
		st, err := statAt(d.dir, name)
		if err == nil && kindOf(st) != unix.S_IFDIR {
			err = removeAt(d.dir, name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// checkName refuses what is not the name of one entry.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return &Violation{"the file name", "must be a single name, without a slash", "Give another name"}
	}
	return nil
}
