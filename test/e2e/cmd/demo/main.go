// Command demo shows the action at work on a real Kubernetes control plane on
// this machine: a first run, a re-run, a run that is killed and its re-run, and
// a template that is not what was reviewed. It checks that each run ended as it
// should, and leaves nothing behind.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	out := &screen{w: os.Stdout, style: styleFor(os.Stdout, os.Getenv)}
	status := realMain(ctx, out)
	stop()
	os.Exit(status)
}

// realMain is the program. It returns the exit status: 0 when everything ended
// as it should, 1 when not, 130 when it was told to stop.
func realMain(ctx context.Context, out *screen) int {
	out.line("aks-oneshot: four runs on a real Kubernetes control plane on this machine.")
	out.line("The very first start builds that control plane, which takes minutes; later ones take seconds.")
	out.line("")
	err := demonstrate(ctx, out)
	if err == nil {
		out.end()
		return 0
	}
	left := "nothing is left behind"
	if e, ok := errors.AsType[*closeError](err); ok {
		left = e.Error()
	}
	if ctx.Err() != nil {
		out.line("%s", out.style.bad("Stopped; "+left+"."))
		return 130
	}
	out.line("%s", out.style.bad(fmt.Sprintf("The demonstration failed; %s. %v", left, err)))
	return 1
}

// closeError is a stage that could not be taken away whole.
type closeError struct{ err error }

func (e *closeError) Error() string { return fmt.Sprintf("not everything could be removed: %v", e.err) }
func (e *closeError) Unwrap() error { return e.err }

func demonstrate(ctx context.Context, out *screen) (err error) {
	stage, err := harness.NewStage(ctx, out)
	if err != nil {
		return err
	}
	defer func() {
		out.line("")
		out.line("Removing the control plane and all files.")
		if closeErr := stage.Close(ctx); closeErr != nil {
			err = errors.Join(err, &closeError{closeErr})
		}
	}()
	out.line("creating the namespace, a ServiceAccount and a suspended CronJob, and pinning both by digest")
	p, err := newPlay(ctx, stage.World, out)
	if err != nil {
		return err
	}
	for _, a := range p.acts() {
		if err := p.perform(ctx, a); err != nil {
			return fmt.Errorf("%s: %w", a.title, err)
		}
	}
	return nil
}
