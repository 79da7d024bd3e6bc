package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/control"
)

// supervisorMain runs in a session of its own: neither an interrupt from the
// terminal nor a signal to the owner's process group reaches it.
func supervisorMain() int {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	events := json.NewEncoder(os.NewFile(eventsFD, "events"))
	var order Order
	if err := json.NewDecoder(os.NewFile(ordersFD, "orders")).Decode(&order); err != nil {
		return 1 // the owner is gone already
	}
	if err := supervise(&order, signals); err != nil {
		_ = events.Encode(Event{Error: err.Error()})
		return 1
	}
	return 0
}

func supervise(order *Order, signals <-chan os.Signal) (err error) {
	Sweep()
	folder, err := claim(order.Spec.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.remove()) }()
	order.Spec.Dir, order.Spec.Base = folder.path, folder.path
	if order.RealNode {
		cgroup, err := newCgroup(filepath.Base(folder.id))
		if err != nil {
			return err
		}
		defer func() { _ = cgroup.remove() }()
		order.Spec.Cgroup, order.Spec.Base = "/"+cgroup.name, insideBase
	}
	if err := writeJSON(filepath.Join(folder.path, specFile), order.Spec); err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(folder.path, ownerFile), thisProcess()); err != nil {
		return err
	}
	child := exec.Command(self())
	child.Args = []string{runnerName, folder.path}
	child.SysProcAttr = runnerAttributes()
	if order.RealNode {
		child.Args[0] = initName
		child.SysProcAttr = initAttributes()
	}
	child.Stderr = os.Stderr
	child.ExtraFiles = []*os.File{os.NewFile(ordersFD, "orders"), os.NewFile(eventsFD, "events")}
	if err := child.Start(); err != nil {
		return fmt.Errorf("could not start the cluster's %s: %w", child.Args[0], err)
	}
	ended := make(chan struct{})
	go func() { _ = child.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-signals:
	case <-ownerGone():
	}
	end(child, ended, order.RealNode)
	if order.Logs != "" {
		return keepLogs(folder.path, filepath.Join(order.Logs, filepath.Base(folder.id)))
	}
	return nil
}

// ownerGone is closed when the owner's end of the lifeline is: by Stop, by an
// exit, by a crash or by SIGKILL. A cluster without a lifeline waits for SIGTERM.
func ownerGone() <-chan struct{} {
	lifeline := os.NewFile(lifelineFD, "lifeline")
	if info, err := lifeline.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return nil
	}
	gone := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, lifeline)
		close(gone)
	}()
	return gone
}

// end ends all processes of the cluster. Killing process 1 of a namespace ends
// everything in it, containers too, before the wait for it returns, and nothing
// of the state is kept: there is no one an orderly shutdown would be for.
// Without a namespace the runner stops its programs one after the other.
func end(child *exec.Cmd, ended <-chan struct{}, namespace bool) {
	if namespace {
		_ = child.Process.Kill()
		<-ended
		return
	}
	_ = child.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		_ = child.Process.Kill() // its children die with it
		<-ended
	}
}

// keepLogs copies the programs' logs and the audit log out of the folder.
func keepLogs(dir, to string) error {
	for _, f := range []string{control.LogFolder, filepath.Dir(control.AuditFile)} {
		if err := os.CopyFS(filepath.Join(to, f), os.DirFS(filepath.Join(dir, f))); err != nil {
			return fmt.Errorf("could not keep the logs: %w", err)
		}
	}
	return nil
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	temp := path + ".new"
	if err := os.WriteFile(temp, b, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}
