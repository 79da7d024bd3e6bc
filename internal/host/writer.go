package host

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

const (
	// maxWait is how long a write waits for whoever reads the log.
	maxWait = 100 * time.Millisecond
	// maxQueue bounds what waits to be read, in bytes.
	maxQueue = 1 << 20
)

// Writer hands everything written to it on to another writer, in order. As long
// as that one keeps up, a write is done when it returns, and has its error.
//
// When it does not, as a pipe that nobody reads, a write waits [maxWait] and no
// longer, and the writes after it not at all: they are kept until they can be
// handed on. A log must not hold up a run. When [maxQueue] is kept, further
// lines are dropped, and their number is told in their place. A command to a
// runner ("::", at the beginning of a write) is never dropped: it may be one
// that masks a secret.
//
// Its methods may be called from several goroutines. Each write stays whole.
type Writer struct {
	to io.Writer

	mu    sync.Mutex
	queue []*chunk
	size  int
	// idle is there while a goroutine is at work on the queue, and closed when
	// that ends; stalled says that it takes too long to be waited for.
	idle    chan struct{}
	stalled bool
	// dropped counts the lines dropped since the last chunk of the queue.
	dropped int
}

// chunk is one write. done is closed when it has been handed on; err is what
// came of it.
type chunk struct {
	data []byte
	done chan struct{}
	err  error
}

// NewWriter returns a Writer in front of another one.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Unwrap returns the writer behind this one.
func (w *Writer) Unwrap() io.Writer { return w.to }

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	c, wait := w.put(p)
	if !wait {
		return len(p), nil
	}
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case <-c.done:
		if c.err != nil {
			return 0, c.err
		}
	case <-timer.C:
		w.mu.Lock()
		w.stalled = w.idle != nil
		w.mu.Unlock()
	}
	return len(p), nil
}

// put queues what is written, and says whether to wait for it.
func (w *Writer) put(p []byte) (c *chunk, wait bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.size > 0 && w.size+len(p) > maxQueue && !bytes.HasPrefix(p, []byte("::")) {
		w.dropped += max(1, bytes.Count(p, []byte("\n")))
		return nil, false
	}
	w.tellDropped()
	c = w.add(slices.Clone(p))
	if w.idle == nil {
		w.idle = make(chan struct{})
		go w.pump()
	}
	return c, !w.stalled
}

func (w *Writer) add(data []byte) *chunk {
	c := &chunk{data: data, done: make(chan struct{})}
	w.queue, w.size = append(w.queue, c), w.size+len(data)
	return c
}

func (w *Writer) tellDropped() {
	if w.dropped > 0 {
		w.add(fmt.Appendf(nil, "(%d lines of the log were dropped: nobody read them in time)\n", w.dropped))
		w.dropped = 0
	}
}

// pump hands the queue on until nothing is left of it.
func (w *Writer) pump() {
	for {
		w.mu.Lock()
		if len(w.queue) == 0 {
			w.tellDropped()
		}
		if len(w.queue) == 0 {
			close(w.idle)
			w.idle, w.stalled = nil, false
			w.mu.Unlock()
			return
		}
		c := w.queue[0]
		w.mu.Unlock()
		_, c.err = w.to.Write(c.data)
		w.mu.Lock()
		w.queue, w.size = w.queue[1:], w.size-len(c.data)
		w.mu.Unlock()
		close(c.done)
	}
}

// Flush waits until everything is handed on, at most for the given time, and
// reports whether it is.
func (w *Writer) Flush(limit time.Duration) bool {
	w.mu.Lock()
	idle := w.idle
	w.mu.Unlock()
	if idle == nil {
		return true
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-idle:
		return true
	case <-timer.C:
		return false
	}
}
