package control

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func shell(t *testing.T, script string) *process {
	t.Helper()
	dir := t.TempDir()
	p := &process{name: "shell", argv: []string{"/bin/sh", "-c", script}, log: filepath.Join(dir, "shell.log"), dir: dir, env: os.Environ()}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.stop(context.Background(), 0) })
	return p
}

func TestUntilQuotesAProgramThatEnded(t *testing.T) {
	t.Parallel()
	p := shell(t, "echo cannot bind; exit 3")
	err := until(t.Context(), "waiting", []*process{p}, func(context.Context) error { return errors.New("not yet") })
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "cannot bind") {
		t.Errorf("error is %v, want the exit status and the log", err)
	}
}

func TestStopIsNoFault(t *testing.T) {
	t.Parallel()
	p := shell(t, "exec sleep 60")
	if err := p.stop(t.Context(), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := p.ended(); err != nil || p.running() {
		t.Errorf("after a stop: fault %v, running %v", err, p.running())
	}
	if err := p.start(); err != nil || !p.running() {
		t.Errorf("it does not start again: %v", err)
	}
}

func TestStopEndsTheStubborn(t *testing.T) {
	t.Parallel()
	p := shell(t, "trap '' TERM; echo ready; while :; do sleep 0.1; done")
	for !strings.Contains(Tail(p.log, 1), "ready") {
		time.Sleep(10 * time.Millisecond)
	}
	if err := p.stop(t.Context(), 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if p.running() {
		t.Error("it still runs")
	}
}

func TestStopOfAPausedProcess(t *testing.T) {
	t.Parallel()
	p := shell(t, "exec sleep 60")
	if err := p.pause(true); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := p.stop(t.Context(), 10*time.Second); err != nil || time.Since(begin) > 5*time.Second {
		t.Errorf("stopped after %v: %v", time.Since(begin), err)
	}
}

func TestTokenFile(t *testing.T) {
	t.Parallel()
	b, err := tokenFile([]User{{Name: "a,b", Token: "t1", Groups: []string{"x", "y"}}, {Name: "c", Token: "t2"}})
	if want := "t1,\"a,b\",\"a,b\",\"x,y\"\nt2,c,c,\n"; err != nil || string(b) != want {
		t.Errorf("file is %q, %v; want %q", b, err, want)
	}
	if _, err := tokenFile([]User{{Name: "c"}}); err == nil {
		t.Error("a user without a token is accepted")
	}
}

func TestTogetherStopsAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	err := together(t.Context(),
		func(context.Context) error { return broken },
		func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	)
	if !errors.Is(err, broken) {
		t.Errorf("error is %v, want the first one", err)
	}
}
