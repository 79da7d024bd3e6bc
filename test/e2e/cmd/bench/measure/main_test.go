package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	megabyte = 1 << 20
	// eatEnv makes the test program a process that takes that many megabytes.
	eatEnv = "MEASURE_TEST_EAT"
)

func TestMain(m *testing.M) {
	if n := os.Getenv(eatEnv); n != "" {
		os.Exit(eat(n))
	}
	os.Exit(m.Run())
}

// eat ends with status 3 when it has taken the memory, and with 4 on SIGTERM.
func eat(n string) int {
	var megabytes int
	if _, err := fmt.Sscan(n, &megabytes); err != nil {
		return 1
	}
	memory := make([]byte, megabytes*megabyte)
	for i := 0; i < len(memory); i += 512 {
		memory[i] = 1
	}
	if len(os.Args) > 1 && os.Args[1] == "wait" {
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		fmt.Println("waiting")
		<-stop
		return 4
	}
	return 3
}

// build builds the program under test: in the test program itself a child would
// begin with the memory of a test program.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "measure")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

func TestPeakIsTheChildsOwn(t *testing.T) {
	program := build(t)
	// The parent of the measuring process is large, as a benchmark may be.
	ballast := make([]byte, 150*megabyte)
	for i := 0; i < len(ballast); i += 512 {
		ballast[i] = 1
	}
	// The race detector multiplies what a program takes.
	for _, c := range []struct {
		megabytes int
		low, high int64
	}{{0, megabyte, 60 * megabyte}, {100, 100 * megabyte, 1000 * megabyte}} {
		file := filepath.Join(t.TempDir(), "peak")
		cmd := exec.Command(program, file, os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", eatEnv, c.megabytes))
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 3 {
			t.Fatalf("exit status %d, want the program's 3: %v\n%s", code, err, out)
		}
		var peak, floor int64
		b, err := os.ReadFile(file)
		if err == nil {
			_, err = fmt.Sscan(string(b), &peak, &floor)
		}
		if err != nil {
			t.Fatal(err)
		}
		if peak < c.low || peak > c.high || floor >= peak || floor > 20*megabyte {
			t.Errorf("taking %d MiB: peak %d, floor %d", c.megabytes, peak, floor)
		}
	}
	if ballast[0] != 1 {
		t.Error("the ballast is gone")
	}
}

func TestSignalsAreHandedOn(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "peak")
	cmd := exec.Command(build(t), file, os.Args[0], "wait")
	cmd.Env = append(os.Environ(), eatEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() }).Stop()
	line := make([]byte, len("waiting\n"))
	if _, err := out.Read(line); err != nil || string(line) != "waiting\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 4 {
		t.Errorf("exit status %d, want the program's 4", cmd.ProcessState.ExitCode())
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	program := build(t)
	for want, args := range map[string][]string{
		"usage: measure": {"file"},
		"no such file":   {filepath.Join(t.TempDir(), "peak"), "/no/such/program"},
	} {
		cmd := exec.Command(program, args...)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != failed || !strings.Contains(string(out), want) {
			t.Errorf("%q: exit status %d, %q", args, code, out)
		}
	}
}
