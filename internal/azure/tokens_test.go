package azure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// issuer issues numbered tokens, after a while.
type issuer struct {
	life, refresh, takes time.Duration

	mu     sync.Mutex
	asked  []time.Duration // since start
	start  time.Time
	fail   error
	repeat bool
	most   int
	now    int
}

func (i *issuer) ask(ctx context.Context) (azcore.AccessToken, error) {
	i.mu.Lock()
	i.asked = append(i.asked, time.Since(i.start))
	n, fail := len(i.asked), i.fail
	if i.repeat {
		n = 1
	}
	i.now++
	i.most = max(i.most, i.now)
	i.mu.Unlock()
	defer func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.now--
	}()
	select {
	case <-time.After(i.takes):
	case <-ctx.Done():
		return azcore.AccessToken{}, context.Cause(ctx)
	}
	if fail != nil {
		return azcore.AccessToken{}, fail
	}
	token := azcore.AccessToken{Token: fmt.Sprint("token-", n), ExpiresOn: time.Now().Add(i.life)}
	if i.refresh > 0 {
		token.RefreshOn = time.Now().Add(i.refresh)
	}
	return token, nil
}

func (i *issuer) set(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

func (i *issuer) times() []time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.asked)
}

// bubble runs a test with tokens that live for so long, in time that only passes
// when everybody waits.
func bubble(t *testing.T, i *issuer, test func(*testing.T, *tokens)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		i.start = time.Now()
		test(t, &tokens{ask: i.ask})
		time.Sleep(renewal) // What is under way ends.
	})
}

func want(t *testing.T, k *tokens, token string) {
	t.Helper()
	if got, _, err := k.present(t.Context()); err != nil || got.Token != token {
		t.Errorf("the present token is %q (%v), want %q", got.Token, err, token)
	}
}

func TestATokenIsRenewedAheadAndInTheBackground(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		life, refresh, renewed time.Duration
	}{
		"an hour":        {life: time.Hour, renewed: 55 * time.Minute},
		"20 s":           {life: 20 * time.Second, renewed: 16 * time.Second},
		"a day, refresh": {life: 24 * time.Hour, refresh: 12 * time.Hour, renewed: 12 * time.Hour},
		"a late refresh": {life: time.Hour, refresh: 59 * time.Minute, renewed: 55 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := &issuer{life: c.life, refresh: c.refresh, takes: time.Second}
			bubble(t, i, func(t *testing.T, k *tokens) {
				want(t, k, "token-1") // It is asked for at 0 s and there at 1 s.
				time.Sleep(c.renewed)
				want(t, k, "token-1")
				if n := len(i.times()); n != 1 {
					t.Errorf("it is asked for %d times before it is due", n)
				}
				time.Sleep(time.Millisecond)
				want(t, k, "token-1") // Nobody waits for the other one.
				synctest.Wait()
				if n := len(i.times()); n != 2 {
					t.Errorf("it is asked for %d times when it is due", n)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				want(t, k, "token-2")
			})
		})
	}
}

// A run uses its token every second for three hours, with tokens of 20 s: none is sent
// in the last tenth of its life, and only one is asked for at a time.
func TestATokenIsAlwaysGood(t *testing.T) {
	t.Parallel()
	i := &issuer{life: 20 * time.Second, takes: 500 * time.Millisecond}
	bubble(t, i, func(t *testing.T, k *tokens) {
		for range 3 * 60 * 60 {
			token, _, err := k.present(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if left := time.Until(token.ExpiresOn); left < 2*time.Second {
				t.Fatalf("a token is sent that is good for %s", left)
			}
			time.Sleep(time.Second)
		}
	})
	if i.most != 1 {
		t.Errorf("%d tokens are asked for at once", i.most)
	}
	if n := len(i.asked); n < 600 || n > 690 {
		t.Errorf("%d tokens are asked for in three hours", n)
	}
}

func TestAllWaitForOneRequest(t *testing.T) {
	t.Parallel()
	i := &issuer{life: time.Hour, takes: time.Second}
	bubble(t, i, func(t *testing.T, k *tokens) {
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() { want(t, k, "token-1") })
		}
		group.Wait()
	})
	if len(i.asked) != 1 {
		t.Errorf("it is asked for %d times", len(i.asked))
	}
}

// One who gives up leaves the request to the others.
func TestWaitingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	i := &issuer{life: time.Hour, takes: time.Second}
	bubble(t, i, func(t *testing.T, k *tokens) {
		stop := errors.New("stopped")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, stop)
		defer cancel()
		if _, _, err := k.present(ctx); !errors.Is(err, stop) {
			t.Errorf("waiting ends with %v", err)
		}
		want(t, k, "token-1")
	})
	if len(i.asked) != 1 {
		t.Errorf("it is asked for %d times", len(i.asked))
	}
}

