package cluster

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// A failure that a wrapper told in full, as one of Entra, is told in short while it is
// tried again, once although each answer has another id, and in full in the end.
func TestCodedFailuresAreToldInShort(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		w.client.answered.Store(true)
		w.client.conns.make = func() transport { return &renewing{} }
		w.client.conns.renew()
		_, err := w.watch(t.Context(), nil)
		if failure.CodeOf(err) != failure.CredentialFailed {
			t.Fatalf("it ends with %v", err)
		}
		const whole = "could not get jobs.batch aks-oneshot-x in namespace t1: " +
			"could not get a token: AADSTS700213 (correlation id ID). No such credential. Make one"
		said := strings.ReplaceAll(uuid.ReplaceAllString(err.Error(), "ID"), testName, "aks-oneshot-x")
		if said != whole {
			t.Errorf("it ends with %s\nwant %s", said, whole)
		}
		want := "waiting for Job " + testNamespace + "/" + testName + ", trying again: could not get jobs.batch " + testName +
			" in namespace " + testNamespace + ": could not get a token: AADSTS700213 (correlation id ID)"
		if len(w.told) != 1 || uuid.ReplaceAllString(w.told[0], "ID") != want {
			t.Errorf("told %q\nwant %q", w.told, want)
		}
	})
}

var uuid = regexp.MustCompile(`[0-9a-f]{8}-\S{4}-\S{4}-\S{4}-[0-9a-f]{12}`)

// renewing is a wrapper that gets no token, each time with another id.
type renewing struct{ times int }

func (r *renewing) RoundTrip(*http.Request) (*http.Response, error) {
	r.times++
	return nil, failure.New(failure.CredentialFailed,
		"could not get a token: AADSTS700213 (correlation id 3f2a1b0c-0000-4000-8000-%012d). No such credential", r.times).WithFix("Make one")
}

func (*renewing) CloseIdleConnections() {}

// So is a token that may yet come.
func TestTokensThatAreWaitedForAreToldInShort(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world) {
		w.publish(eventAdded, job(100, "Complete"))
		work := w.client.conns.make
		w.client.conns.make = func() transport { return &tokenLate{work(), 3} }
		w.client.conns.renew()
		shown, err := w.watch(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		wantStates(t, shown, "100", time.Minute)
		want := "waiting for Job t1/" + testName + ", trying again: could not get jobs.batch " + testName +
			" in namespace t1: waiting for a token of Entra: it answered HTTP 503"
		if len(w.told) != 1 || w.told[0] != want {
			t.Errorf("told %q\nwant %q", w.told, want)
		}
	})
}

// tokenLate sends nothing for so many times.
type tokenLate struct {
	transport
	times int
}

func (l *tokenLate) RoundTrip(req *http.Request) (*http.Response, error) {
	if l.times--; l.times >= 0 {
		return nil, pending{fmt.Errorf("waiting for a token of Entra: it answered HTTP 503. Run again in %d s", l.times)}
	}
	return l.transport.RoundTrip(req)
}

func TestWhatIsToldOnce(t *testing.T) {
	t.Parallel()
	var told []string
	c := &Client{told: map[string]bool{}, notify: func(text string) { told = append(told, text) }}
	for i := range 3 {
		c.tell("a %08x-1111-2222-3333-444455556666 b", i)
		c.tell("a %08X-1111-2222-3333-444455556666 b", i)
		c.tell("at 2026-11-30 12:00:%02dZ", i)
		c.tell("at 2026-11-30T12:00:%02d.5Z", i)
		c.tell("batch/v%d is going", i)
	}
	if len(told) != 5 {
		t.Errorf("told %q", told)
	}
}
