package private

import (
	"os"

	"golang.org/x/sys/unix"
)

// passFolder opens a folder to be looked at and gone through.
const passFolder = unix.O_RDONLY | unix.O_DIRECTORY

// renameNoReplace renames within a folder and fails with EEXIST when the new
// name is taken.
func renameNoReplace(dir *os.File, from, to string) error {
	return unix.RenameatxNp(descriptor(dir), from, descriptor(dir), to, unix.RENAME_EXCL)
}
