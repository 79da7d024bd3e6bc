package e2e

import (
	"context"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// start starts the action. A run that the test leaves behind is killed.
func (s *scene) start() *running {
	s.t.Helper()
	run, err := s.Start(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	r := &running{Run: run, scene: s}
	s.t.Cleanup(func() {
		if run.Running() {
			if _, err := run.Kill(); err != nil {
				s.t.Error(err)
			}
		}
	})
	return r
}

// run runs the action to its end.
func (s *scene) run() harness.Ended {
	s.t.Helper()
	return s.start().wait()
}

// running is a run in a test.
type running struct {
	*harness.Run
	scene *scene
}

// until waits for a text in the log.
func (r *running) until(text string) {
	r.scene.t.Helper()
	ctx, cancel := context.WithTimeout(r.scene.t.Context(), 90*time.Second)
	defer cancel()
	if err := r.WaitFor(ctx, text); err != nil {
		r.scene.t.Fatal(err)
	}
}

// job waits until the Job's name is known and returns it.
func (r *running) job() string {
	r.scene.t.Helper()
	const said = "the execution is Job "
	r.until(said)
	_, rest, _ := strings.Cut(r.Log(), said)
	return strings.Fields(rest)[0]
}

// wait waits for the end of the process.
func (r *running) wait() harness.Ended {
	r.scene.t.Helper()
	e, err := r.Wait()
	if err != nil {
		r.scene.t.Fatal(err)
	}
	return r.scene.ended(e)
}

// kill ends the process with SIGKILL.
func (r *running) kill() harness.Ended {
	r.scene.t.Helper()
	e, err := r.Kill()
	if err != nil {
		r.scene.t.Fatal(err)
	}
	if e.Signal != syscall.SIGKILL {
		r.scene.t.Fatalf("the action was not killed, it ended with status %d\n%s", e.Status, e.Log())
	}
	return r.scene.ended(e)
}

// signal sends a signal.
func (r *running) signal(sig os.Signal) {
	r.scene.t.Helper()
	if err := r.Signal(sig); err != nil {
		r.scene.t.Fatal(err)
	}
}
