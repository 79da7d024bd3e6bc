//go:build linux

package cluster_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
)

type proc struct {
	pid, parent int
	command     string
	started     string
}

// processes lists all processes of the machine.
func processes(t *testing.T) []proc {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var all []proc
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		fields := strings.Fields(rest)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		parent, _ := strconv.Atoi(fields[1])
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		all = append(all, proc{pid: pid, parent: parent, started: fields[19], command: strings.ReplaceAll(string(command), "\x00", " ")})
	}
	return all
}

// below lists a process and all that descend from it.
func below(t *testing.T, pid int) []proc {
	t.Helper()
	all := processes(t)
	family := []proc{}
	known := map[int]bool{pid: true}
	for range all { // children may be listed before their parents
		for _, p := range all {
			if (known[p.parent] || p.pid == pid) && !slices.ContainsFunc(family, func(f proc) bool { return f.pid == p.pid }) {
				known[p.pid] = true
				family = append(family, p)
			}
		}
	}
	return family
}

// leftovers waits until nothing of the processes and the folder is there any
// more, and returns what is there all the same.
func leftovers(t *testing.T, family []proc, dir string) error {
	t.Helper()
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		err = nil
		for _, p := range processes(t) {
			for _, f := range family {
				if p.pid == f.pid && p.started == f.started {
					err = errors.Join(err, fmt.Errorf("process %d: %s", p.pid, p.command))
				}
			}
		}
		mounts, _ := os.ReadFile("/proc/self/mountinfo")
		if dir != "" && strings.Contains(string(mounts), dir) {
			err = errors.Join(err, fmt.Errorf("mounts below %s", dir))
		}
		if dir != "" {
			cgroups, _ := filepath.Glob("/sys/fs/cgroup/*/" + filepath.Base(dir))
			unified, _ := filepath.Glob("/sys/fs/cgroup/" + filepath.Base(dir))
			for _, path := range append(append(cgroups, unified...), dir) {
				if _, e := os.Stat(path); e == nil {
					err = errors.Join(err, fmt.Errorf("folder %s", path))
				}
			}
		}
		if err == nil {
			return nil
		}
	}
	return err
}

// traces is what programs of a cluster would leave on the machine if they were
// not kept away from it.
func traces(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, path := range []string{
		"/proc/sys/kernel/panic", "/proc/sys/kernel/panic_on_oops", "/proc/sys/vm/overcommit_memory", "/proc/sys/vm/panic_on_oom",
	} {
		value, err := os.ReadFile(path)
		fmt.Fprintln(&b, path, string(value), err)
	}
	for _, path := range []string{
		"/run/netns", "/run/containerd", "/run/runc", "/run/oneshot", "/var/log/containers", "/var/log/pods",
		"/var/lib/kubelet", "/var/lib/containerd", "/var/lib/cni", "/opt/containerd", "/opt/cni", "/etc/cni/net.d", "/usr/libexec/kubernetes",
	} {
		entries, err := os.ReadDir(path)
		fmt.Fprintln(&b, path, entries, err)
	}
	return b.String()
}

func TestKilledOwnerLeavesNothing(t *testing.T) {
	t.Parallel()
	before := traces(t)
	child, dir := startChild(t, "ready", "ready")
	family := below(t, child.Process.Pid)
	if c.RealNode() && !slices.ContainsFunc(family, func(p proc) bool { return strings.HasPrefix(p.command, "/workload") }) {
		t.Errorf("the pod's process does not descend from the test's: %+v", family)
	}
	if during := traces(t); during != before {
		t.Errorf("the cluster changes the machine; before:\n%s\nnow:\n%s", before, during)
	}
	kill(t, child.Process.Pid)
	begin := time.Now()
	child.Wait()
	if err := leftovers(t, family, dir); err != nil {
		t.Errorf("after SIGKILL there remain:\n%v", err)
	}
	t.Logf("%d processes gone after %v", len(family), time.Since(begin))
	if after := traces(t); after != before {
		t.Errorf("the cluster left traces; before:\n%s\nnow:\n%s", before, after)
	}
}

func TestKilledSupervisorIsSweptUp(t *testing.T) {
	t.Parallel()
	child, dir := startChild(t, "ready", "ready")
	family := below(t, child.Process.Pid)
	kill(t, supervisorOf(t, child.Process.Pid))
	kill(t, child.Process.Pid)
	child.Wait()
	if err := leftovers(t, family, ""); err != nil {
		t.Errorf("the kernel did not end what the supervisor had:\n%v", err)
	}
	// Any later start clears up (one of another test may do so before), even one
	// that fails.
	if _, err := cluster.Start(t.Context(), cluster.Options{APIServerArgs: []string{"--no-such-flag"}}); err == nil {
		t.Error("an unknown flag does no harm")
	}
	if err := leftovers(t, family, dir); err != nil {
		t.Errorf("the next start left there:\n%v", err)
	}
}

func TestInterruptedStartLeavesNothing(t *testing.T) {
	t.Parallel()
	child, _ := startChild(t, "interrupted", "test cluster: API server")
	family := below(t, child.Process.Pid)
	kill(t, child.Process.Pid)
	child.Wait()
	if err := leftovers(t, family, dirOf(family)); err != nil {
		t.Errorf("after SIGKILL during the start there remain:\n%v", err)
	}
}

func TestProgramThatEndsIsAFault(t *testing.T) {
	t.Parallel()
	child := below(t, os.Getpid())
	own := start(t, cluster.Options{})
	for _, p := range below(t, os.Getpid()) {
		known := slices.ContainsFunc(child, func(o proc) bool { return o.pid == p.pid })
		if !known && strings.Contains(p.command, " scheduler --kubeconfig=") && rootOf(p) == own.Dir() {
			kill(t, p.pid)
		}
	}
	var err error
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && err == nil; time.Sleep(20 * time.Millisecond) {
		err = own.Fault()
	}
	if err == nil || !strings.Contains(err.Error(), "scheduler ended by itself (signal: killed)") {
		t.Errorf("the fault is %v, want the scheduler's end", err)
	}
}

// rootOf reads from the machine's side which cluster's folder a process has as
// its working directory.
func rootOf(p proc) string {
	inside := fmt.Sprintf("/proc/%d/cwd/spec.json", p.pid)
	var spec struct{ Dir string }
	b, _ := os.ReadFile(inside)
	_ = json.Unmarshal(b, &spec)
	return spec.Dir
}

// dirOf reads the cluster's folder from the command line of its init or runner.
func dirOf(family []proc) string {
	for _, p := range family {
		if f := strings.Fields(p.command); len(f) == 2 && strings.HasPrefix(f[0], "aks-oneshot-cluster-") && f[1] != "/run/oneshot" {
			return f[1]
		}
	}
	return ""
}

// supervisorOf finds the one child of a process that starts a cluster.
func supervisorOf(t *testing.T, pid int) int {
	t.Helper()
	for _, p := range processes(t) {
		if p.parent == pid && strings.HasPrefix(p.command, "aks-oneshot-cluster") {
			return p.pid
		}
	}
	t.Fatalf("process %d has no supervisor", pid)
	return 0
}
