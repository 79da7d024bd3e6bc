package private

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ReadFile returns the content of the private file at path. The file, its
// folder and every folder on the way are held against the package's rules, and
// it may have at most maxBytes bytes.
//
// The error is a [*Violation], or one of the operating system's; a file or
// folder that is not there is [fs.ErrNotExist].
func ReadFile(path string, maxBytes int64) ([]byte, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	d, err := openDir(filepath.Dir(path), false)
	if err != nil {
		return nil, err
	}
	data, err := d.Read(filepath.Base(path), maxBytes)
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return data, err
}

// Read returns the content of a private file in the folder, which may have at
// most maxBytes bytes.
//
// The error is a [*Violation], or one of the operating system's; a file that is
// not there is [fs.ErrNotExist].
func (d *Dir) Read(name string, maxBytes int64) ([]byte, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	// O_NONBLOCK: opening a FIFO must not wait for somebody to write to it.
	f, err := openAt(d.dir, name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		// What kept it from being opened may well be what is wrong with it.
		if st, statErr := statAt(d.dir, name); statErr == nil {
			if v := checkFile(within(d.dir, name), st, maxBytes); v != nil {
				return nil, v
			}
		}
		return nil, err
	}
	data, err := readChecked(f, maxBytes)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return data, err
}

func readChecked(f *os.File, maxBytes int64) ([]byte, error) {
	before, err := stat(f)
	if err != nil {
		return nil, err
	}
	if err := checkFile(f.Name(), before, maxBytes); err != nil {
		return nil, err
	}
	// One byte more than there should be: a file that grows is noticed and
	// never read without end.
	data := make([]byte, 0, before.Size+1)
	n, err := io.ReadFull(f, data[:cap(data)])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	after, err := stat(f)
	if err != nil {
		return nil, err
	}
	if int64(n) != before.Size || after.Size != before.Size || after.Mtim != before.Mtim {
		return nil, &Violation{f.Name(),
			fmt.Sprintf("was changed while it was read: %d bytes at first, then %d", before.Size, max(after.Size, int64(n))),
			"Find out what else writes to it, and run again"}
	}
	return data[:n], nil
}
