package cluster

import (
	"math/rand/v2"
	"time"
)

// backoff is a pause that doubles from min to max each time it is taken.
type backoff struct {
	min, max time.Duration
	next     time.Duration
}

// reset starts over: things go well.
func (b *backoff) reset() { b.next = 0 }

// step returns the next pause, and up to a quarter more at random.
func (b *backoff) step() time.Duration {
	b.next = min(max(2*b.next, b.min), b.max)
	return b.next + rand.N(b.next/4+1) //nolint:gosec // spreads load, guards nothing
}
