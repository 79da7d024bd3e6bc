package checkpoint

import (
	"errors"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	ended := errors.New("ended")
	var none map[string]int
	for name, tt := range map[string]struct {
		f     func() error
		parts []string // of the error that a panic is; none for what f returned
		want  error
	}{
		"nothing wrong":            {f: func() error { return nil }},
		"an error":                 {f: func() error { return ended }, want: ended},
		"a text":                   {f: func() error { panic("sig=0123456789abcdef") }, parts: []string{"(string)", "checkpoint.TestGuard.func"}},
		"an error that was raised": {f: func() error { panic(errors.New("sig=0123456789abcdef")) }, parts: []string{"(*errors.errorString)", "checkpoint.TestGuard.func"}},
		"the runtime's":            {f: func() error { none["sig=0123456789abcdef"]++; return nil }, parts: []string{"(runtime.", "checkpoint.TestGuard.func"}},
		"deep in a library":        {f: func() error { return errors.New(strings.Repeat("x", -1)) }, parts: []string{"strings.Repeat"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Guard("listing the artifacts", tt.f)
			if len(tt.parts) == 0 {
				if err != tt.want { //nolint:errorlint // it is handed on as it is
					t.Errorf("got %v, want %v", err, tt.want)
				}
				return
			}
			_, panicked := errors.AsType[*PanicError](err)
			if failure.CodeOf(err) != failure.CheckpointStoreFailed || !panicked {
				t.Fatalf("got %v", err)
			}
			for _, part := range append(tt.parts, "listing the artifacts: it panicked", "report it") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("it says %q, want %q in it", err, part)
				}
			}
			if strings.Contains(err.Error(), "sig=") {
				t.Errorf("it repeats what the panic said: %q", err)
			}
		})
	}
}
