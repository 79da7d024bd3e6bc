package host_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/host"
)

// valve is a writer that takes nothing while it is shut.
type valve struct {
	mu     sync.Mutex
	opened chan struct{} // nil: it is open
	took   strings.Builder
	err    error
}

func (v *valve) shut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.opened = make(chan struct{})
}

func (v *valve) Write(p []byte) (int, error) {
	v.mu.Lock()
	opened := v.opened
	v.mu.Unlock()
	if opened != nil {
		<-opened
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return 0, v.err
	}
	return v.took.Write(p)
}

func (v *valve) text() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.took.String()
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if n, err := io.WriteString(w, text); n != len(text) || err != nil {
		t.Errorf("writing %.20q: %d, %v", text, n, err)
	}
}

func TestWriterIsDoneWhenItReturns(t *testing.T) {
	t.Parallel()
	v := &valve{}
	w := host.NewWriter(v)
	for i := range 100 {
		line := fmt.Sprintf("line %d\n", i)
		write(t, w, line)
		if !strings.HasSuffix(v.text(), line) {
			t.Fatalf("%q is not there", line)
		}
	}
	v.err = errors.New("disk full")
	if _, err := io.WriteString(w, "x"); !errors.Is(err, v.err) {
		t.Errorf("the error is %v", err)
	}
	v.err = nil
	write(t, w, "after it\n")
	if !strings.HasSuffix(v.text(), "99\nafter it\n") {
		t.Errorf("%q", v.text())
	}
}

func TestWriterDoesNotWaitForAReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &valve{}
		w := host.NewWriter(v)
		v.shut()
		begin := time.Now()
		var want strings.Builder
		for i := range 1000 {
			line := fmt.Sprintf("line %d\n", i)
			want.WriteString(line)
			write(t, w, line)
		}
		if took := time.Since(begin); took > 200*time.Millisecond {
			t.Errorf("1000 lines took %s", took)
		}
		if w.Flush(2*time.Second) || time.Since(begin) > 3*time.Second {
			t.Errorf("flushed in %s", time.Since(begin))
		}
		close(v.opened)
		if !w.Flush(time.Second) {
			t.Error("not flushed")
		}
		if v.text() != want.String() {
			t.Errorf("lines are lost or out of order: %d bytes, want %d", len(v.text()), want.Len())
		}
		// Once it has caught up it waits again.
		v.shut()
		time.AfterFunc(50*time.Millisecond, func() { close(v.opened) })
		write(t, w, "late\n")
		if !strings.HasSuffix(v.text(), "late\n") {
			t.Error("did not wait")
		}
	})
}

func TestWriterDropsLinesAndSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &valve{}
		w := host.NewWriter(v)
		v.shut()
		line := strings.Repeat("x", 1023) + "\n"
		for range 1024 + 10 {
			write(t, w, line)
		}
		write(t, w, "::add-mask::secret\n")
		write(t, w, "two\nlines\n")
		close(v.opened)
		w.Flush(time.Second)
		want := strings.Repeat(line, 1024) +
			"(10 lines of the log were dropped: nobody read them in time)\n::add-mask::secret\n" +
			"(2 lines of the log were dropped: nobody read them in time)\n"
		if v.text() != want {
			t.Errorf("ends with %q", v.text()[max(0, len(v.text())-300):])
		}
		write(t, w, "after\n")
		if !strings.HasSuffix(v.text(), "after\n") {
			t.Error("nothing goes through afterwards")
		}
	})
}

func TestWriterKeepsConcurrentWritesWhole(t *testing.T) {
	t.Parallel()
	v := &valve{}
	w := host.NewWriter(v)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				write(t, w, "abcdefgh\n")
			}
		})
	}
	all.Wait()
	if want := strings.Repeat("abcdefgh\n", 400); v.text() != want {
		t.Error("a write was broken up or lost")
	}
}
