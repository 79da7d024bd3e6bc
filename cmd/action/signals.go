package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
	"github.com/aks-oneshot/aks-oneshot/internal/report"
)

// patience is how long a run may take to end after it was told to. Its records
// are safe long before (the engine's bound is five seconds), and a GitHub runner
// sends its second signal after 7.5 s.
const patience = 7 * time.Second

// untilSignalled returns a context that ends with the first SIGINT or SIGTERM.
// A second one, or the end of our patience, ends the process at once: records
// are written so that this harms nothing.
//
// Both signals are handled here to the end, and not left to their default after
// the first: in a container the process is PID 1, to which the kernel delivers
// no signal that has the default action (pid_namespaces(7)).
//
// SIGPIPE is ignored: whoever reads the log may go away, and a Job does not
// depend on its being read. Writes fail then, which is no reason to end.
func untilSignalled(parent context.Context, stderr io.Writer, exit func(int)) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	signal.Ignore(syscall.SIGPIPE)
	go obey(signals, cancel, stderr, exit, patience)
	return ctx
}

func obey(signals <-chan os.Signal, cancel context.CancelCauseFunc, stderr io.Writer, exit func(int), patience time.Duration) {
	cancel(fmt.Errorf("received %s", name(<-signals)))
	var why string
	select {
	case second := <-signals:
		why = fmt.Sprintf("received %s as well", name(second))
	case <-time.After(patience):
		why = fmt.Sprintf("could not end in %s", patience)
	}
	// A log that nobody reads may be what holds the run up.
	within(time.Second, func() {
		_, _ = fmt.Fprintf(stderr, "aks-oneshot: %s, ending at once; run again to resume\n", why)
	})
	exit(report.ExitStatus(oneshot.Cancelled))
}

// name spells a signal as people know it.
func name(s os.Signal) string {
	switch s {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	}
	return s.String()
}
