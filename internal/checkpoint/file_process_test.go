package checkpoint

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// The test binary is its own second process: with roleVariable set, it plays
// one of the roles on the folder and prints, line by line, what came of it.
const (
	roleVariable   = "CHECKPOINT_TEST_ROLE"
	folderVariable = "CHECKPOINT_TEST_FOLDER"
	firstVariable  = "CHECKPOINT_TEST_FIRST"
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	roles := map[string]func(path string) error{"hold": holdFolder, "put": putForever, "limited": putLimited, "umask": putMasked}
	if err := roles[role](os.Getenv(folderVariable)); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// process is one other process on a folder.
type process struct {
	cmd   *exec.Cmd
	input io.Closer
	lines *bufio.Scanner
}

func start(t *testing.T, role, path string, env ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), append(env, roleVariable+"="+role, folderVariable+"="+path)...)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	must(t, err)
	output, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	p := &process{cmd, input, bufio.NewScanner(output)}
	t.Cleanup(p.kill)
	return p
}

func (p *process) line(t *testing.T) string {
	t.Helper()
	if !p.lines.Scan() {
		t.Fatalf("the other process said nothing (%v)", p.lines.Err())
	}
	return p.lines.Text()
}

// kill ends the process as nothing can catch, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()         // it was killed, and says so
}

// end lets the process end by itself.
func (p *process) end(t *testing.T) {
	t.Helper()
	must(t, p.input.Close())
	must(t, p.cmd.Wait())
}

// holdFolder keeps a folder open until its input ends.
func holdFolder(path string) error {
	begin := time.Now()
	f, err := OpenFolder(path)
	if err != nil {
		fmt.Printf("%s %s after %d ms\n", "refused", failure.CodeOf(err), time.Since(begin).Milliseconds())
		return nil
	}
	fmt.Println("held")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return f.Close()
}

// TestRacingProcesses has processes open one folder, which is not there yet, at
// the same moment: one gets it, the others are told at once.
func TestRacingProcesses(t *testing.T) {
	t.Parallel()
	path := workFolder(t) + "/a/work"
	for round := range 3 {
		all := make([]*process, 5)
		for i := range all {
			all[i] = start(t, "hold", path)
		}
		var holder *process
		for _, p := range all {
			line := p.line(t)
			var code string
			var took int
			switch n, _ := fmt.Sscanf(line, "refused %s after %d ms", &code, &took); {
			case line == "held" && holder == nil:
				holder = p
			case n != 2 || code != string(failure.CheckpointStoreFailed) || took > 2000:
				t.Errorf("round %d: %s", round, line)
			}
		}
		if holder == nil {
			t.Fatalf("round %d: nobody got the folder", round)
		}
		if _, err := OpenFolder(path); failure.CodeOf(err) != failure.CheckpointStoreFailed {
			t.Errorf("round %d: got %v, want that the folder is in use", round, err)
		}
		if round == 0 {
			holder.kill() // what is killed holds nothing
		}
		for _, p := range all {
			if p != holder || round > 0 {
				p.end(t)
			}
		}
	}
	openFolder(t, path)
}

// putLimited stores a record that is larger than a file of the process may get:
// the write stops in the middle, as it does when a disk is full.
func putLimited(path string) error {
	f, err := OpenFolder(path)
	if err != nil {
		return err
	}
	const limit = 64 << 10
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	small := Record{Step: Prepared, Content: contract.Object{"a": "b"}}
	if err := f.Put(context.Background(), "e", small); err != nil {
		return err
	}
	large := Record{Step: Manifest, Content: contract.Object{"a": strings.Repeat("x", 2*limit)}}
	err = f.Put(context.Background(), "e", large)
	fmt.Println(failure.CodeOf(err), err)
	return f.Close()
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	path := workFolder(t)
	p := start(t, "limited", path)
	line := p.line(t)
	for _, part := range []string{"checkpoint-store-failed ", "storing e.json in the work folder " + path, syscall.EFBIG.Error(), "Make room"} {
		if !strings.Contains(line, part) {
			t.Errorf("it said %q, want %q in it", line, part)
		}
	}
	must(t, p.cmd.Wait())
	if have := files(t, path); len(have) != 1 || have["e.prepared.json"] != "{\"a\":\"b\"}\n" {
		t.Errorf("the folder holds %v, want the record that fits alone", have)
	}
	// With room, it goes on.
	f := openFolder(t, path)
	large := Record{Step: Manifest, Content: contract.Object{"a": strings.Repeat("x", 128<<10)}}
	must(t, f.Put(t.Context(), "e", large))
}

// putMasked stores a record under a umask that leaves next to nothing.
func putMasked(path string) error {
	unix.Umask(0o377)
	f, err := OpenFolder(path)
	if err != nil {
		return err
	}
	if err := f.Put(context.Background(), "e", Record{Step: Prepared, Content: contract.Object{}}); err != nil {
		return err
	}
	if _, err := f.Load(context.Background(), "e"); err != nil {
		return err
	}
	fmt.Println("stored")
	return f.Close()
}

func TestUmask(t *testing.T) {
	t.Parallel()
	path := workFolder(t) + "/a/work"
	p := start(t, "umask", path)
	if line := p.line(t); line != "stored" {
		t.Error(line)
	}
	must(t, p.cmd.Wait())
	openFolder(t, path)
}
