package private

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// asForeign has a test that root started once more, as another user, know what
// it is there for: it names the folder to work in.
const asForeign = "PRIVATE_TEST_AS_FOREIGN"

// Folders on the way to a private one are often root's own with mode 0711: gone
// through by everybody, read by nobody else.
func TestFoldersOnTheWayNeedNotBeReadable(t *testing.T) {
	t.Parallel()
	if base := os.Getenv(asForeign); base != "" {
		expectUsable(t, base+"/home/records")
		return
	}
	if !isRoot() {
		base := privateDir(t)
		mkdir(t, base+"/passed", 0o700)
		mkdir(t, base+"/passed/home", 0o700)
		chmod(t, base+"/passed", 0o111)
		t.Cleanup(func() { chmod(t, base+"/passed", 0o700) })
		expectUsable(t, base+"/passed/home/records")
		return
	}
	// To root everything is readable.
	base := privateDir(t)
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for path := base; strings.HasPrefix(path, temp+"/"); path = filepath.Dir(path) {
		chmod(t, path, 0o711)
	}
	mkdir(t, base+"/home", 0o700)
	giveAway(t, base+"/home")
	cmd := exec.Command(copyOfUs(t, base+"/test"), "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = []string{asForeign + "=" + base, "GOCOVERDIR=" + base + "/home"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: foreignUID, Gid: foreignUID}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if info, err := os.Stat(base + "/home/records/file"); err != nil || info.Sys().(*syscall.Stat_t).Uid != foreignUID {
		t.Errorf("the other user wrote nothing: %v\n%s", err, out)
	}
}

// expectUsable fails unless a folder can be made, and written and read.
func expectUsable(t *testing.T, path string) {
	t.Helper()
	for range 2 { // the second time it is there
		d, err := OpenDir(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.RemoveTemporary(); err != nil {
			t.Error(err)
		}
		if _, err := d.Read("file", 10); err != nil {
			if err := d.Create("file", []byte("x")); err != nil {
				t.Error(err)
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if data, err := ReadFile(path+"/file", 10); err != nil || string(data) != "x" {
		t.Errorf("read %q, %v", data, err)
	}
}

// copyOfUs puts the test's program where another user can start it. Another
// program copies it: a child that is forked here in the meantime would have the
// copy open for writing, and it could not be started.
func copyOfUs(t *testing.T, path string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", program, path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	chmod(t, path, 0o755)
	return path
}
