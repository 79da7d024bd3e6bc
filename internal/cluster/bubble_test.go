package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// memory is a transport without a network, so that time can be the test's own:
// it calls the handler and hands on what it writes as it writes it.
type memory struct {
	handler http.Handler
	// renewed counts how often connections were given up.
	renewed *atomic.Int32
}

func (m memory) CloseIdleConnections() { m.renewed.Add(1) }

func (m memory) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	httptrace.ContextClientTrace(ctx).GotConn(httptrace.GotConnInfo{})
	reader, writer := io.Pipe()
	w := &memoryWriter{header: http.Header{}, body: writer, begun: make(chan struct{})}
	go func() {
		defer func() {
			if recover() != nil {
				w.aborted.Store(true)
				_ = writer.CloseWithError(io.ErrUnexpectedEOF)
			}
			_ = writer.Close()
			w.WriteHeader(http.StatusOK)
		}()
		if req.Body == nil {
			req.Body = http.NoBody
		}
		m.handler.ServeHTTP(w, req)
	}()
	select {
	case <-w.begun:
	case <-ctx.Done():
		_ = reader.CloseWithError(ctx.Err())
		return nil, ctx.Err()
	}
	if w.aborted.Load() {
		return nil, errors.New("connection reset by peer")
	}
	stop := context.AfterFunc(ctx, func() { _ = reader.CloseWithError(ctx.Err()) })
	return &http.Response{StatusCode: w.status, Header: w.header, Body: memoryBody{reader, stop}, Request: req}, nil
}

type memoryBody struct {
	*io.PipeReader
	stop func() bool
}

func (b memoryBody) Close() error {
	b.stop()
	return b.PipeReader.Close()
}

type memoryWriter struct {
	header  http.Header
	body    *io.PipeWriter
	once    sync.Once
	status  int
	begun   chan struct{}
	aborted atomic.Bool
}

func (w *memoryWriter) Header() http.Header { return w.header }

func (w *memoryWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status = status
		close(w.begun)
	})
}

func (w *memoryWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

func (w *memoryWriter) Flush() { w.WriteHeader(http.StatusOK) }

// world is a client of an [api] in a bubble of time.
type world struct {
	*api
	t       *testing.T
	client  *Client
	renewed atomic.Int32
	start   time.Time

	toldMu sync.Mutex
	told   []string
}

// bubble runs a test on a clock that moves only when all wait.
func bubble(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{api: newAPI(t), t: t, start: time.Now()}
		c, err := New(&rest.Config{Host: "https://api.example"}, WithNotify(func(text string) {
			w.toldMu.Lock()
			defer w.toldMu.Unlock()
			w.told = append(w.told, text)
		}))
		if err != nil {
			t.Fatal(err)
		}
		c.conns.make = func() transport { return memory{w.api, &w.renewed} }
		c.conns.renew()
		w.renewed.Store(0)
		w.client = c
		test(t, w)
	})
}

// at makes things happen some time after the start.
func (w *world) at(d time.Duration, do func()) {
	go func() {
		time.Sleep(time.Until(w.start.Add(d)))
		do()
	}()
}

// seen is what WatchJob showed: the resourceVersion, or absence, and when.
type seen struct {
	state string
	after time.Duration
}

// watch runs WatchJob until the Job has a terminal condition, is gone, or the
// context ends.
func (w *world) watch(ctx context.Context, last contract.Object) ([]seen, error) {
	return w.watchUntil(ctx, last, func(job contract.Object) bool { return job == nil || terminal(job) })
}

func (w *world) watchUntil(ctx context.Context, last contract.Object, enough func(contract.Object) bool) ([]seen, error) {
	var all []seen
	err := w.client.WatchJob(ctx, testNamespace, testName, last, func(job contract.Object) (bool, error) {
		all = append(all, seen{state: label(job), after: time.Since(w.start)})
		return !enough(job), nil
	})
	return all, err
}

func label(job contract.Object) string {
	if job == nil {
		return "absent"
	}
	return contract.ResourceVersion(job)
}

func terminal(job contract.Object) bool {
	status, _ := job["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["status"] == "True" && (condition["type"] == "Complete" || condition["type"] == "Failed")
	})
}

func states(all []seen) string {
	var names []string
	for _, s := range all {
		names = append(names, s.state)
	}
	return strings.Join(names, " ")
}

// wantStates checks what was shown, and that all of it came in time.
func wantStates(t *testing.T, all []seen, want string, within time.Duration) {
	t.Helper()
	if got := states(all); got != want {
		t.Errorf("shown: %s, want %s", got, want)
	}
	if n := len(all); n > 0 && all[n-1].after > within {
		t.Errorf("the last state was shown after %s, want at most %s", all[n-1].after, within)
	}
}

func wantRequests(t *testing.T, a *api, want ...string) {
	t.Helper()
	if got := a.requests(); !slices.Equal(got, want) {
		t.Errorf("requests:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// once makes a fault that happens to the first n requests of a verb.
func once(verb string, n int, fault http.HandlerFunc) func(string, http.ResponseWriter, *http.Request) bool {
	var count atomic.Int32
	return func(v string, w http.ResponseWriter, r *http.Request) bool {
		if v != verb || int(count.Add(1)) > n {
			return false
		}
		fault(w, r)
		return true
	}
}

// until makes a fault that happens to all requests of a verb for some time.
func (w *world) until(d time.Duration, verb string, fault http.HandlerFunc) func(string, http.ResponseWriter, *http.Request) bool {
	return func(v string, rw http.ResponseWriter, r *http.Request) bool {
		if v != verb || time.Since(w.start) >= d {
			return false
		}
		fault(rw, r)
		return true
	}
}

// all makes one fault of several, of which the first that applies happens.
func all(faults ...func(string, http.ResponseWriter, *http.Request) bool) func(string, http.ResponseWriter, *http.Request) bool {
	return func(verb string, w http.ResponseWriter, r *http.Request) bool {
		return slices.ContainsFunc(faults, func(fault func(string, http.ResponseWriter, *http.Request) bool) bool {
			return fault(verb, w, r)
		})
	}
}

// hang reads a request and never answers.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func drop(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func refuse(code int, reason, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { answerStatus(w, code, reason, message) }
}

func forbidden(verb string) http.HandlerFunc {
	return refuse(http.StatusForbidden, "Forbidden",
		fmt.Sprintf(`jobs.batch is forbidden: User "dev" cannot %s resource "jobs" in API group "batch" in the namespace "t1"`, verb))
}
