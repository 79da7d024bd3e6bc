package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// storeWays are the stores that are measured, the first one beside the others. most
// is how many answers may be waited for before the create.
var storeWays = []struct {
	stores, name, title string
	most                float64
}{
	{stores: "none"},
	{"artifact", "artifact", "artifact", 3},
	{"cluster", "cluster", "cluster", 1},
	{"cache", "cache", "cache", 4},
	{"artifact,cluster", "both", "artifact and cluster", 4},
}

// signingKey is what the cache is not taken without.
const signingKey = "a key of the benchmark, of more than thirty-two bytes"

// withStores is what was measured of the way to the create of a Job, by the stores.
type withStores struct {
	// plain and delayed are how long it took, in milliseconds, without and with a
	// delay of every request; requests is how many a whole run sends.
	plain, delayed, requests map[string][]float64
}

// storing measures what stores add, n times each and in turn.
func (b *bench) storing(ctx context.Context) (withStores, error) {
	found := withStores{plain: map[string][]float64{}, delayed: map[string][]float64{}, requests: map[string][]float64{}}
	s, err := b.stage.World.Scenario(ctx, harness.Template{Name: "with-stores", Suspended: true})
	if err != nil {
		return found, err
	}
	kept, err := s.Keep(standin.StoresOptions{})
	if err != nil {
		return found, err
	}
	defer func() { _ = kept.Close() }() // Nothing follows that could be disturbed.
	proxy, err := harness.NewProxy(b.stage.Cluster)
	if err != nil {
		return found, err
	}
	defer func() { _ = proxy.Close() }()
	if err := s.ConnectTo(proxy.URL, proxy.CA); err != nil {
		return found, err
	}
	m := &storeMeter{bench: b, scenario: s, create: &arrival{}}
	m.between(proxy)
	for n := range b.n + 1 {
		for _, d := range []time.Duration{0, delay} {
			m.setDelay(d)
			for i := range storeWays {
				stores := storeWays[(n+i)%len(storeWays)].stores
				if n == 0 && d == 0 {
					// It warms up what is cached.
					sent, err := m.whole(ctx, stores)
					if err != nil {
						return found, err
					}
					found.requests[stores] = []float64{sent}
				}
				if n == 0 {
					continue
				}
				took, err := m.untilCreate(ctx, stores)
				if err != nil {
					return found, err
				}
				if d == 0 {
					found.plain[stores] = append(found.plain[stores], milliseconds(took))
				} else {
					found.delayed[stores] = append(found.delayed[stores], milliseconds(took))
				}
			}
		}
	}
	return found, nil
}

// storeMeter runs steps with stores, each with an execution of its own.
type storeMeter struct {
	*bench
	scenario *harness.Scenario
	create   *arrival
	runs     int

	delay    atomic.Int64
	hold     atomic.Bool
	requests atomic.Int64
}

// between has a proxy count and delay the requests to the API server, and keep the
// creates of Jobs where they are not wanted.
func (m *storeMeter) between(proxy *harness.Proxy) {
	proxy.On(func(r *http.Request) bool {
		m.requests.Add(1)
		if harness.IsCreate(r) {
			m.create.see(r)
		}
		return false
	}, -1, nil)
	proxy.On(func(r *http.Request) bool { return m.hold.Load() && harness.IsCreate(r) }, -1, harness.Hold(nil))
	proxy.On(harness.IsAny, -1, func(w http.ResponseWriter, r *http.Request, forward http.Handler, _ func()) {
		select {
		case <-time.After(time.Duration(m.delay.Load())):
			forward.ServeHTTP(w, r)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	})
}

func (m *storeMeter) setDelay(d time.Duration) {
	m.delay.Store(int64(d))
	m.scenario.Stores.SetDelay(d)
}

// step is the next one.
func (m *storeMeter) step(stores string) harness.Step {
	m.runs++
	one := step(m.scenario, fmt.Sprintf("with-stores-%d", m.runs), "print", "done")
	one.Env = m.scenario.Env
	one.Inputs["checkpoint-stores"] = stores
	if stores == "cache" {
		one.Inputs["checkpoint-key"] = signingKey
	}
	one.Inputs["work-dir"] = filepath.Join(m.scenario.Dir, fmt.Sprintf("records-%d", m.runs))
	return one
}

// whole runs a step to its end and returns how many requests that took.
func (m *storeMeter) whole(ctx context.Context, stores string) (float64, error) {
	m.hold.Store(false)
	before := m.requests.Load() + int64(m.scenario.Stores.Count())
	ended, err := m.act(ctx, m.stage.Runner, m.step(stores))
	if err == nil && ended.Outputs["dispatched"] != "true" {
		err = fmt.Errorf("the action created no Job:\n%s", ended.Log())
	}
	return float64(m.requests.Load() + int64(m.scenario.Stores.Count()) - before), err
}

// untilCreate returns how long it takes until the create of the Job arrives. It is
// kept there, and the run ends.
func (m *storeMeter) untilCreate(ctx context.Context, stores string) (time.Duration, error) {
	m.hold.Store(true)
	return m.create.after(func() error {
		run, err := m.stage.Runner.Start(context.WithoutCancel(ctx), m.step(stores))
		if err != nil {
			return err
		}
		for run.Running() && ctx.Err() == nil && !m.create.came() {
			time.Sleep(5 * time.Millisecond)
		}
		ended, err := run.Kill()
		if err == nil && !m.create.came() {
			err = fmt.Errorf("the action ended before the create of its Job:\n%s", ended.Log())
		}
		return err
	})
}

// came reports whether the first request came.
func (a *arrival) came() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.first.IsZero()
}

// figures sums up what was measured.
func (s withStores) figures() []Figure {
	var figures []Figure
	none := storeWays[0].stores
	for _, way := range storeWays[1:] {
		var added []float64
		for i, d := range s.delayed[way.stores] {
			// What a run takes without a delay is no delay.
			added = append(added, (d-s.plain[way.stores][i]-s.delayed[none][i]+s.plain[none][i])/milliseconds(delay))
		}
		figures = append(
			figures,
			Figure{
				Name: "stores_" + way.name, Title: way.title + ": start to the create of the Job", Unit: "ms", Statistic: median,
			}.compare(s.plain[way.stores], s.plain[none], nil),
			Figure{
				Name: "stores_" + way.name + "_delays", Title: fmt.Sprintf("%s: added before the create with %s added to each answer", way.title, delay),
				Unit: "delays", Statistic: median,
				Goal: &Goal{Text: fmt.Sprintf("at most %.0f, rounded", way.most), Of: "value", Limit: way.most + 0.5, Below: true},
			}.compare(added, nil, nil),
			Figure{
				Name: "stores_" + way.name + "_requests", Title: way.title + ": requests of a whole run", Unit: "requests", Statistic: median,
			}.compare(s.requests[way.stores], s.requests[none], nil),
		)
	}
	return slices.Clip(figures)
}