func TestARenewalThatFailsIsTriedAgainLater(t *testing.T) {
	t.Parallel()
	i := &issuer{life: time.Hour, takes: time.Second}
	bubble(t, i, func(t *testing.T, k *tokens) {
		want(t, k, "token-1")
		i.set(func() { i.fail = errors.New("not now") })
		time.Sleep(56 * time.Minute)
		for range 25 {
			want(t, k, "token-1")
			synctest.Wait()
			time.Sleep(time.Second)
		}
		// Each takes 1 s, and there are 10 s after it.
		if n := len(i.times()) - 1; n != 3 {
			t.Errorf("in 25 s it is tried %d times", n)
		}
		i.set(func() { i.fail = nil })
		time.Sleep(again + time.Second)
		want(t, k, "token-1")
		time.Sleep(2 * time.Second)
		want(t, k, fmt.Sprint("token-", len(i.times())))
	})
}

func TestAFailureAfterTheEndIsToldToAllWhoWait(t *testing.T) {
	t.Parallel()
	i := &issuer{life: time.Minute, takes: time.Second}
	bubble(t, i, func(t *testing.T, k *tokens) {
		want(t, k, "token-1")
		fail := errors.New("not now")
		i.set(func() { i.fail = fail })
		time.Sleep(time.Minute)
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				if _, _, err := k.present(t.Context()); !errors.Is(err, fail) {
					t.Errorf("one who waits is told %v", err)
				}
			})
		}
		group.Wait()
		if n := len(i.times()); n != 2 {
			t.Errorf("it is asked for %d times", n)
		}
		i.set(func() { i.fail = nil })
		want(t, k, "token-3") // The next one asks again, at once.
	})
}

func TestATokenThatIsRejectedIsReplacedOnce(t *testing.T) {
	t.Parallel()
	i := &issuer{life: time.Hour, takes: time.Second}
	bubble(t, i, func(t *testing.T, k *tokens) {
		want(t, k, "token-1")
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				if token, err := k.replace(t.Context(), "token-1"); err != nil || token.Token != "token-2" {
					t.Errorf("it is replaced by %q, %v", token.Token, err)
				}
			})
		}
		group.Wait()
		// Whoever comes later with the old one is given the new one.
		if token, err := k.replace(t.Context(), "token-1"); err != nil || token.Token != "token-2" {
			t.Errorf("it is replaced by %q, %v", token.Token, err)
		}
	})
	if len(i.asked) != 2 {
		t.Errorf("it is asked for %d times", len(i.asked))
	}
}

// A server that rejects whatever it is shown causes a request every ten seconds,
// and not with each of its answers.
func TestAServerThatRejectsEverythingCausesFewRequests(t *testing.T) {
	t.Parallel()
	for name, takes := range map[string]time.Duration{"at once": 0, "in a second": time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := &issuer{life: time.Hour, takes: takes}
			bubble(t, i, func(t *testing.T, k *tokens) {
				want(t, k, "token-1")
				for range 20 {
					present, _, err := k.present(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if _, err := k.replace(t.Context(), present.Token); err != nil {
						t.Fatal(err)
					}
				}
				if n := len(i.times()); n != 2 {
					t.Errorf("20 answers cause %d requests, want that for the first token and one more", n)
				}
				time.Sleep(again)
				if token, err := k.replace(t.Context(), "token-2"); err != nil || token.Token != "token-3" {
					t.Errorf("later it is replaced by %q, %v", token.Token, err)
				}
			})
		})
	}
}

// What a replacement failed with is told until the next one is due.
func TestAReplacementThatFailsIsNotTriedWithEachAnswer(t *testing.T) {
	t.Parallel()
	i := &issuer{life: time.Hour, takes: time.Second}
	bubble(t, i, func(t *testing.T, k *tokens) {
		want(t, k, "token-1")
		fail := errors.New("not now")
		i.set(func() { i.fail = fail })
		for range 20 {
			if _, err := k.replace(t.Context(), "token-1"); !errors.Is(err, fail) {
				t.Errorf("it is replaced with %v", err)
			}
		}
		if n := len(i.times()); n != 2 {
			t.Errorf("it is asked for %d times", n)
		}
	})
}

// The clock here and the server's differ: a token is not sent in its last seconds.
func TestATokenIsNotSentInItsLastSeconds(t *testing.T) {
	t.Parallel()
	i := &issuer{life: time.Hour}
	bubble(t, i, func(t *testing.T, k *tokens) {
		want(t, k, "token-1")
		i.set(func() { i.fail = errors.New("not now") })
		time.Sleep(time.Hour - spare - time.Millisecond)
		want(t, k, "token-1")
		time.Sleep(time.Millisecond)
		if token, _, err := k.present(t.Context()); err == nil {
			t.Errorf("%s is sent", token.Token)
		}
	})
}

