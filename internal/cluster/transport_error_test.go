package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

func create(t *testing.T, cfg *rest.Config) error {
	t.Helper()
	_, err := connect(t, cfg).CreateJob(t.Context(), testNamespace, job(0, ""))
	return err
}

func TestServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	address := nobody(t)
	wantCallError(t, create(t, &rest.Config{Host: "https://" + address}), oneshot.Unavailable, address+" refused the connection")
}

func TestServerThatNeverFinishesTheHandshake(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	cfg := &rest.Config{Host: "https://" + listener.Addr().String()}
	// Nothing of the create was sent, so it is not one that timed out.
	wantCallError(t, create(t, cfg), oneshot.Unavailable, listener.Addr().String()+" did not answer in time")

	c := connect(t, cfg)
	c.times.request = 50 * time.Millisecond
	_, err = c.CreateJob(t.Context(), testNamespace, job(0, ""))
	wantCallError(t, err, oneshot.Unavailable, "no connection in the time that a request gets")
}

func TestProxyThatWorks(t *testing.T) {
	t.Parallel()
	s := serve(t, newAPI(t), nil)
	p := proxy(t)
	cfg := s.config()
	cfg.Proxy = through(t, p.URL)
	if err := create(t, cfg); err != nil || len(p.Hosts()) != 1 {
		t.Errorf("asked for %q, %v", p.Hosts(), err)
	}
}

// A connection that dies without a word after a create was sent on it: whether
// the create has its effect is open, as when no answer came in time.
func TestConnectionThatFallsSilent(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	s := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
	}), nil)
	r := newRelay(t, s.Listener.Addr().String())
	cfg := s.config()
	cfg.Host = "https://" + r.Addr().String()
	go func() {
		<-arrived
		r.freeze()
	}()
	began := time.Now()
	wantCallError(t, create(t, cfg), oneshot.TimedOut, "connection lost")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("noticed after %s", took)
	}
}

func TestCredentialThatCannotBeHad(t *testing.T) {
	t.Parallel()
	s := serve(t, http.NotFoundHandler(), nil)
	cfg := s.config()
	cfg.BearerToken = ""
	want := failure.New(failure.CredentialFailed, "no id token")
	cfg.WrapTransport = func(http.RoundTripper) http.RoundTripper { return failing{want} }
	err := create(t, cfg)
	wantCallError(t, err, oneshot.Unreachable, "no id token")
	if failure.CodeOf(err) != failure.CredentialFailed {
		t.Errorf("code %q", failure.CodeOf(err))
	}
	// The code is told by whoever tells of the run.
	if strings.Contains(err.Error(), string(failure.CredentialFailed)) {
		t.Errorf("the code is in: %v", err)
	}
}

// pending is what a wrapper returns that is still waiting when the time of a request
// is up.
type pending struct{ error }

func (pending) Waiting() string { return "a token of Entra" }
func (p pending) Unwrap() error { return p.error }

// late waits for a token that does not come; with sent, for one that is to replace
// the one that the server did not accept.
type late struct {
	next http.RoundTripper
	sent bool
}

func (l late) RoundTrip(req *http.Request) (*http.Response, error) {
	if l.sent {
		resp, err := l.next.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		_ = resp.Body.Close()
	}
	<-req.Context().Done()
	return nil, fmt.Errorf("refreshing: %w", pending{fmt.Errorf("waiting for a token of Entra: %w", context.Cause(req.Context()))})
}

// A token that does not come in the time of a request is told as that, and not as a
// connection that could not be had.
func TestCredentialThatIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, sent := range []bool{false, true} {
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusUnauthorized)
		}), nil)
		cfg := s.config()
		cfg.BearerToken = ""
		cfg.WrapTransport = func(next http.RoundTripper) http.RoundTripper { return late{next, sent} }
		// It had no effect, whatever was sent before and whoever's time is up.
		for _, end := range []struct{ request, run time.Duration }{{200 * time.Millisecond, time.Minute}, {time.Minute, 200 * time.Millisecond}} {
			c := connect(t, cfg)
			c.times.request = end.request
			ctx, cancel := context.WithTimeout(t.Context(), end.run)
			_, err := c.CreateJob(ctx, testNamespace, job(0, ""))
			cancel()
			wantCallError(t, err, oneshot.Throttled, "waiting for a token of Entra")
			if call, ok := errors.AsType[*oneshot.CallError](err); !ok || !call.Temporary() || call.Status != 0 || failure.CodeOf(err) != "" {
				t.Errorf("sent %t, %+v: %v", sent, end, err)
			}
		}
	}
}

// Settings that the client must not be made with.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]*rest.Config{
		"only https is allowed":   {Host: "http://api.example"},
		"is not a URL":            {Host: ""},
		"not verified":            {Host: "https://api.example", TLSClientConfig: rest.TLSClientConfig{Insecure: true}},
		"transport of its own":    {Host: "https://api.example", Transport: http.DefaultTransport},
		"root certificates":       {Host: "https://api.example", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("x")}},
		"username/password or be": {Host: "https://api.example", Username: "u", Password: "p", BearerToken: "t"},
	}
	for want, cfg := range tests {
		_, err := New(cfg)
		if failure.CodeOf(err) != failure.ConfigInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want config-invalid with %q", err, want)
		}
	}
}
