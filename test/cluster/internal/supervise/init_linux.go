package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// insideBase is the cluster's folder as its programs see it. It is short because
// containerd's sockets are below it and a socket's path may have 107 bytes.
const insideBase = "/run/oneshot"

// kubeletSysctls are settings of the whole machine that a kubelet insists on.
// It sees these values and changes nothing.
var kubeletSysctls = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

func initAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS,
		Pdeathsig:  syscall.SIGKILL,
	}
}

func runnerAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// CanIsolate tells whether this process may make the namespaces of a real node.
func CanIsolate() error {
	if os.Geteuid() != 0 {
		return errors.New("real containers need root")
	}
	probe := exec.Command("/proc/self/exe")
	probe.Args = []string{probeName}
	probe.SysProcAttr = initAttributes()
	if err := probe.Run(); err != nil {
		return fmt.Errorf("this machine gives no new PID and mount namespaces: %w", err)
	}
	return nil
}

// initMain is process 1 of the cluster's namespaces.
func initMain() int {
	dir := os.Args[1]
	if err := privateMounts(dir); err != nil {
		return fail(err)
	}
	runner := exec.Command("/proc/self/exe")
	runner.Args = []string{runnerName, insideBase}
	runner.Stderr = os.Stderr
	runner.ExtraFiles = []*os.File{os.NewFile(ordersFD, "orders"), os.NewFile(eventsFD, "events")}
	if err := runner.Start(); err != nil {
		return fail(fmt.Errorf("could not start the cluster's runner: %w", err))
	}
	// Containers' shims are nobody's children: they come here to be reaped.
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil || pid == runner.Process.Pid:
			return status.ExitStatus()
		}
	}
}

// privateMounts gives the cluster places of its own for what containerd, runc
// and the kubelet put into fixed places of the machine: /run/netns, /run/containerd,
// /run/runc, /var/log/containers and the sysctls. All of it is gone with the
// mount namespace.
func privateMounts(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	steps := []struct {
		what string
		do   func() error
	}{
		{"make mounts private", func() error { return syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") }},
		{"mount /run", func() error { return syscall.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755") }},
		{"make " + insideBase, func() error { return os.Mkdir(insideBase, 0o700) }},
		// By descriptor, since the folder may be below the old /run.
		{"mount " + insideBase, func() error {
			return syscall.Mount(fmt.Sprintf("/proc/self/fd/%d", folder.Fd()), insideBase, "", syscall.MS_BIND, "")
		}},
		{"mount /var/log", func() error { return syscall.Mount("tmpfs", "/var/log", "tmpfs", 0, "mode=755") }},
		{"mount /proc", func() error {
			return syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, "")
		}},
		{"set sysctls", hideSysctls},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return fmt.Errorf("could not %s for the cluster: %w", s.what, err)
		}
	}
	return nil
}

func hideSysctls() error {
	if err := os.Mkdir("/run/sysctl", 0o700); err != nil {
		return err
	}
	for name, value := range kubeletSysctls {
		file := filepath.Join("/run/sysctl", filepath.Base(name))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := syscall.Mount(file, "/proc/sys/"+name, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
