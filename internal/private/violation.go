// Package private reads and writes files that belong to one user alone, in
// folders that nobody else can change or exchange.
//
// The rules are those that sshd's StrictModes made common (sshd_config(5)), a
// little stricter:
//
//   - a path is absolute and clean, and nothing on it is a symbolic link;
//   - every folder on the way belongs to root or to the effective user, and
//     nobody else can write to it, unless its sticky bit keeps entries safe;
//   - a private folder belongs to the effective user and has mode 0700;
//   - a private file is a regular file of the effective user with mode 0600,
//     one link and a bounded size.
//
// Paths are walked with a descriptor held at each step (openat(2) with
// O_NOFOLLOW), so what was checked is what is used.
package private

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Violation is a file or folder that breaks one of the package's rules. Every
// other error of the package is one of the operating system's.
type Violation struct { //nolint:errname // what it is; an operating system's error is none
	// Path is the file or folder at fault: one component of the path given.
	Path string
	// Problem says what is wrong with it and what is asked for.
	Problem string
	// Fix says what the user can do.
	Fix string
}

// Error names the path and what is wrong with it.
func (v *Violation) Error() string { return v.Path + " " + v.Problem }

const (
	folderMode = 0o700
	fileMode   = 0o600

	// othersWrite are the mode bits that let somebody else change a folder.
	othersWrite = 0o022
)

// permissions returns the mode bits that chmod(2) sets.
func permissions(st *unix.Stat_t) uint32 { return mode(st) & 0o7777 }

// kindOf returns the mode bits that tell a file from a folder and the rest.
func kindOf(st *unix.Stat_t) uint32 { return mode(st) & unix.S_IFMT }

func mode(st *unix.Stat_t) uint32 {
	return uint32(st.Mode) //nolint:unconvert // it has 16 bits on darwin
}

// ownerFix is what there is to do about a folder of another user. It names the
// case that people meet: a container action's mounts are made by the runner.
const ownerFix = "Choose a place whose folders belong to root or to the user this runs as; " +
	"what a CI runner mounts into a container (HOME, RUNNER_TEMP and the workspace among it) belongs to another user"

// checkAncestor holds a folder on the way to a private one against the rules.
func checkAncestor(path string, st *unix.Stat_t) error {
	switch mode := permissions(st); {
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return &Violation{path, fmt.Sprintf("belongs to uid %d, must belong to %s", st.Uid, rootOrUs()), ownerFix}
	case mode&othersWrite != 0 && mode&unix.S_ISVTX == 0:
		return &Violation{path,
			fmt.Sprintf("has mode %04o: other users can exchange what is in it", mode),
			fmt.Sprintf("Take the write permission from them (chmod go-w %s), or choose another place", path)}
	}
	return nil
}

// checkFolder holds a private folder itself against the rules.
func checkFolder(path string, st *unix.Stat_t) error {
	switch mode := permissions(st); {
	case int(st.Uid) != os.Geteuid():
		return &Violation{path, fmt.Sprintf("belongs to uid %d, must belong to %s", st.Uid, us()), ownerFix}
	case mode != folderMode:
		return &Violation{path, fmt.Sprintf("has mode %04o, must have %04o", mode, folderMode),
			fmt.Sprintf("Make it private (chmod %04o %s)", folderMode, path)}
	}
	return nil
}

// checkFile holds a private file against the rules.
func checkFile(path string, st *unix.Stat_t, maxBytes int64) error {
	refuse := func(format string, args ...any) error {
		return &Violation{path, fmt.Sprintf(format, args...),
			fmt.Sprintf("Make it a regular file of your own with mode %04o and no other link, at most %d bytes long", fileMode, maxBytes)}
	}
	if kind := kindOf(st); kind != unix.S_IFREG {
		return refuse("is %s, must be a regular file", kindName(kind))
	}
	switch mode := permissions(st); {
	case int(st.Uid) != os.Geteuid():
		return refuse("belongs to uid %d, must belong to %s", st.Uid, us())
	case mode != fileMode:
		return refuse("has mode %04o, must have %04o", mode, fileMode)
	case st.Nlink != 1:
		return refuse("has %d links, must have 1", st.Nlink)
	case st.Size > maxBytes:
		return refuse("has %d bytes, at most %d are allowed", st.Size, maxBytes)
	}
	return nil
}

func us() string { return fmt.Sprintf("uid %d, the user this runs as", os.Geteuid()) }

func rootOrUs() string {
	if os.Geteuid() == 0 {
		return "root (uid 0), the user this runs as"
	}
	return "root or to " + us()
}

func kindName(kind uint32) string {
	switch kind {
	case unix.S_IFLNK:
		return "a symbolic link"
	case unix.S_IFDIR:
		return "a folder"
	case unix.S_IFIFO:
		return "a FIFO"
	case unix.S_IFSOCK:
		return "a socket"
	case unix.S_IFBLK, unix.S_IFCHR:
		return "a device"
	}
	return "no regular file"
}
