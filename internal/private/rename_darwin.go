package private

import (
	"os"

	"golang.org/x/sys/unix"
)

// renameNoReplace renames within a folder and fails with EEXIST when the new
// name is taken.
func renameNoReplace(dir *os.File, from, to string) error {
	return unix.RenameatxNp(descriptor(dir), from, descriptor(dir), to, unix.RENAME_EXCL)
}
