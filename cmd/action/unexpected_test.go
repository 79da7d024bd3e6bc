package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/config"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/host/terminal"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
	"github.com/aks-oneshot/aks-oneshot/internal/report"
)

func TestAPanicIsToldAndTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	var stdout, stderr safeBuffer
	s := &session{
		host:   terminal.New(&stdout, &stderr, none),
		source: config.Source{Getenv: none, Lookup: func(string) (string, bool) { panic("the cat is on the keyboard") }},
		report: report.Report{Started: time.Now()},
	}
	if status := s.run(t.Context(), &stderr); status != 4 {
		t.Errorf("the exit status is %d", status)
	}
	if out := stdout.String(); !strings.Contains(out, "outcome=unknown\n") || !strings.Contains(out, "reason=\n") {
		t.Errorf("outputs:\n%s", out)
	}
	for _, text := range []string{"the cat is on the keyboard", "a bug in aks-oneshot", "config.gather"} {
		if !strings.Contains(stderr.String(), text) {
			t.Errorf("%q is not told\n%s", text, stderr.String())
		}
	}
}

// However an error came about, it is never told as a success.
func TestWhatAnEarlyErrorMeans(t *testing.T) {
	t.Parallel()
	for want, err := range map[oneshot.Outcome]error{
		oneshot.Invalid: failure.New(failure.ContextIncomplete, "x"),
		oneshot.Refused: errors.New("without a code"),
	} {
		if result, same := early(err); result.Outcome != want || !errors.Is(same, err) {
			t.Errorf("%v: %+v, %v", err, result, same)
		}
	}
}
