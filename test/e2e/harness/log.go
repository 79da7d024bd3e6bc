package harness

import (
	"bytes"
	"sync"
)

// log is written by a process and read meanwhile.
type log struct {
	mu   sync.Mutex
	b    bytes.Buffer
	more chan struct{} // closed with the next change
	over bool
}

func newLog() *log { return &log{more: make(chan struct{})} }

// Write implements [io.Writer].
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.more)
	l.more = make(chan struct{})
	return l.b.Write(p)
}

func (l *log) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.over = true
		close(l.more)
		l.more = make(chan struct{})
	}
}

func (l *log) changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.more
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
