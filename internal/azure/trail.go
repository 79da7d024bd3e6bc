package azure

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

// trail is what happened on the way to a token, or in a call.
type trail struct {
	mu   sync.Mutex
	seen seen
}

// seen is the last of each.
type seen struct {
	// claims are those of the id token that was presented.
	claims claims
	// answer is what was answered, err why there was none from host, and cause an
	// error of our own that the SDK makes a text of.
	answer answer
	host   string
	err    error
	cause  error
}

// spoilt reports whether a network or a busy server spoiled what was asked last.
func (s seen) spoilt() bool {
	if s.err != nil {
		var lasts *lasting
		return s.cause == nil && !errors.As(s.err, &lasts)
	}
	return s.cause == nil && busy(s.answer.status)
}

// answer is an answer of whatever status; a status of 0 is none.
type answer struct {
	host   string
	status int
	header http.Header
	body   []byte
}

type trailKey struct{}

// withTrail returns a context whose requests leave a trail.
func withTrail(ctx context.Context) (context.Context, *trail) {
	t := &trail{}
	return context.WithValue(ctx, trailKey{}, t), t
}

// trailOf returns the context's trail, or one that nobody reads.
func trailOf(ctx context.Context) *trail {
	if t, ok := ctx.Value(trailKey{}).(*trail); ok {
		return t
	}
	return &trail{}
}

func (t *trail) presented(c claims) { t.note(func(s *seen) { s.claims = c }) }

func (t *trail) answered(a answer) {
	t.note(func(s *seen) { s.answer, s.host, s.err, s.cause = a, a.host, nil, nil })
}

func (t *trail) failed(host string, err error) {
	t.note(func(s *seen) { s.answer, s.host, s.err, s.cause = answer{}, host, err, nil })
}

// blame notes an error that is the reason for what comes next.
func (t *trail) blame(err error) { t.note(func(s *seen) { s.cause = err }) }

func (t *trail) note(what func(*seen)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	what(&t.seen)
}

// end returns what was seen.
func (t *trail) end() seen {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen
}
