package private

import (
	"os"

	"golang.org/x/sys/unix"
)

// passFolder opens a folder to be looked at and gone through, for which nobody
// has to be allowed to read it (open(2), O_PATH).
const passFolder = unix.O_PATH | unix.O_DIRECTORY

// renameNoReplace renames within a folder and fails with EEXIST when the new
// name is taken.
func renameNoReplace(dir *os.File, from, to string) error {
	return unix.Renameat2(descriptor(dir), from, descriptor(dir), to, unix.RENAME_NOREPLACE)
}
