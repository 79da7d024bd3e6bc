package azure

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// hub hands out numbered id tokens after a second.
type hub struct {
	mu    sync.Mutex
	asked int
	fail  map[int]error
}

func (h *hub) ask(ctx context.Context) (string, error) {
	h.mu.Lock()
	h.asked++
	n, fail := h.asked, h.fail[h.asked]
	h.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	return strconv.Itoa(n), fail
}

func next(t *testing.T, k *idTokens) string {
	t.Helper()
	token, err := k.next(t.Context())
	if err != nil {
		return err.Error()
	}
	return token
}

func TestIDTokensAreAskedForAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		k := newIDTokens(t.Context(), 2, (&hub{}).ask)
		time.Sleep(time.Second)
		got := []string{next(t, k), next(t, k)}
		slices.Sort(got)
		if took := time.Since(begin); took != time.Second || !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("after %s there are %v", took, got)
		}
		if token := next(t, k); token != "3" || time.Since(begin) != 2*time.Second {
			t.Errorf("the next one is %s, after %s", token, time.Since(begin))
		}
	})
}

// Each token is handed out once, whoever asks at once.
func TestIDTokensAreHandedOutOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newIDTokens(t.Context(), 2, (&hub{}).ask)
		var mu sync.Mutex
		var got []string
		var group sync.WaitGroup
		for range 9 {
			group.Go(func() {
				token := next(t, k)
				mu.Lock()
				defer mu.Unlock()
				got = append(got, token)
			})
		}
		group.Wait()
		slices.Sort(got)
		if len(slices.Compact(got)) != 9 {
			t.Errorf("they are %v", got)
		}
	})
}

func TestAnOldIDTokenIsNotUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newIDTokens(t.Context(), 1, (&hub{}).ask)
		time.Sleep(young)
		if token := next(t, k); token != "2" {
			t.Errorf("it is %s", token)
		}
	})
}

func TestAnIDTokenThatFailedAheadIsAskedForAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newIDTokens(t.Context(), 1, (&hub{fail: map[int]error{1: errors.New("not now")}}).ask)
		if got := []string{next(t, k), next(t, k)}; !slices.Equal(got, []string{"not now", "2"}) {
			t.Errorf("they are %v", got)
		}
	})
}

func TestWaitingForAnIDTokenEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("stopped")
		ahead, cancelAhead := context.WithCancelCause(t.Context())
		k := newIDTokens(ahead, 2, (&hub{}).ask)
		mine, cancel := context.WithCancelCause(t.Context())
		cancel(stop)
		if _, err := k.next(mine); !errors.Is(err, stop) {
			t.Errorf("waiting ends with %v", err)
		}
		cancelAhead(stop)
		synctest.Wait()
		if got := next(t, k); got != "3" {
			t.Errorf("in place of the one that ended there is %s", got)
		}
	})
}

func TestAPanicInAskingForAnIDTokenIsAnError(t *testing.T) {
	t.Parallel()
	k := newIDTokens(t.Context(), 1, func(context.Context) (string, error) { panic("oh") })
	for range 2 {
		if _, err := k.next(t.Context()); err == nil || err.Error() != "a bug in asking for an id token (panic: oh)" {
			t.Errorf("it is told as %v", err)
		}
	}
}
