package e2e

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// setting is where the records of a scenario are kept.
type setting struct {
	name, stores string
	signed       bool
}

var settings = []setting{
	{"artifact", "artifact", false},
	{"cluster", "cluster", false},
	{"artifact and cluster", "artifact,cluster", false},
	{"cache with key", "cache", true},
	{"auto", "auto", false},
}

// anew is how a run is run again whose runner was lost with all that was on it.
type anew struct {
	name string
	how  standin.Rerun
	// forbidden says that the job has no `actions: read`.
	forbidden bool
}

var anews = []anew{
	{"failed jobs", standin.RerunFailed, false},
	{"all jobs", standin.RerunAll, false},
	{"failed jobs without REST", standin.RerunFailed, true},
	{"all jobs without REST", standin.RerunAll, true},
}

// blind reports whether a run that would end as is wanted has to refuse, since it
// cannot look at all that was recorded in the first attempt: GitHub's REST API may not
// be asked, and its internal list may hide some. Where records are found, and the
// cluster has them whatever happens, that matters only where the Job is not there: it
// may be recorded where nobody could look that the create must not be sent, or how the
// Job ended. from is where the records are found then.
func (r anew) blind(at setting, w want) (blind bool, from string) {
	gone := w.dispatched || w.reason == "ttl-window-elapsed" || w.reason == "job-vanished-after-dispatch"
	artifacts := at.stores == "artifact" || at.stores == "auto"
	switch {
	case !r.forbidden || !artifacts && at.stores != "artifact,cluster":
		return false, ""
	case r.how == standin.RerunFailed:
		return gone, "artifact, attempt 1"
	case artifacts:
		return true, ""
	}
	return gone, "cluster, attempt 1"
}

// rerunAs makes the next run one of the next attempt, on another machine.
func (s *scene) rerunAs(r anew) {
	s.t.Helper()
	s.Stores.Change(func(o *standin.StoresOptions) {
		o.Actions = standin.ActionsRead
		if r.forbidden {
			o.Actions = standin.ActionsNone
		}
	})
	s.rerun(r.how)
}

// expectAgain runs it again, and holds that against what is wanted. Where the
// records cannot be looked for, the run has to refuse and to say what it lacks;
// with that it ends as is wanted.
func (s *scene) expectAgain(at setting, r anew, w want) harness.Ended {
	s.t.Helper()
	s.rerunAs(r)
	attempts := []int{1}
	if blind, from := r.blind(at, w); blind {
		matrix.refused.Add(1)
		refused := want{outcome: "refused", reason: "permission-denied", created: w.created, says: []string{"actions: read"}, resumedFrom: is(from), stored: is("false")}
		if w.dispatched {
			refused.created--
		}
		if from != "" {
			// What the first attempt has done after its intent is not known.
			// It has stored the intent where that was not seen.
			attempts = append(attempts, 2)
			refused.outcome, refused.resumed, refused.records, refused.stored = "unknown", true, asIntended, is("true")
			if w.reason == "job-vanished-after-dispatch" {
				refused.records = w.records
			}
		}
		before := s.attempts()
		s.expect(s.run(), refused)
		if n := s.attempts() - before; n != 0 {
			s.t.Errorf("%d creates were sent by a run that could not look everywhere", n)
		}
		s.rerunAs(anew{how: standin.RerunAll})
	}
	e := s.run()
	from := e.Outputs["resumed-from"]
	var places []string
	for _, store := range strings.Split(s.stores(), ",") {
		for _, attempt := range attempts {
			places = append(places, fmt.Sprintf("%s, attempt %d", store, attempt))
		}
	}
	if !strings.Contains(strings.Join(places, "; "), from) || from == "" {
		s.t.Errorf("the run resumed from %q, want one of %q", from, places)
	}
	w.stored = is("true")
	s.expect(e, w)
	matrix.jobs.Add(int64(w.created))
	return e
}

// matrix counts what the tests below went through.
var matrix struct{ scenes, jobs, refused atomic.Int64 }

// matrixFigure tells of all of them together.
func matrixFigure() {
	if n := matrix.scenes.Load(); n > 0 {
		figure("runners lost and runs run again", "%d scenes, %d Jobs, %d refused for want of actions: read", n, matrix.jobs.Load(), matrix.refused.Load())
	}
}

