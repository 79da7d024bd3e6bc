package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// Supervisor is a supervisor process as its owner sees it.
type Supervisor struct {
	Orders io.WriteCloser
	Events io.ReadCloser

	process  *os.Process
	lifeline *os.File // nil for a detached one
	stderr   *os.File
	once     sync.Once
	ended    chan struct{}
	err      error
}

// Start starts a supervisor. A detached one lives on without its owner.
func Start(detached bool) (*Supervisor, error) {
	ordersIn, orders, err1 := os.Pipe()
	events, eventsOut, err2 := os.Pipe()
	lifelineIn, lifeline, err3 := os.Pipe()
	stderr, err4 := unnamed()
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	s := &Supervisor{Orders: orders, Events: events, lifeline: lifeline, stderr: stderr, ended: make(chan struct{})}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self())
	cmd.Args = []string{supervisorName}
	cmd.Stderr = stderr
	cmd.ExtraFiles = []*os.File{ordersIn, eventsOut, lifelineIn}
	if detached {
		cmd.ExtraFiles[2] = null
	}
	cmd.Dir = "/" // it must not keep anybody's folder busy
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	for _, f := range []*os.File{ordersIn, eventsOut, lifelineIn, null} {
		f.Close()
	}
	if err != nil {
		return nil, err
	}
	s.process = cmd.Process
	if detached {
		s.lifeline = nil
		lifeline.Close()
	}
	go func() {
		s.err = cmd.Wait()
		close(s.ended)
	}()
	return s, nil
}

func (s *Supervisor) hangUp() {
	if s.lifeline == nil {
		_ = s.process.Signal(syscall.SIGTERM)
		return
	}
	s.lifeline.Close()
}

// unnamed makes a file that nobody has to remove.
func unnamed() (*os.File, error) {
	f, err := os.CreateTemp("", Prefix+"stderr-")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// Output is what the supervisor said outside its events: a crash.
func (s *Supervisor) Output() string {
	b, _ := io.ReadAll(io.NewSectionReader(s.stderr, 0, 16<<10))
	return string(b)
}

// Close ends the cluster and waits until nothing is left.
func (s *Supervisor) Close(ctx context.Context) error {
	s.once.Do(s.hangUp)
	select {
	case <-s.ended:
	case <-ctx.Done():
		return fmt.Errorf("it still clears up: %w", context.Cause(ctx))
	}
	s.Orders.Close()
	s.stderr.Close()
	var exit *exec.ExitError
	if errors.As(s.err, &exit) && exit.ExitCode() == 1 {
		return nil // it has said why in an event
	}
	return s.err
}
