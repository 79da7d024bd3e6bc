package e2e

import (
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// late is how late a run goes on in the tests below, which is more than what it has
// read may be old when it acts on it.
const late = 7 * time.Second

// lateAnswer gives the stand-in's own answer when release is closed. It has acted
// when answered is.
func lateAnswer(release <-chan struct{}, answered chan<- struct{}) standin.Answer {
	return func(w http.ResponseWriter, r *http.Request, own http.Handler) {
		answer := httptest.NewRecorder()
		own.ServeHTTP(answer, r)
		close(answered)
		select {
		case <-release:
			for name, values := range answer.Header() {
				w.Header()[name] = values
			}
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes()) // A client that is gone misses nothing.
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// TestStoresRunStandsStill: a run has stored its intent, and then does nothing for some
// seconds: the store answers late, or its machine is stopped. Meanwhile another attempt
// takes up the intent and creates the Job, and that is removed. The run that goes on
// looks again before it acts: there is one Job.
func TestStoresRunStandsStill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stores  string
		stopped bool
		// loses says that the other attempt is lost before its Job has ended.
		loses bool
	}{
		"artifact, answered late":                 {stores: "artifact"},
		"artifact, process stopped":               {stores: "artifact", stopped: true},
		"cluster, answered late":                  {stores: "cluster"},
		"cache, answered late":                    {stores: "cache"},
		"both, artifact answered late":            {stores: "artifact,cluster"},
		"cluster, process stopped":                {stores: "cluster", stopped: true},
		"artifact, answered late, the end unseen": {stores: "artifact", loses: true},
		"cluster, process stopped, end unseen":    {stores: "cluster", stopped: true, loses: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := keep(t, harness.Template{}, c.stores)
			if c.stores == "cache" {
				s.signed()
			}
			s.args("sleep 1s")
			p := s.behind()
			release, answered := make(chan struct{}), make(chan struct{})
			if c.stores == "cluster" {
				rule := p.On(harness.IsConfigMapCreate, 1, harness.HoldAnswer(release))
				answered = rule.Seen
			} else {
				s.Stores.Results.On(standin.Operation("FinalizeArtifact", "FinalizeCacheEntryUpload"), 1, lateAnswer(release, answered))
			}
			still := s.start()
			select {
			case <-answered:
			case <-time.After(time.Minute):
				t.Fatalf("no intent was stored:\n%s", still.Log())
			}
			since := time.Now()
			if c.stopped {
				still.signal(syscall.SIGSTOP)
				close(release)
			}
			// The other attempt has a machine of its own.
			old := s.Inputs["work-dir"]
			s.Inputs["work-dir"] = old + "-of-the-next"
			s.In(s.Stores.NextAttempt(standin.RerunAll))
			w := want{outcome: "succeeded", resumed: true, records: []string{"", "dispatch-intent", "prepared", "terminal"}, created: 1}
			var job string
			if c.loses {
				other := s.start()
				job = other.job()
				other.until("waiting for Job")
				s.storedStep(job, "dispatched")
				other.kill()
				w = want{outcome: "unknown", reason: "job-vanished-after-dispatch", resumed: true, records: asDispatched, created: 1, says: []string{job}}
			} else {
				e := s.run()
				s.expect(e, want{outcome: "succeeded", dispatched: true, resumed: true, records: asTerminal, created: 1, stored: is("true")})
				job = e.Outputs["job-name"]
			}
			s.remove(harness.JobPath(job), "Background")
			s.gone(job)
			sent := s.attempts()
			time.Sleep(time.Until(since.Add(late)))
			if c.stopped {
				still.signal(syscall.SIGCONT)
			} else {
				close(release)
			}
			s.Inputs["work-dir"] = old
			s.expect(still.wait(), w)
			if n := s.attempts() - sent; n != 0 {
				t.Errorf("%d creates were sent by the run that stood still", n)
			}
		})
	}
}
