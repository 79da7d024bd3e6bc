package cluster

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// Field cases: dropped connections; 429 with Retry-After; an etcd whose leader
// changed; an API server that restarts.
func TestWatchGoesOnAfterTrouble(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 64<<10)
	tests := map[string]struct {
		verb  string
		fault http.HandlerFunc
	}{
		"watch dropped":       {"watch", drop},
		"read dropped":        {"get", drop},
		"read hangs":          {"get", hang},
		"etcd leader changed": {"get", refuse(http.StatusInternalServerError, "", "etcdserver: leader changed")},
		"server not ready":    {"get", refuse(http.StatusServiceUnavailable, "ServiceUnavailable", "apiserver not ready")},
		"gateway timeout":     {"get", refuse(http.StatusGatewayTimeout, "Timeout", "request did not complete within requested timeout")},
		"gateway's page": {"get", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = fmt.Fprint(w, "<html>502</html>")
		}},
		"unauthorized":         {"get", refuse(http.StatusUnauthorized, "Unauthorized", "Unauthorized")},
		"authorizer restarted": {"get", forbidden("get")},
		"unauthorized watch":   {"watch", refuse(http.StatusUnauthorized, "Unauthorized", "Unauthorized")},
		"watch error": {"watch", func(w http.ResponseWriter, _ *http.Request) {
			answerFrame(w, eventError, statusBody(500, "InternalError", "unexpected watch close"))
		}},
		"error without status": {"watch", func(w http.ResponseWriter, _ *http.Request) { answerFrame(w, eventError, []byte(`"oops"`)) }},
		"event cut off": {"watch", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, `{"type":"MODIFIED","object":{"kind":`)
		}},
		"event is not JSON":   {"watch", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "{]") }},
		"event is no object":  {"watch", func(w http.ResponseWriter, _ *http.Request) { answerFrame(w, eventModified, []byte("7")) }},
		"event is too large":  {"watch", func(w http.ResponseWriter, _ *http.Request) { answerFrame(w, eventModified, []byte(`"`+big+`"`)) }},
		"object is too large": {"get", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, `{"kind":%q}`, big) }},
		"object is another": {"get", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, `{"kind":"Status","status":"Success"}`)
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, w *world) {
				w.client.maxObject = 64 << 10
				w.publish(eventAdded, job(100, ""))
				if _, err := w.client.Job(t.Context(), testNamespace, testName); err != nil {
					t.Fatal(err) // it answered once
				}
				w.fault = all(once(test.verb, 2, test.fault), once("watch", 1, drop))
				w.at(2*time.Minute, func() { w.publish(eventModified, job(101, "Complete")) })
				shown, err := w.watch(t.Context(), job(100, ""))
				if err != nil {
					t.Fatal(err)
				}
				wantStates(t, shown, "101", 2*time.Minute)
				if len(w.told) == 0 {
					t.Error("nobody was told")
				}
			})
		})
	}
}

// Field case: 429 with Retry-After.
func TestWaitingHonoursRetryAfter(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		w.publish(eventAdded, job(100, "Complete"))
		w.fault = once("get", 1, func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Retry-After", "17")
			refuse(http.StatusTooManyRequests, "TooManyRequests", "too many requests")(rw, r)
		})
		shown, err := w.watch(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		wantStates(t, shown, "100", 17*time.Second)
		if shown[0].after < 17*time.Second {
			t.Errorf("tried again after %s, asked to wait 17s", shown[0].after)
		}
	})
}

