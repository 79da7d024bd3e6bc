package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// delay is what is added to each answer of GitHub, Entra and Azure Resource
// Manager, to see how many of them a run waits for one after the other.
const delay = 100 * time.Millisecond

// signIn is what was measured of the way to the first request to Kubernetes, for
// the action and for kubectl with kubelogin.
type signIn struct {
	// plain and delayed are how long it took, in milliseconds, without and with a
	// delay; requests is how many requests it took to those before Kubernetes.
	plain, delayed, requests [2][]float64
}

// signIns measures that, n times each and in turn. The Job has run before: a
// re-run asks for the same until it knows so.
func (b *bench) signIns(ctx context.Context) (found signIn, err error) {
	s, err := b.stage.World.Scenario(ctx, harness.Template{Name: "sign-in", Suspended: true})
	if err != nil {
		return found, err
	}
	azure, err := s.SignIn()
	if err != nil {
		return found, err
	}
	defer func() { _ = azure.Close() }() // Nothing follows that could be disturbed.
	if err := azure.Bind(ctx); err != nil {
		return found, err
	}
	proxy, err := harness.NewProxy(b.stage.Cluster)
	if err != nil {
		return found, err
	}
	defer func() { _ = proxy.Close() }()
	if err := s.ConnectTo(proxy.URL, proxy.CA); err != nil {
		return found, err
	}
	arrival := &arrival{}
	proxy.On(arrival.see, -1, nil)
	ways := []func(context.Context) error{func(ctx context.Context) error {
		run, err := s.Run(ctx)
		if err == nil && run.Status != 0 {
			err = fmt.Errorf("the action ended with status %d:\n%s", run.Status, run.Log())
		}
		return err
	}}
	if b.kubeloginPath != "" {
		login, err := b.newLogin(azure, s.Name, proxy)
		if err != nil {
			return found, err
		}
		ways = append(ways, login.run)
	}
	for n := range b.n + 1 {
		for _, d := range []time.Duration{0, delay} {
			azure.SetDelay(d)
			for i := range ways {
				way := (n + i) % len(ways)
				before := len(azure.Requests())
				took, err := arrival.after(func() error { return ways[way](ctx) })
				if err != nil {
					return found, err
				}
				if n == 0 {
					continue // It warms up what is cached, and runs the Job.
				}
				if d == 0 {
					found.plain[way] = append(found.plain[way], milliseconds(took))
					found.requests[way] = append(found.requests[way], float64(len(azure.Requests())-before))
				} else {
					found.delayed[way] = append(found.delayed[way], milliseconds(took))
				}
			}
		}
	}
	return found, nil
}

// arrival notes when the first request came.
type arrival struct {
	mu    sync.Mutex
	first time.Time
}

func (a *arrival) see(*http.Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.first.IsZero() {
		a.first = time.Now()
	}
	return false
}

// after runs something and returns how long after its beginning the first
// request came.
func (a *arrival) after(run func() error) (time.Duration, error) {
	a.mu.Lock()
	a.first = time.Time{}
	a.mu.Unlock()
	begin := time.Now()
	if err := run(); err != nil {
		return 0, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.first.IsZero() {
		return 0, fmt.Errorf("no request came to the API server")
	}
	return a.first.Sub(begin), nil
}

// figures sums up what was measured.
func (s signIn) figures() []Figure {
	inDelays := func(ms []float64) []float64 {
		var delays []float64
		for _, m := range ms {
			delays = append(delays, m/milliseconds(delay))
		}
		return delays
	}
	return []Figure{
		Figure{
			Name: "sign_in", Title: "sign-in: start to first request to Kubernetes", Unit: "ms", Statistic: median,
		}.compare(s.plain[0], s.plain[1], nil),
		Figure{
			Name: "sign_in_delays", Title: fmt.Sprintf("the same with %s added to each answer", delay), Unit: "delays", Statistic: median,
			Goal: &Goal{Text: "at most 4", Of: "value", Limit: 4},
		}.compare(inDelays(s.delayed[0]), inDelays(s.delayed[1]), nil),
		Figure{
			Name: "sign_in_requests", Title: "sign-in: requests to GitHub, Entra and Azure", Unit: "requests", Statistic: median,
		}.compare(s.requests[0], s.requests[1], nil),
	}
}