// People are told once that renewals fail, and once that they work again.
func TestRenewalsThatFailAreTold(t *testing.T) {
	t.Parallel()
	i := &issuer{life: time.Hour}
	bubble(t, i, func(t *testing.T, k *tokens) {
		var told []string
		k.notify = func(text string) { i.set(func() { told = append(told, text) }) }
		want(t, k, "token-1")
		use := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
				_, _, _ = k.present(t.Context()) // Whoever waits is told by what it returns.
			}
			synctest.Wait()
		}
		use(56 * time.Minute)
		f := failure.New(failure.CredentialFailed, "asking (correlation id 1)").WithFix("Wait")
		i.set(func() { i.fail = &tokenError{failure: f, temporary: true} })
		use(60 * time.Minute)
		i.set(func() { i.fail = nil })
		use(30 * time.Minute)
		wanted := []string{
			"a token of Entra for the API server could not be renewed; the present one is good for 4m59s more, and it is asked again meanwhile: asking (correlation id 1)",
			"a token of Entra for the API server could be had again",
		}
		if diff := cmp.Diff(wanted, told); diff != "" {
			t.Errorf("people are told (-want +got):\n%s", diff)
		}
	})
}

// A failure that comes again is told as it was, whatever id the request has: who
// tells each text once tells it once.
func TestAFailureThatComesAgainHasTheSameText(t *testing.T) {
	t.Parallel()
	i := &issuer{life: time.Hour}
	bubble(t, i, func(t *testing.T, k *tokens) {
		texts := map[string]bool{}
		for _, e := range []tokenError{
			{code: 700213}, {code: 700213}, {code: 53003}, {code: 53003}, {}, {}, {code: 53003, temporary: true},
		} {
			id := fmt.Sprint("asking, request ", len(i.times()))
			if e.code == 0 {
				id = "asking"
			}
			e.failure = failure.New(failure.CredentialFailed, "%s", id)
			i.set(func() { i.fail = &e })
			_, _, err := k.present(t.Context())
			texts[fmt.Sprint(err)] = true
		}
		if len(texts) != 4 {
			t.Errorf("the texts are %v", texts)
		}
	})
}

// A machine's own identity has a cache of its own, which gives the same token
// again: that must not become a request with every use.
func TestTheSameTokenIsNotAskedForAllTheTime(t *testing.T) {
	t.Parallel()
	i := &issuer{life: time.Hour, refresh: time.Minute, repeat: true}
	bubble(t, i, func(t *testing.T, k *tokens) {
		expires := time.Now().Add(time.Hour)
		k.ask = func(ctx context.Context) (azcore.AccessToken, error) {
			token, err := i.ask(ctx)
			token.ExpiresOn, token.RefreshOn = expires, i.start.Add(time.Minute)
			return token, err
		}
		for range 600 {
			want(t, k, "token-1")
			time.Sleep(time.Second)
		}
	})
	if n := len(i.asked); n < 40 || n > 60 {
		t.Errorf("it is asked for %d times in ten minutes", n)
	}
}

func TestTheFirstRequestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	i := &issuer{life: time.Hour, takes: time.Minute}
	bubble(t, i, func(t *testing.T, k *tokens) {
		stop := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		r := k.begin(ctx)
		cancel(stop)
		if _, err := r.last(ctx); !errors.Is(err, stop) {
			t.Errorf("it ends with %v", err)
		}
		if took := time.Since(i.start); took != 0 {
			t.Errorf("it ends after %s", took)
		}
		i.set(func() { i.takes = 0 })
		want(t, k, "token-2")
	})
}

// A request has its own end, so that nobody waits for ever.
func TestARequestThatHangsEnds(t *testing.T) {
	t.Parallel()
	i := &issuer{life: time.Hour, takes: 24 * time.Hour}
	bubble(t, i, func(t *testing.T, k *tokens) {
		if _, _, err := k.present(t.Context()); !errors.Is(err, errRenewal) {
			t.Errorf("it ends with %v", err)
		}
		if took := time.Since(i.start); took != renewal {
			t.Errorf("it ends after %s", took)
		}
	})
}

func TestAPanicIsToldToThoseWhoWait(t *testing.T) {
	t.Parallel()
	k := &tokens{ask: func(context.Context) (azcore.AccessToken, error) { panic("oh") }}
	if _, _, err := k.present(t.Context()); err == nil || err.Error() != "a bug in asking for a token (panic: oh)" {
		t.Errorf("it is told as %v", err)
	}
}
