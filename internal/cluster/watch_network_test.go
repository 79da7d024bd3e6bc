package cluster

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// wait watches the api's Job, as the engine does, for at most a while.
func wait(t *testing.T, c *Client) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("the wait never ended"))
	defer cancel()
	var last string
	err := c.WatchJob(ctx, testNamespace, testName, job(100, ""), func(job contract.Object) (bool, error) {
		last = label(job)
		return !terminal(job), nil
	})
	return last, err
}

func TestWatchOnRealConnections(t *testing.T) {
	t.Parallel()
	ends := func(_ *server, a *api) { a.publish(eventModified, job(101, "Complete")) }
	tests := map[string]struct {
		change func(*httptest.Server)
		fault  func(string, http.ResponseWriter, *http.Request) bool
		event  func(*server, *api)
		opened int32
	}{
		"HTTP/2":         {event: ends, opened: 1},
		"HTTP/1.1":       {change: http1, event: ends, opened: 2},
		"dropped":        {fault: once("watch", 3, drop), event: ends, opened: 4},
		"dropped 1.1":    {change: http1, fault: once("watch", 3, drop), event: ends, opened: 7},
		"never writes":   {fault: once("watch", 1, hang), event: ends, opened: 1},
		"never wrote1.1": {change: http1, fault: once("watch", 1, hang), event: ends, opened: 2},
		"connections closed": {opened: 2, event: func(s *server, a *api) {
			s.CloseClientConnections()
			a.publish(eventModified, job(101, "Complete"))
		}},
		"told to go away": {opened: 2, fault: once("get", 1, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close") // HTTP/2: GOAWAY
			w.WriteHeader(http.StatusServiceUnavailable)
		}), event: func(_ *server, a *api) {
			time.AfterFunc(400*time.Millisecond, func() { a.publish(eventModified, job(101, "Complete")) })
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t)
			a.fault = test.fault
			a.publish(eventAdded, job(100, ""))
			s := serve(t, a, test.change)
			time.AfterFunc(100*time.Millisecond, func() { test.event(s, a) })
			last, err := wait(t, connect(t, s.config()))
			if err != nil || last != "101" {
				t.Errorf("ended at %q: %v", last, err)
			}
			if n := s.opened.Load(); n > test.opened {
				t.Errorf("%d connections, want at most %d", n, test.opened)
			}
		})
	}
}

// A firewall that forgot the connection: no packet comes through, none is
// refused. New connections work.
func TestWatchOnAConnectionThatFellSilent(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*httptest.Server){"HTTP/2": nil, "HTTP/1.1": http1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t)
			a.publish(eventAdded, job(100, ""))
			s := serve(t, a, change)
			r := newRelay(t, s.Listener.Addr().String())
			cfg := s.config()
			cfg.Host = "https://" + r.Addr().String()
			began := time.Now()
			time.AfterFunc(200*time.Millisecond, func() {
				r.freeze()
				a.publish(eventModified, job(101, "Complete"))
			})
			last, err := wait(t, connect(t, cfg))
			if err != nil || last != "101" {
				t.Errorf("ended at %q: %v", last, err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}
