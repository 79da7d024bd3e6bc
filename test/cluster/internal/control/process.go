package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is one program of the cluster. Its output goes to a file, which is
// quoted when it ends early.
type process struct {
	name string
	argv []string
	log  string
	dir  string
	env  []string

	cmd  *exec.Cmd
	done chan struct{}
	err  error // of Wait; valid once done is closed

	mu      sync.Mutex
	wanted  bool // it is to run: an end is a fault
	stopped bool // by a signal, see pause
}

// spawner starts all processes from one thread that never ends: Linux sends the
// parent-death signal when the thread that made the child ends, not the process.
var spawner = sync.OnceValue(func() chan<- func() {
	c := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range c {
			f()
		}
	}()
	return c
})

// start runs the program, and returns at once.
func (p *process) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = dieWithParent()
	result := make(chan error)
	spawner() <- func() { result <- cmd.Start() }
	if err := <-result; err != nil {
		return fmt.Errorf("could not start %s: %w", p.name, err)
	}
	done := make(chan struct{})
	p.mu.Lock()
	p.cmd, p.done, p.wanted, p.stopped = cmd, done, true, false
	p.mu.Unlock()
	go func() {
		p.err = cmd.Wait()
		close(done)
	}()
	return nil
}

// ended tells why a process that should run does not, or nil while it does.
func (p *process) ended() error {
	p.mu.Lock()
	done, wanted := p.done, p.wanted
	p.mu.Unlock()
	if done == nil || !wanted {
		return nil
	}
	select {
	case <-done:
		return p.failure()
	default:
		return nil
	}
}

// running tells whether the program runs and is meant to.
func (p *process) running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wanted
}

func (p *process) failure() error {
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("%s ended by itself (%s); the end of %s:\n%s", p.name, how, filepath.Base(p.log), Tail(p.log, 20))
}

// stop asks the program to end and ends it when it has not within the grace.
func (p *process) stop(ctx context.Context, grace time.Duration) error {
	p.mu.Lock()
	done := p.done
	if p.cmd == nil || done == nil {
		p.mu.Unlock()
		return nil
	}
	p.wanted = false
	if p.stopped {
		p.stopped = false
		_ = p.cmd.Process.Signal(syscall.SIGCONT)
	}
	err := p.cmd.Process.Signal(syscall.SIGTERM)
	p.mu.Unlock()
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("could not stop %s: %w", p.name, err)
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	case <-time.After(grace):
	}
	_ = p.cmd.Process.Kill()
	<-done
	return ctx.Err()
}

// pause freezes the program, or lets it go on: its connections stay open
// without an answer.
func (p *process) pause(on bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil || !p.wanted {
		return fmt.Errorf("%s does not run", p.name)
	}
	sig := syscall.SIGCONT
	if on {
		sig = syscall.SIGSTOP
	}
	if err := p.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("could not send %v to %s: %w", sig, p.name, err)
	}
	p.stopped = on
	if on {
		p.waitFrozen()
	}
	return nil
}

// waitFrozen returns when no thread of the process runs any more: until then it
// may still answer. Where there is no /proc, a moment has to do.
func (p *process) waitFrozen() {
	tasks := fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid)
	for range 100 {
		time.Sleep(10 * time.Millisecond)
		files, _ := filepath.Glob(tasks)
		if !slices.ContainsFunc(files, runs) {
			return
		}
	}
}

// runs tells whether the thread with that stat file is neither stopped nor gone.
func runs(stat string) bool {
	b, err := os.ReadFile(stat)
	_, state, _ := strings.Cut(string(b[strings.LastIndexByte(string(b), ')')+1:]), " ")
	return err == nil && !strings.HasPrefix(state, "T")
}

// Tail returns the last n lines of a file, as far as it can be read.
func Tail(path string, n int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
