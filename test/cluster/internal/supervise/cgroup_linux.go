package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// cgroup is the parent of all pods' cgroups of one cluster, in every hierarchy
// that the machine has. Each is locked while the supervisor lives.
type cgroup struct {
	name  string
	locks []*os.File
}

func newCgroup(name string) (*cgroup, error) {
	roots, err := hierarchies()
	if err != nil {
		return nil, err
	}
	c := &cgroup{name: name}
	for _, root := range roots {
		if err := c.make(root); err != nil {
			return nil, errors.Join(fmt.Errorf("could not make the cgroup %s: %w", filepath.Join(root, name), err), c.remove())
		}
	}
	return c, nil
}

func (c *cgroup) make(root string) error {
	dir := filepath.Join(root, c.name)
	for range 10 {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		lock, err := lockFolder(dir)
		if err != nil {
			time.Sleep(time.Millisecond) // a sweep of another supervisor got between
			continue
		}
		c.locks = append(c.locks, lock)
		return inheritCPUSet(root, dir)
	}
	return ErrInUse
}

// inheritCPUSet gives a cgroup of version 1 the processors of its parent: it
// has none of its own, and nothing could run in it.
func inheritCPUSet(root, dir string) error {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		have, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || len(bytes.TrimSpace(have)) > 0 {
			continue
		}
		if parent, err := os.ReadFile(filepath.Join(root, name)); err == nil && len(bytes.TrimSpace(parent)) > 0 {
			if err := os.WriteFile(filepath.Join(dir, name), parent, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove removes the cgroups. The kernel refuses for a moment after the last
// process has ended.
func (c *cgroup) remove() error {
	var err error
	for _, lock := range c.locks {
		err = errors.Join(err, removeCgroup(lock.Name()))
		lock.Close()
	}
	return err
}

// removeCgroup can do no harm to others: a cgroup that has processes in it
// cannot be removed.
func removeCgroup(dir string) error {
	var err error
	for wait := time.Millisecond; wait < 2*time.Second; wait *= 2 {
		var dirs []string
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		slices.Reverse(dirs)
		err = nil
		for _, d := range dirs {
			if e := syscall.Rmdir(d); e != nil && e != syscall.ENOENT {
				err = fmt.Errorf("could not remove the cgroup %s: %w", d, e)
			}
		}
		if err == nil {
			return nil
		}
		time.Sleep(wait)
	}
	return err
}

func sweepCgroups() {
	roots, err := hierarchies()
	if err != nil {
		return
	}
	for _, root := range roots {
		left, _ := filepath.Glob(filepath.Join(root, Prefix+"*"))
		for _, dir := range left {
			if lock, err := lockFolder(dir); err == nil {
				_ = removeCgroup(dir)
				lock.Close()
			}
		}
	}
}

// hierarchies lists the mount points of all cgroup hierarchies.
func hierarchies() ([]string, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range strings.Lines(string(b)) {
		// 31 23 0:28 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
		before, after, _ := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if len(fields) > 4 && len(kind) > 0 && (kind[0] == "cgroup" || kind[0] == "cgroup2") {
			all = append(all, fields[4])
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no cgroup hierarchy is mounted: a real node needs one")
	}
	return all, nil
}
