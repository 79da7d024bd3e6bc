package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/bundle"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
	"github.com/aks-oneshot/aks-oneshot/internal/secret"
)

// service is what the library takes for the network ([http.RoundTripper]), and what
// downloads go by. It asks again what may pass by itself, and hands on answers that
// were understood: all others are a [*problem].
type service struct {
	client interface {
		Do(*http.Request) (*http.Response, error)
	}
	base   *url.URL
	v2     bool
	hidden *secret.Masked
	notify func(string)

	// tries is how often a request is sent, and limit what each try gets.
	tries int
	limit time.Duration
	// pause is at least half of what lies before the second try, and at most all of
	// it; it doubles with each. most bounds what a service may ask for.
	pause, most time.Duration
	// random returns a duration from 0 to the given one.
	random func(time.Duration) time.Duration
	// after is [time.AfterFunc], and returns how to stop it.
	after func(time.Duration, func()) (stop func() bool)
}

func newService(client *network.Client, base *url.URL, v2 bool, hidden *secret.Masked, notify func(string)) *service {
	if notify == nil {
		notify = func(string) {}
	}
	return &service{
		client: client, base: base, v2: v2, hidden: hidden, notify: notify,
		tries: 4, limit: 15 * time.Second,
		pause: time.Second, most: 20 * time.Second,
		random: func(d time.Duration) time.Duration { return rand.N(d + 1) }, //nolint:gosec // nobody gains by guessing a pause
		after:  func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop },
	}
}

// RoundTrip implements [http.RoundTripper] for the library.
func (s *service) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(io.LimitReader(req.Body, bundle.MaxSize+1))
		_ = req.Body.Close() // It was read; as a RoundTripper has to.
		if err != nil || len(body) > bundle.MaxSize {
			return nil, &problem{what: "the client of the cache sends more than an entry has"}
		}
	}
	c := s.callOf(req)
	progress := progressOf(req.Context())
	if c == finalize {
		progress.finalizing()
	}
	answer, err := s.repeat(req.Context(), req.URL.Host, func(ctx context.Context) ([]byte, error) {
		again := req.Clone(ctx)
		again.Body = nil
		if req.Body != nil {
			again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
		return s.ask(again, c)
	})
	if err != nil {
		return nil, err
	}
	answer, signed, err := s.understand(c, req.URL.Host, answer)
	if err != nil {
		return nil, err
	}
	if c == reserve {
		progress.reserved(signed, req.URL.Host)
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Body: io.NopCloser(bytes.NewReader(answer)), ContentLength: int64(len(answer)), Request: req,
	}, nil
}

// download returns what is at a signed address, at most [bundle.MaxSize] bytes.
func (s *service) download(ctx context.Context, address string) ([]byte, error) {
	u, err := s.signed(address)
	if err != nil {
		return nil, err
	}
	return s.repeat(ctx, u.Host, func(ctx context.Context) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return nil, s.unusable() // It repeats the address.
		}
		return s.ask(req, fetch)
	})
}

// signed checks an address that a service signed, and hides it. It may be as plain as
// that of the service.
func (s *service) signed(address string) (*url.URL, error) {
	s.hidden.AddSigned(address)
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || s.base.Scheme != "http") {
		return nil, s.unusable()
	}
	return u, nil
}

func (s *service) unusable() error {
	return &problem{what: s.base.Host + " answered with an address that is no https URL", fix: fixProxy(s.base.Host)}
}

// repeat asks until there is an answer, or nothing to be gained by asking again.
func (s *service) repeat(ctx context.Context, host string, ask func(context.Context) ([]byte, error)) ([]byte, error) {
	pause := s.pause
	for try := 1; ; try++ {
		answer, err := s.once(ctx, ask)
		if err == nil || ctx.Err() != nil {
			return answer, err
		}
		p, ok := errors.AsType[*problem](err)
		if !ok {
			p = s.unanswered(host, err)
		}
		if !p.temporary {
			return nil, p
		}
		wait := max(pause/2+s.random(pause/2), p.after)
		if end, ok := ctx.Deadline(); try == s.tries || ok && time.Until(end) <= wait {
			return nil, p.tried(try)
		}
		s.notify(fmt.Sprintf("The cache: %s; trying again in %s", p.what, wait.Round(100*time.Millisecond)))
		if err := network.Sleep(ctx, wait); err != nil {
			return nil, err
		}
		pause *= 2
	}
}

// once asks one time, within the limit. The time that is up then is nobody's
// deadline: the error has nothing of ctx.
func (s *service) once(ctx context.Context, ask func(context.Context) ([]byte, error)) ([]byte, error) {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := s.after(s.limit, cancel)
	defer stop()
	answer, err := ask(within)
	if _, understood := errors.AsType[*problem](err); err != nil && !understood && within.Err() != nil {
		err = context.DeadlineExceeded
	}
	return answer, err
}

// ask sends one request and reads its answer.
func (s *service) ask(req *http.Request, c call) ([]byte, error) {
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // It was read, or is of no use.
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode/100 != 2 {
		// What can be had of the body explains the status, which counts by itself.
		if c == lookUp && isMiss(resp.StatusCode, body) {
			return nil, nil
		}
		return nil, s.refused(c, req.URL.Host, resp, body)
	}
	return body, err
}

// call is what a request asks for.
type call string

const (
	lookUp   call = "look up"
	reserve  call = "reserve"
	store    call = "store" // v1; in v2 it goes to the blob service, past here
	finalize call = "finalize"
	fetch    call = "fetch" // from a signed address
)

// callOf tells what a request of the library is for.
func (s *service) callOf(req *http.Request) call {
	path := req.URL.Path
	switch {
	case s.v2 && strings.HasSuffix(path, "/GetCacheEntryDownloadURL"), !s.v2 && req.Method == http.MethodGet:
		return lookUp
	case s.v2 && strings.HasSuffix(path, "/CreateCacheEntry"), !s.v2 && strings.HasSuffix(path, "/caches"):
		return reserve
	case !s.v2 && req.Method == http.MethodPatch:
		return store
	}
	return finalize
}
