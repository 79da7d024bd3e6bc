package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/composite"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/host"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
	"github.com/aks-oneshot/aks-oneshot/internal/report"
)

// Nothing that a run does by itself takes longer than it may. But a disk that
// does not answer keeps fsync(2) for as long as it likes, and so does a reader
// that has stopped to read keep write(2); neither can be given up. So the
// process ends without them.

// limits are how long the process waits for what cannot be given up; tests have
// others.
var limits = struct {
	// grace is how long a run may be late: for reading what it was given, and
	// past the time that its executions get. The engine's own grace is less than
	// half of it.
	grace time.Duration
	// storing is how long a run that is over waits for the stores of its records.
	storing time.Duration
	// telling is how long it may take to tell that it was late.
	telling time.Duration
	// reading is how long whoever reads the log may be behind at the end.
	reading time.Duration
}{10 * time.Second, 30 * time.Second, 3 * time.Second, 2 * time.Second}

// openStore opens the work folder; tests have one that does not answer.
var openStore = func(path string) (store, error) { return checkpoint.OpenFolder(path) }

// store is the work folder of a run.
type store interface {
	checkpoint.Store
	composite.Owner
	Close() error
}

// run runs the session and returns the exit status: of a run that is over, or
// after its time of one that is not.
func (s *session) run(ctx context.Context, stderr io.Writer) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.due = time.NewTimer(limits.grace)
	defer s.due.Stop()
	over := make(chan int, 1)
	go func() { over <- s.work(ctx) }()
	select {
	case status := <-over:
		return status
	case <-s.due.C:
		return s.giveUp(stderr)
	}
}

// work does what there is to do, tells what became of it and returns the exit
// status.
func (s *session) work(ctx context.Context) (status int) {
	defer func() {
		if p := recover(); p != nil {
			// A bug in telling changes nothing about what there is to tell.
			s.host.Log(fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
			status = report.ExitStatus(s.told().Result.Outcome)
		}
	}()
	result, err := s.guarded(ctx)
	if s.end(func(r *report.Report) { r.Result, r.Err = result, err }) {
		s.tell(s.told())
	}
	return report.ExitStatus(s.told().Result.Outcome)
}

// stage is a part of a run, what becomes of a run that is held up in it, and what
// can hold it up there beside whoever reads its log.
type stage struct {
	doing   string
	outcome oneshot.Outcome
	waits   string
}

var (
	reading    = stage{"reading the inputs and the kubeconfig, before anything was dispatched", oneshot.OutcomeOf(failure.DeadlineExceeded), "the file systems of the kubeconfig and of the context"}
	connecting = stage{"signing in to Azure, before anything was dispatched", oneshot.OutcomeOf(failure.DeadlineExceeded), "az, or the file system of the token, where auth is azure-cli or workload-identity"}
	opening    = stage{"opening the work folder, before anything was dispatched", oneshot.OutcomeOf(failure.DeadlineExceeded), "the file system of the work folder"}
	running    = stage{"running the Job", oneshot.Unknown, "the file system of the work folder"}
	finishing  = stage{"storing the records of what was done", oneshot.Unknown, "the stores of checkpoint-stores, and the file system of the work folder"}
)

// begin begins a stage, for which there is so much time and the grace.
func (s *session) begin(next stage, limit time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stage = next
	s.due.Reset(limit + limits.grace)
}

// know adds to the report.
func (s *session) know(what func(*report.Report)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		what(&s.report)
	}
}

// end makes the report what is told, by whoever comes first.
func (s *session) end(what func(*report.Report)) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	what(&s.report)
	s.report.Result.Duration = time.Since(s.report.Started)
	s.ended = true
	return true
}

// told returns the report, which does not change once it has ended.
func (s *session) told() report.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report
}

// giveUp ends a run that is held up, and tells as much of it as can be told.
func (s *session) giveUp(stderr io.Writer) int {
	told := false
	if s.end(s.heldUp) {
		told = within(limits.telling, func() { s.tell(s.told()) })
	}
	outcome := s.told().Result.Outcome
	if !told {
		within(time.Second, func() {
			_, _ = fmt.Fprintf(stderr, "aks-oneshot: the run is over (%s), and what became of it could not be told: "+
				"the log, or a file for outputs, is not written to the end. Ending without\n", outcome)
		})
	}
	return report.ExitStatus(outcome)
}

// heldUp makes the report that of a run which was held up, from what was seen of
// it. It is called with the lock held.
func (s *session) heldUp(r *report.Report) {
	if r.Result.Outcome != "" {
		// It is the records that are held up.
		r.Facts.Missing = append(r.Facts.Missing, fmt.Sprintf("The run was held up while %s and left where it was: "+
			"what is stored is not known. A run again finds out. Look at what it can wait for: %s", s.stage.doing, s.stage.waits))
		return
	}
	r.Result = oneshot.Result{Outcome: s.stage.outcome}
	for _, e := range r.Events {
		r.Result.Execution.Name = cmp.Or(e.Execution, r.Result.Execution.Name)
		switch e.Kind {
		case oneshot.EventDispatched:
			r.Result.Dispatched = true
		case oneshot.EventResumed:
			r.Result.Resumed = true
		case oneshot.EventSuccessor:
			r.Result.Successor++
		}
	}
	if r.Result.Execution.Name != "" {
		r.Result.Execution.Namespace = r.Facts.Namespace
	}
	r.Err = failure.New(failure.DeadlineExceeded, "held up while %s: the run did not end within %s of its time, and was left where it was",
		s.stage.doing, limits.grace).WithFix("Look at what it can wait for: %s; and whoever reads its log", s.stage.waits)
}

// flush gives whoever reads the log a last while to do so.
func flush(stderr io.Writer, logs ...*host.Writer) {
	end, read := time.Now().Add(limits.reading), true
	for _, log := range logs {
		read = log.Flush(time.Until(end)) && read
	}
	if !read {
		within(time.Second/2, func() {
			_, _ = io.WriteString(stderr, "aks-oneshot: the log was not read to its end. Ending without\n")
		})
	}
}

// within runs f and reports whether it came to its end in the given time.
func within(d time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