func TestWatchEndsWithARefusal(t *testing.T) {
	t.Parallel()
	unresolved := &net.DNSError{Err: "no such host", Name: "api.example", IsNotFound: true}
	tests := map[string]struct {
		fault    http.HandlerFunc
		dial     error
		answered bool
		kind     oneshot.Kind
		min, max time.Duration
	}{
		"denied from the first":    {fault: forbidden("get"), kind: oneshot.Denied},
		"denied later":             {fault: forbidden("get"), answered: true, kind: oneshot.Denied, min: time.Minute, max: 80 * time.Second},
		"unauthorized from first":  {fault: refuse(401, "Unauthorized", "Unauthorized"), kind: oneshot.Denied},
		"unauthorized later":       {fault: refuse(401, "Unauthorized", "Unauthorized"), answered: true, kind: oneshot.Denied, min: time.Minute, max: 80 * time.Second},
		"not an API server":        {fault: func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }, kind: oneshot.Rejected},
		"unresolved from first":    {dial: unresolved, kind: oneshot.Unreachable},
		"unresolved later":         {dial: unresolved, answered: true, kind: oneshot.Unreachable, min: time.Minute, max: 80 * time.Second},
		"not trusted, from first":  {dial: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "api.example"}, kind: oneshot.Unreachable},
		"refused by authorization": {fault: forbidden("get"), kind: oneshot.Denied},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, w *world) {
				w.client.answered.Store(test.answered)
				if test.dial != nil {
					w.client.conns.make = func() transport { return failing{test.dial} }
					w.client.conns.renew()
				}
				w.fault = once("get", 1<<30, test.fault)
				_, err := w.watch(t.Context(), nil)
				var call *oneshot.CallError
				if !errors.As(err, &call) || call.Kind != test.kind {
					t.Fatalf("got %v, want kind %d", err, test.kind)
				}
				if took := time.Since(w.start); took < test.min || took > test.max {
					t.Errorf("returned after %s, want %s to %s", took, test.min, test.max)
				}
			})
		})
	}
}

// failing is a network that fails.
type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }
func (failing) CloseIdleConnections()                             {}

// However a server and a network misbehave, states are shown in order, the last
// one is shown in the end, and the server is not flooded.
func TestWatchNeverGoesBack(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, w *world) {
				chaos(t, w, &dice{random: rand.New(rand.NewPCG(seed, 1))})
			})
		})
	}
}

const (
	chaosTime   = 20 * time.Minute
	chaosStates = 40
)

// dice are chances that can be drawn anywhere.
type dice struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (d *dice) upTo(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.IntN(n)
}

func (d *dice) within(limit time.Duration) time.Duration {
	return time.Duration(d.upTo(int(limit)))
}

func chaos(t *testing.T, w *world, random *dice) {
	version, at := 100, time.Duration(0)
	w.publish(eventAdded, job(version, ""))
	for i := range chaosStates {
		version += 1 + random.upTo(3)
		at += random.within(chaosTime / chaosStates)
		v, condition := version, ""
		if i == chaosStates-1 {
			condition = "Complete"
		}
		w.at(at, func() {
			w.publish(eventModified, job(v, condition))
			if v%5 == 0 {
				w.forget(v)
			}
		})
	}
	faults := []http.HandlerFunc{
		drop, hang, silent, forbidden("x"),
		refuse(503, "ServiceUnavailable", "no"), refuse(429, "TooManyRequests", "later"), refuse(410, "Expired", "gone"),
		func(http.ResponseWriter, *http.Request) {},
	}
	lag := func(verb string, rw http.ResponseWriter, r *http.Request) {
		// An answer that was true when the request came, and arrives late; or a
		// watch that starts late.
		late := random.within(12 * time.Second)
		if verb == "watch" {
			time.Sleep(late)
			w.api.watch(rw, r)
			return
		}
		then := w.present()
		time.Sleep(late)
		_, _ = rw.Write(then.object)
	}
	w.client.answered.Store(true)
	w.fault = func(verb string, rw http.ResponseWriter, r *http.Request) bool {
		switch n := random.upTo(10); {
		case time.Since(w.start) > chaosTime || n < 4:
			return false
		case n < 6 && verb != "list":
			lag(verb, rw, r)
		case n < 7 && verb == "watch": // lives for a while
			ctx, cancel := context.WithTimeout(r.Context(), random.within(time.Minute))
			defer cancel()
			w.api.watch(rw, r.WithContext(ctx))
			panic(http.ErrAbortHandler)
		default:
			faults[random.upTo(len(faults))](rw, r)
		}
		return true
	}
	last := 0
	err := w.client.WatchJob(t.Context(), testNamespace, testName, job(100, ""), func(job contract.Object) (bool, error) {
		now, err := strconv.Atoi(contract.ResourceVersion(job))
		if err != nil || now <= last {
			t.Errorf("shown %q after %d (%v)", label(job), last, err)
		}
		last = now
		return !terminal(job), nil
	})
	if err != nil || last != version {
		t.Fatalf("ended at %d with %v, want %d", last, err, version)
	}
	took := time.Since(w.start)
	if took > chaosTime+2*time.Minute {
		t.Errorf("took %s", took)
	}
	if n := len(w.requests()); n > int(took/time.Second) {
		t.Errorf("%d requests in %s", n, took)
	}
}
