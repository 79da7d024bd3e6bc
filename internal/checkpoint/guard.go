package checkpoint

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// Guard calls f and returns its error. A panic of f is an error as well,
// checkpoint-store-failed and a [*PanicError]: one in a goroutine that a store
// began would end the process, with everything that is still to be told and
// stored.
func Guard(doing string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			e := failure.New(failure.CheckpointStoreFailed, "%s: %w", doing, newPanicError(p)).
				WithFix("That is a fault of this program: report it with this line")
			err = e
		}
	}()
	return f()
}

// PanicError says where there was a panic, and what kind of thing it was about.
// What the panic said is not told: stores handle secrets, and a text that one
// cannot tell may have some in it.
type PanicError struct {
	kind  string
	where string
}

// Error is one line.
func (e *PanicError) Error() string { return "it panicked (" + e.kind + ") in " + e.where }

// newPanicError is called by the function that recovered.
func newPanicError(p any) *PanicError {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		frame, more := frames.Next()
		// The runtime's own come between the panic and this.
		if !strings.HasPrefix(frame.Function, "runtime.") {
			name := frame.Function[strings.LastIndexByte(frame.Function, '/')+1:]
			return &PanicError{fmt.Sprintf("%T", p), fmt.Sprintf("%s, line %d", name, frame.Line)}
		}
		if !more {
			return &PanicError{fmt.Sprintf("%T", p), "an unknown place"}
		}
	}
}