// kills are the moments at which a runner is lost. They return once it is.
var kills = []struct {
	name string
	kill func(s *scene)
	// left is what the run after it finds to do.
	left want
}{
	{"after the create", func(s *scene) {
		s.args("sleep 1s")
		run := s.start()
		run.until("created Job")
		run.kill()
	}, want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1}},
	{"before the answer", func(s *scene) {
		held := s.behind().On(harness.IsCreate, 1, harness.HoldAnswer(nil))
		run := s.start()
		run.seen(held)
		run.kill()
	}, want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1}},
	{"before the create", func(s *scene) {
		held := s.behind().On(harness.IsCreate, 1, harness.Hold(nil))
		run := s.start()
		run.seen(held)
		run.kill()
		s.expectCreated(0)
	}, want{outcome: "succeeded", resumed: true, dispatched: true, records: asTerminal, created: 1}},
	{"while waiting", func(s *scene) {
		s.args("sleep 2s")
		run := s.start()
		run.until("waiting for Job")
		s.storedStep(run.job(), "dispatched")
		run.kill()
	}, want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1}},
}

// TestStoresKilledAndRerun: a runner is lost, with everything that was on it, and the
// workflow is run again, in each of the ways there are and with the records in
// each of the stores. There is one Job ever.
func TestStoresKilledAndRerun(t *testing.T) {
	t.Parallel()
	for i, k := range kills {
		eachRerun(t, k.name, i == 0, harness.Template{}, func(s *scene, at setting, r anew) {
			k.kill(s)
			s.expectAgain(at, r, k.left)
		})
	}
}

// TestStoresKilledAndTheJobIsGone: the Job came to its end while nobody looked, and its
// TTL has removed it. That there is none says nothing: the record does.
func TestStoresKilledAndTheJobIsGone(t *testing.T) {
	t.Parallel()
	eachRerun(t, "dispatched", false, harness.Template{TTL: 1}, func(s *scene, at setting, r anew) {
		s.args("sleep 1s")
		run := s.start()
		job := run.job()
		run.until("waiting for Job")
		s.storedStep(job, "dispatched")
		run.kill()
		s.gone(job)
		s.expectAgain(at, r, want{
			outcome: "unknown", reason: "job-vanished-after-dispatch", resumed: true, records: asDispatched, created: 1,
			says: []string{job, "was dispatched by an earlier run and is gone", "is not repeated"},
		})
	})
	// Of a create that got no answer there is the intent alone, and its window is
	// over.
	eachRerun(t, "intended", false, harness.Template{TTL: 1}, func(s *scene, at setting, r anew) {
		held := s.behind().On(harness.IsCreate, 1, harness.HoldAnswer(nil))
		run := s.start()
		job := run.job()
		run.seen(held)
		run.kill()
		s.gone(job)
		s.expectAgain(at, r, want{outcome: "unknown", reason: "ttl-window-elapsed", resumed: true, records: asIntended, created: 1, says: []string{job}})
	})
}

// TestStoresReplayElsewhere: what ended in the first attempt is told by every later
// one, without a look at the Job.
func TestStoresReplayElsewhere(t *testing.T) {
	t.Parallel()
	eachRerun(t, "succeeded", false, harness.Template{TTL: 1}, func(s *scene, at setting, r anew) {
		first := s.run()
		s.expect(first, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, resumedFrom: is(""), stored: is("true")})
		s.gone(first.Outputs["job-name"])
		before := len(s.requests())
		e := s.expectAgain(at, r, want{outcome: "succeeded", resumed: true, records: asReplayed, created: 1, says: []string{"nothing is dispatched"}})
		for _, request := range s.requests()[before:] {
			if request.Resource == "jobs" {
				s.t.Errorf("a replay asked for the Job: %s %s", request.Verb, request.RequestURI)
			}
		}
		for _, name := range []string{"job-name", "execution-digest", "terminal-evidence"} {
			if e.Outputs[name] != first.Outputs[name] {
				s.t.Errorf("output %s was %q and is %q", name, first.Outputs[name], e.Outputs[name])
			}
		}
	})
}

// matrixEnv, when it is "full", has each scene in every setting and with every way
// to run again; else those that are not the main ones are run again in one way.
const matrixEnv = "ONESHOT_MATRIX"

// eachRerun plays a scene in each setting and with each way to run again.
func eachRerun(t *testing.T, name string, all bool, template harness.Template, play func(*scene, setting, anew)) {
	for _, at := range settings {
		for _, r := range anews {
			if !all && r.name != "all jobs" && os.Getenv(matrixEnv) != "full" {
				continue
			}
			t.Run(name+"/"+at.name+"/"+r.name, func(t *testing.T) {
				t.Parallel()
				s := keep(t, template, at.stores)
				if at.signed {
					s.signed()
				}
				play(s, at, r)
				matrix.scenes.Add(1)
			})
		}
	}
}
