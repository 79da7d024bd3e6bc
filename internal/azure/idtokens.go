package azure

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// idTokens hands out id tokens, each once. The first ones are asked for while
// the SDK still asks Entra for its addresses: one round trip less before the
// first request to the cluster.
type idTokens struct {
	ask func(ctx context.Context) (string, error)
	// ended is closed when nobody goes on with what was asked for ahead.
	ended <-chan struct{}

	mu sync.Mutex
	// ahead are those that were asked for before they were needed.
	ahead []<-chan idToken
}

type idToken struct {
	token string
	err   error
	asked time.Time
}

// young is how old an id token that was asked for ahead may be when it is used.
// GitHub's are good for about five minutes.
const young = time.Minute

// newIDTokens asks for the first tokens; these requests end with ctx.
func newIDTokens(ctx context.Context, first int, ask func(context.Context) (string, error)) *idTokens {
	t := &idTokens{ended: ctx.Done(), ask: func(ctx context.Context) (string, error) {
		return guarded("asking for an id token", func() (string, error) { return ask(ctx) })
	}}
	for range first {
		one := make(chan idToken, 1)
		t.ahead = append(t.ahead, one)
		go func() {
			asked := time.Now()
			token, err := t.ask(ctx)
			one <- idToken{token, err, asked}
		}()
	}
	return t
}

// next returns a token that was not handed out before. The failure of one that
// was asked for ahead is told once: whoever tries again has it asked for again.
// What has ended is not: that is the end of Connect, which may be long ago.
func (t *idTokens) next(ctx context.Context) (string, error) {
	if one := t.take(); one != nil {
		select {
		case got := <-one:
			if time.Since(got.asked) < young && (got.err == nil || !t.over()) {
				return got.token, got.err
			}
		case <-ctx.Done():
			return "", fmt.Errorf("could not get an id token of this job: %w", context.Cause(ctx))
		}
	}
	return t.ask(ctx)
}

func (t *idTokens) over() bool {
	select {
	case <-t.ended:
		return true
	default:
		return false
	}
}

func (t *idTokens) take() <-chan idToken {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.ahead) == 0 {
		return nil
	}
	one := t.ahead[0]
	t.ahead = t.ahead[1:]
	return one
}
