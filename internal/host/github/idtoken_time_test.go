package github

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// answers is a service without a network, for what takes time.
type answers func(*http.Request) (*http.Response, error)

func (a answers) Do(req *http.Request) (*http.Response, error) { return a(req) }

func answered(code int, header http.Header, body string) (*http.Response, error) {
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func patient(t *testing.T, do answers) *Host {
	t.Helper()
	h, _ := step(t, map[string]string{requestURL: "https://token.example/", requestToken: bearer})
	h.idTokens.client = do
	return h
}

// The pauses double, half of each is left to chance, and the service may ask for
// more.
func TestPausesBetweenTries(t *testing.T) {
	t.Parallel()
	none := func(time.Duration) time.Duration { return 0 }
	all := func(d time.Duration) time.Duration { return d }
	for _, test := range []struct {
		asked  string
		random func(time.Duration) time.Duration
		want   time.Duration
	}{
		{"", none, 500*time.Millisecond + time.Second},
		{"", all, time.Second + 2*time.Second},
		{"1", none, time.Second + time.Second},
		{"1", all, time.Second + 2*time.Second},
		{"7", all, 7*time.Second + 7*time.Second},
		{"3600", none, 30*time.Second + 30*time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := patient(t, func(*http.Request) (*http.Response, error) {
				return answered(http.StatusTooManyRequests, http.Header{"Retry-After": {test.asked}}, "")
			})
			h.idTokens.random = test.random
			began := time.Now()
			_, err := h.IDToken(t.Context(), "a")
			var temporary interface{ Temporary() bool }
			if failure.CodeOf(err) != failure.CredentialFailed || !errors.As(err, &temporary) || !temporary.Temporary() {
				t.Errorf("%v", err)
			}
			if took := time.Since(began); took != test.want {
				t.Errorf("Retry-After %q: it took %s, want %s", test.asked, took, test.want)
			}
		})
	}
	for range 100 {
		if d := newIDTokens(network.ClientOptions{}).random(time.Second); d < 0 || d > time.Second {
			t.Errorf("%s at random", d)
		}
	}
}

func TestServiceThatNeverAnswers(t *testing.T) {
	t.Parallel()
	hang := func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, fmt.Errorf("could not reach token.example: %w", context.Cause(req.Context()))
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := patient(t, hang).IDToken(t.Context(), "a")
		const want = "credential-failed: could not get an id token of this job: token.example did not answer in time. " +
			"It was tried 3 times. Check that this runner's network lets it reach token.example on port 443"
		if err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
		if took := time.Since(began); took < 45*time.Second || took > 50*time.Second {
			t.Errorf("it took %s", took)
		}
	})
	// A caller who stops is told so, not that the service is at fault.
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("the runner asked to stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Second, func() { cancel(stop) })
		if _, err := patient(t, hang).IDToken(ctx, "a"); !errors.Is(err, stop) || failure.CodeOf(err) != "" {
			t.Errorf("%v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("the runner asked to stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(100*time.Millisecond, func() { cancel(stop) })
		h := patient(t, func(*http.Request) (*http.Response, error) { return answered(500, nil, "") })
		if _, err := h.IDToken(ctx, "a"); !errors.Is(err, stop) {
			t.Errorf("during a pause: %v", err)
		}
	})
	// Nothing is waited for that would come too late.
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		h := patient(t, func(*http.Request) (*http.Response, error) {
			return answered(503, http.Header{"Retry-After": {"20"}}, "")
		})
		if _, err := h.IDToken(ctx, "a"); failure.CodeOf(err) != failure.CredentialFailed || time.Since(began) != 0 {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}
