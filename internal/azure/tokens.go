package azure

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// tokens keeps a token present: it is renewed ahead of its expiry, while those
// who need one use the old one, and only one request for a token is under way at
// a time.
type tokens struct {
	// ask asks for a token; another says that no known one will do.
	ask func(ctx context.Context, another bool) (azcore.AccessToken, error)

	mu      sync.Mutex
	current azcore.AccessToken
	// renew is when the present token is to be replaced, usable how long it may
	// be used.
	renew, usable time.Time
	asking        *request
}

// request is one for a token, under way or done.
type request struct {
	done  chan struct{}
	token string
	err   error
}

const (
	// renewal is how long a renewal may take; nobody waits for it as long as the
	// present token is good.
	renewal = time.Minute
	// ahead is how long before its expiry a token is renewed, and at most a fifth
	// of its life.
	ahead = 5 * time.Minute
	// spare is how long a token has to be good for still, to be sent: the clock
	// here and the server's differ. At most a tenth of its life.
	spare = 10 * time.Second
	// again is the pause after a renewal that failed.
	again = 10 * time.Second
)

// begin asks for the first token, so that it is there, or on its way, when it is
// needed.
func (t *tokens) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.request(false)
}

// present returns a token that is good now.
func (t *tokens) present(ctx context.Context) (string, error) {
	t.mu.Lock()
	now := time.Now()
	if now.Before(t.usable) {
		if now.After(t.renew) {
			t.request(false)
		}
		defer t.mu.Unlock()
		return t.current.Token, nil
	}
	r := t.request(false)
	t.mu.Unlock()
	return r.wait(ctx)
}

// replace returns another token than the one that was rejected.
func (t *tokens) replace(ctx context.Context, rejected string) (string, error) {
	t.mu.Lock()
	if t.current.Token != rejected && time.Now().Before(t.usable) {
		defer t.mu.Unlock()
		return t.current.Token, nil // Somebody else has replaced it.
	}
	r := t.request(true)
	t.mu.Unlock()
	return r.wait(ctx)
}

// request returns the request that is under way, or a new one. It is called with
// the lock held.
func (t *tokens) request(another bool) *request {
	if t.asking != nil {
		return t.asking
	}
	r := &request{done: make(chan struct{})}
	t.asking = r
	go t.fill(r, another)
	return r
}

// fill carries a request out. It belongs to all who wait for it, so none of them
// can end it.
func (t *tokens) fill(r *request, another bool) {
	ctx, cancel := context.WithTimeout(context.Background(), renewal)
	defer cancel()
	begin := time.Now()
	token, err := t.guarded(ctx, another)
	t.mu.Lock()
	defer t.mu.Unlock()
	defer close(r.done)
	t.asking = nil
	now := time.Now()
	if err != nil {
		r.err = err
		t.renew = now.Add(again)
		return
	}
	r.token = token.Token
	life := token.ExpiresOn.Sub(begin)
	t.current = token
	t.usable = token.ExpiresOn.Add(-min(spare, life/10))
	t.renew = token.ExpiresOn.Add(-min(ahead, life/5))
	if !token.RefreshOn.IsZero() && token.RefreshOn.Before(t.renew) {
		t.renew = token.RefreshOn
	}
}

// guarded is ask, and turns a panic into an error: people are told of a bug by
// those who wait, and a process that a goroutine ends tells nothing.
func (t *tokens) guarded(ctx context.Context, another bool) (token azcore.AccessToken, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a bug in asking for a token (panic: %v)", p)
		}
	}()
	return t.ask(ctx, another)
}

func (r *request) wait(ctx context.Context) (string, error) {
	select {
	case <-r.done:
		return r.token, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
