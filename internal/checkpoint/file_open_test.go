package checkpoint

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/private"
)

func TestOpenFolderRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		arrange func(t *testing.T, base string) string
		says    []string // {base} stands for the folder of the test
	}{
		"a relative path": {func(*testing.T, string) string { return "work" }, []string{"work is not an absolute path"}},
		"a way up": {func(_ *testing.T, base string) string { return base + "/../work" },
			[]string{"{base}/../work is not a clean path"}},
		"an open folder": {func(t *testing.T, base string) string {
			must(t, os.Mkdir(base+"/work", 0o700))
			must(t, unix.Chmod(base+"/work", 0o755))
			return base + "/work"
		}, []string{"{base}/work has mode 0755, must have 0700", "chmod 0700 {base}/work"}},
		"an ancestor that can be replaced": {func(t *testing.T, base string) string {
			must(t, os.Mkdir(base+"/mount", 0o700))
			must(t, unix.Chmod(base+"/mount", 0o777))
			return base + "/mount/a/work"
		}, []string{"{base}/mount has mode 0777", "chmod go-w {base}/mount"}},
		"a symbolic link": {func(t *testing.T, base string) string {
			must(t, os.Symlink(base, base+"/link"))
			return base + "/link/work"
		}, []string{"{base}/link is a symbolic link"}},
		"a long name": {func(_ *testing.T, base string) string { return base + "/" + strings.Repeat("n", 300) },
			[]string{"a name of more than 255", "Give an absolute path"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := workFolder(t)
			path := c.arrange(t, base)
			f, err := OpenFolder(path)
			if err == nil {
				_ = f.Close()
			}
			says := make([]string, len(c.says))
			for i, part := range c.says {
				says[i] = strings.ReplaceAll(part, "{base}", base)
			}
			wantFailure(t, err, failure.ConfigInvalid, "", says...)
		})
	}
}

// TestOpenFolderOfRunner opens what a runner mounts into a container: a folder
// of another user.
func TestOpenFolderOfRunner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("left out: only root can give a folder to another user; package private tests the rule itself")
	}
	home := workFolder(t) + "/home"
	must(t, os.Mkdir(home, 0o755))
	must(t, os.Chown(home, 1001, 1001))
	for _, path := range []string{home, home + "/work"} {
		_, err := OpenFolder(path)
		wantFailure(t, err, failure.ConfigInvalid, "", home+" belongs to uid 1001", "HOME, RUNNER_TEMP")
	}
	if left := files(t, home); len(left) != 0 {
		t.Errorf("a refused folder was changed: %v", left)
	}
}

func TestOpenFolderCodesTheSystemsErrors(t *testing.T) {
	t.Parallel()
	for _, errno := range []syscall.Errno{syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.ENAMETOOLONG} {
		err := openFailure("/work", &os.PathError{Op: "mkdir", Path: "/work", Err: errno})
		wantFailure(t, err, failure.ConfigInvalid, "", errno.Error(), "can read and write")
		if !errors.Is(err, errno) {
			t.Errorf("%v hides its cause", err)
		}
	}
	for _, errno := range []syscall.Errno{syscall.EIO, syscall.EMFILE} {
		wantFailure(t, openFailure("/work", errno), failure.CheckpointStoreFailed, "", errno.Error())
	}
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		wantFailure(t, openFailure("/work", errno), failure.CheckpointStoreFailed, "", errno.Error(), "Make room")
		wantFailure(t, storeFailure("e.json", "storing e.json in", "/work", errno), failure.CheckpointStoreFailed, "e.json",
			"storing e.json in the work folder /work", "Make room")
	}
	wantFailure(t, lockFailure("/work", syscall.ENOLCK), failure.CheckpointStoreFailed, "", "locking the work folder /work")
	wantFailure(t, readFailure("e.json", "/work", syscall.EIO), failure.CheckpointStoreFailed, "e.json", "reading e.json in the work folder /work")
	wantFailure(t, lockFailure("/work", errors.Join(private.ErrLocked)), failure.CheckpointStoreFailed, "", "another run is using")
}

func TestOpenFolderRefusesTamperedLock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		arrange func(t *testing.T, path string)
		says    string
	}{
		"a symbolic link": {func(t *testing.T, path string) {
			writeFile(t, path+".target", "")
			must(t, os.Symlink(path+".target", path))
		}, "is a symbolic link"},
		"a hard link": {func(t *testing.T, path string) {
			writeFile(t, path, "")
			must(t, os.Link(path, path+".other"))
		}, "has 2 links"},
		"a mode": {func(t *testing.T, path string) {
			writeFile(t, path, "")
			must(t, unix.Chmod(path, 0o666))
		}, "has mode 0666"},
		"a FIFO": {func(t *testing.T, path string) { must(t, unix.Mkfifo(path, 0o600)) }, "is a FIFO"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := workFolder(t)
			c.arrange(t, path+"/"+lockName)
			_, err := OpenFolder(path)
			wantFailure(t, err, failure.CheckpointDiffers, lockName, path+"/"+lockName, c.says)
		})
	}
}

func TestOpenFolderTwice(t *testing.T) {
	t.Parallel()
	path := workFolder(t)
	f := openFolder(t, path)
	_, err := OpenFolder(path)
	wantFailure(t, err, failure.CheckpointStoreFailed, "",
		"another run is using the work folder "+path, "Wait until that run has ended", "do not remove its .checkpoint.lock")
	must(t, f.Put(t.Context(), job, record(t, Bind(execution(job)), Prepared)))
}

// TestOpenFolderCleansUp has it remove what a killed process left half written,
// and nothing else: not while another process is at work there either.
func TestOpenFolderCleansUp(t *testing.T) {
	t.Parallel()
	path := workFolder(t)
	left := path + "/." + job + ".json.tmp-4711-0123456789abcdef"
	writeFile(t, left, "{")
	writeFile(t, path+"/"+job+".json", "{}")
	writeFile(t, path+"/notes.txt", "kept")
	holder, err := private.OpenDir(path)
	must(t, err)
	must(t, holder.Lock(lockName))
	if _, err := OpenFolder(path); failure.CodeOf(err) != failure.CheckpointStoreFailed {
		t.Fatalf("got %v, want that the folder is in use", err)
	}
	if _, err := os.Lstat(left); err != nil {
		t.Errorf("the other process's file is gone: %v", err)
	}
	must(t, holder.Close())
	f := openFolder(t, path)
	have := files(t, f.Path())
	if len(have) != 2 || have["notes.txt"] != "kept" || have[job+".json"] != "{}" {
		t.Errorf("the folder holds %v", have)
	}
}
