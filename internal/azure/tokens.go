package azure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// tokens keeps a token present: it is renewed ahead of its expiry, while those
// who need one use the old one, and only one request for a token is under way at
// a time.
type tokens struct {
	// ask asks for a token that nobody had before.
	ask func(ctx context.Context) (azcore.AccessToken, error)
	// notify, if not nil, is told when renewals begin to fail and when they work
	// again.
	notify func(text string)

	mu      sync.Mutex
	current azcore.AccessToken
	// renew is when the present token is to be replaced, usable how long it may
	// be used.
	renew, usable time.Time
	asking        *request
	// replacing is the last request on account of a token that was rejected.
	replacing *request
	// failed is the last failure, since which none has succeeded, and told says
	// that people know.
	failed error
	told   bool
}

// request is one for a token, under way or done.
type request struct {
	begin time.Time
	done  chan struct{}
	token azcore.AccessToken
	err   error
}

const (
	// renewal is how long a renewal may take; nobody waits for it as long as the
	// present token is good.
	renewal = 90 * time.Second
	// ahead is how long before its expiry a token is renewed, and at most a fifth
	// of its life.
	ahead = 5 * time.Minute
	// spare is how long a token has to be good for still, to be sent: the clock
	// here and the server's differ. At most a tenth of its life.
	spare = 10 * time.Second
	// again is the pause after a renewal that failed, and after one that a server
	// which rejects tokens has caused.
	again = 10 * time.Second
)

// begin asks for the first token, so that it is there, or on its way, when it is
// needed. The request ends with ctx.
func (t *tokens) begin(ctx context.Context) *request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.request(ctx)
}

// present returns a token that is good now, and whether it had to be waited for.
func (t *tokens) present(ctx context.Context) (token azcore.AccessToken, waited bool, err error) {
	t.mu.Lock()
	now := time.Now()
	if now.Before(t.usable) {
		if now.After(t.renew) {
			t.request(context.Background())
		}
		defer t.mu.Unlock()
		return t.current, false, nil
	}
	r := t.request(context.Background())
	t.mu.Unlock()
	token, err = r.wait(ctx)
	return token, true, err
}

// replace returns another token than the one that was rejected, or that one when
// it has only just replaced another: a server that rejects whatever it is shown
// causes a request now and then, and not with each of its answers.
func (t *tokens) replace(ctx context.Context, rejected string) (azcore.AccessToken, error) {
	t.mu.Lock()
	if t.current.Token != rejected && time.Now().Before(t.usable) {
		defer t.mu.Unlock()
		return t.current, nil // Somebody else has replaced it.
	}
	r := t.replacing
	if r == nil || time.Since(r.begin) >= again {
		r = t.request(context.Background())
		t.replacing = r
	}
	t.mu.Unlock()
	return r.wait(ctx)
}

// request returns the request that is under way, or a new one. It belongs to all
// who wait for it, so none of them can end it; only a first one has somebody who
// can. It is called with the lock held.
func (t *tokens) request(ctx context.Context) *request {
	if t.asking != nil {
		return t.asking
	}
	r := &request{begin: time.Now(), done: make(chan struct{})}
	t.asking = r
	go t.fill(ctx, r)
	return r
}

// fill carries a request out.
func (t *tokens) fill(ctx context.Context, r *request) {
	ctx, cancel := context.WithTimeoutCause(ctx, renewal, errRenewal)
	defer cancel()
	token, err := guarded("asking for a token", func() (azcore.AccessToken, error) { return t.ask(ctx) })
	if text := t.end(r, token, err); text != "" && t.notify != nil {
		t.notify(text)
	}
}

// end makes what came of a request known to all who wait for it, and returns what
// people should be told of it.
func (t *tokens) end(r *request, token azcore.AccessToken, err error) (notice string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer close(r.done)
	t.asking = nil
	if err == nil {
		if t.told {
			notice = "a token of Entra for the API server could be had again"
		}
		t.failed, t.told = nil, false
		r.token = token
		t.keep(token, r.begin)
		return notice
	}
	if !alike(t.failed, err) {
		t.failed = err
	}
	r.err = t.failed
	t.renew = time.Now().Add(again)
	// Who waits is told by what it returns.
	if now := time.Now(); !t.told && now.Before(t.usable) {
		t.told = true
		notice = fmt.Sprintf("a token of Entra for the API server could not be renewed; the present one is good for %s more, and it is asked again meanwhile: %s",
			t.current.ExpiresOn.Sub(now).Round(time.Second), text(err))
	}
	return notice
}

// alike reports whether two failures are the same but for what differs each time,
// as the id of a request does. Who tells a failure once tells the first one.
func alike(one, other error) bool {
	a, isToken := errors.AsType[*tokenError](one)
	b, alsoToken := errors.AsType[*tokenError](other)
	if !isToken || !alsoToken || a.temporary != b.temporary || a.code != b.code {
		return false
	}
	return a.code != 0 || a.failure.Text() == b.failure.Text()
}

var errRenewal = errors.New("a token was not to be had within " + renewal.String())

// replaced reports whether a token is one that replaced another which had been
// rejected.
func (t *tokens) replaced(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.replacing == nil {
		return false
	}
	select {
	case <-t.replacing.done:
		return t.replacing.token.Token == token
	default:
		return false
	}
}

// keep makes a token the present one.
func (t *tokens) keep(token azcore.AccessToken, asked time.Time) {
	life := token.ExpiresOn.Sub(asked)
	t.usable = token.ExpiresOn.Add(-min(spare, life/10))
	t.renew = token.ExpiresOn.Add(-min(ahead, life/5))
	if !token.RefreshOn.IsZero() && token.RefreshOn.Before(t.renew) {
		t.renew = token.RefreshOn
	}
	if life <= 0 {
		// It ended before it was asked for, so this machine's clock is ahead. The
		// server's counts, and says so if it does not take the token.
		t.usable = asked.Add(again)
		t.renew = t.usable
	}
	if soon := asked.Add(again); token.Token == t.current.Token && t.renew.Before(soon) {
		t.renew = soon // Somebody else keeps tokens too, and has no other one yet.
	}
	t.current = token
}

// last waits as wait does, for a request that ends with ctx too: what it has to
// tell then says more than that the time was up.
func (r *request) last(ctx context.Context) (azcore.AccessToken, error) {
	token, err := r.wait(ctx)
	if ctx.Err() == nil {
		return token, err
	}
	ending, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), time.Second, context.Cause(ctx))
	defer cancel()
	return r.wait(ending)
}

func (r *request) wait(ctx context.Context) (azcore.AccessToken, error) {
	select {
	case <-r.done:
		return r.token, r.err
	case <-ctx.Done():
		return azcore.AccessToken{}, context.Cause(ctx)
	}
}
