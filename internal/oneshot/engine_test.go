package oneshot

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

func status(fields string) contract.Object {
	return contract.Object{"status": map[string]any(must(contract.ParseObject([]byte(fields))))}
}

// A wait for completion hangs for ever when the Job fails.
func TestBothTerminalConditionsEndTheWait(t *testing.T) {
	t.Parallel()
	newStub(succeeds).run(t, nil, wants("", Succeeded))
	newStub(fails).run(t, nil, wants(failure.JobFailed, Failed))
}

// One failed pod, then a successful one, misread as failure.
func TestAFailedPodBeforeASuccessIsASuccess(t *testing.T) {
	t.Parallel()
	s := newStub(succeeds)
	s.watch = []contract.Object{
		status(`{"active":1,"failed":1}`),
		status(`{"failed":1,"succeeded":1,"conditions":[{"type":"SuccessCriteriaMet","status":"True"}]}`),
		status(`{"failed":1,"succeeded":1,"conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}`),
	}
	s.run(t, nil, wants("", Succeeded))
}

// SuccessCriteriaMet and FailureTarget come first since Kubernetes 1.31.
func TestInterimConditionsDoNotEndTheWait(t *testing.T) {
	t.Parallel()
	s := newStub(succeeds)
	s.watch = []contract.Object{status(`{"failed":1,"conditions":[{"type":"FailureTarget","status":"True"}]}`)}
	s.run(t, nil, func(t *testing.T, result Result, err error) {
		t.Helper()
		wants(failure.DeadlineExceeded, Unknown)(t, result, err)
		name := result.Execution.Name
		if want := "kubectl -n fdai-runtime describe job " + name + ", and kubectl -n fdai-runtime describe pods -l job-name=" + name + " "; name == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	})
	s.stored(t, checkpoint.Manifest, checkpoint.Prepared, checkpoint.Intent, checkpoint.Dispatched)
}

// A TTL of 0 removes the Job before anybody sees it finish.
func TestAJobGoneBeforeItWasSeenToEndIsNeverCreatedAgain(t *testing.T) {
	t.Parallel()
	s := newStub(succeeds)
	s.watch = []contract.Object{nil}
	s.run(t, nil, wants(failure.JobVanished, Unknown))
	s.world.jobs = map[string]*liveJob{}
	s.run(t, nil, wants(failure.JobVanishedAfterDispatch, Unknown))
	if s.creates != 1 {
		t.Errorf("%d creates were sent, want 1", s.creates)
	}
}

// A template whose Jobs are removed at once leaves no window in which an absent
// Job is known to be one that never was.
func TestAShortTTLClosesTheWindow(t *testing.T) {
	t.Parallel()
	s := newStub(succeeds)
	spec := s.world.cronJob["spec"].(map[string]any)["jobTemplate"].(map[string]any)["spec"].(map[string]any)
	spec["ttlSecondsAfterFinished"] = json.Number("10")
	s.created = func(int) error { return answer(Unavailable, 503, "etcdserver: leader changed") }
	repin := func(plan *Plan, _ *Engine) {
		plan.Request.Pins.Template = must(contract.TemplateDigest(s.world.cronJob))
	}
	s.run(t, repin, wants(failure.TTLWindowElapsed, Unknown))
	s.run(t, repin, wants(failure.TTLWindowElapsed, Unknown))
	if s.creates != 1 {
		t.Errorf("%d creates were sent, want 1", s.creates)
	}
}

func TestAJobDeletedByHandIsVanished(t *testing.T) {
	t.Parallel()
	s := newStub(removed)
	s.run(t, nil, wants(failure.JobVanished, Unknown))
}

// A Job that is being deleted still answers reads.
func TestAJobThatIsBeingDeletedIsVanishing(t *testing.T) {
	t.Parallel()
	s := newStub(fate{state: contract.Succeeded, after: time.Hour})
	s.mutate = func(job contract.Object) {
		job["metadata"].(map[string]any)["deletionTimestamp"] = "2026-09-27T01:00:42Z"
	}
	s.run(t, nil, wants(failure.JobVanished, Unknown))
	s.run(t, nil, wants(failure.JobVanished, Unknown)) // adopted, and vanishing still
	if s.creates != 1 {
		t.Errorf("%d creates were sent, want 1", s.creates)
	}
}

// Being deleted does not undo an end that was reached before.
func TestAnEndedJobThatIsBeingDeletedHasEnded(t *testing.T) {
	t.Parallel()
	s := newStub(succeeds)
	s.mutate = func(job contract.Object) {
		job["metadata"].(map[string]any)["deletionTimestamp"] = "2026-09-27T01:00:42Z"
		job["status"] = terminalStatus(contract.Succeeded)
	}
	s.run(t, nil, wants("", Succeeded))
}

func TestAnotherJobOfTheNameIsNotTheOneThatWasCreated(t *testing.T) {
	t.Parallel()
	s := newStub(fate{state: contract.Succeeded, after: time.Hour})
	s.mutate = func(job contract.Object) { job["metadata"].(map[string]any)["uid"] = "another" }
	s.run(t, nil, func(t *testing.T, result Result, err error) {
		wants(failure.JobVanished, Unknown)(t, result, err)
		if !strings.Contains(err.Error(), "another") {
			t.Errorf("the message does not name the other Job: %v", err)
		}
	})
}

// "etcdserver: leader changed": a 500 after the object was persisted.
func TestACreateThatWasPersistedIsReadBack(t *testing.T) {
	t.Parallel()
	s := newStub(succeeds)
	s.process.fault = fault{"create job#1", failAfter}
	s.run(t, nil, func(t *testing.T, result Result, err error) {
		wants("", Succeeded)(t, result, err)
		if result.Dispatched {
			t.Error("the run says that it created the Job; it only found it")
		}
	})
	if s.creates != 1 {
		t.Errorf("%d creates were sent, want 1", s.creates)
	}
}

func TestACreateThatHadNoEffectIsRepeatedAFewTimes(t *testing.T) {
	t.Parallel()
	s := newStub(succeeds)
	s.created = func(n int) error {
		if n < maxCreates {
			return answer(Unavailable, 0, "connection reset by peer")
		}
		return nil
	}
	s.run(t, nil, wants("", Succeeded))

	s = newStub(succeeds)
	s.created = func(int) error { return answer(Unavailable, 500, "failed calling webhook") }
	s.run(t, nil, func(t *testing.T, result Result, err error) {
		wants(failure.DispatchAmbiguous, Unknown)(t, result, err)
		if !strings.Contains(err.Error(), "failed calling webhook") {
			t.Errorf("the server's words are not told: %v", err)
		}
	})
	if s.creates != maxCreates {
		t.Errorf("%d creates were sent, want %d", s.creates, maxCreates)
	}
	s.stored(t, checkpoint.Manifest, checkpoint.Prepared, checkpoint.Intent)
}

// 429 with Retry-After is honoured, inside the deadline.
func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	throttle := func(d time.Duration) error {
		e := answer(Throttled, 429, "too many requests")
		e.RetryAfter = d
		return e
	}
	s := newStub(succeeds)
	s.created = func(n int) error {
		if n == 1 {
			return throttle(7 * time.Second)
		}
		return nil
	}
	s.run(t, nil, wants("", Succeeded))
	if waited := s.requested[1].Sub(s.requested[0]); waited < 7*time.Second {
		t.Errorf("the create was repeated after %s, the server asked for 7s", waited)
	}

	s = newStub(succeeds)
	s.read = func(n int) error {
		if n == 1 {
			return throttle(3 * time.Second)
		}
		return nil
	}
	s.run(t, nil, func(t *testing.T, result Result, err error) {
		wants("", Succeeded)(t, result, err)
		if result.Duration < 3*time.Second {
			t.Errorf("the run took %s, the server asked to wait 3s", result.Duration)
		}
	})

	s = newStub(succeeds)
	s.created = func(int) error { return throttle(time.Hour) }
	s.run(t, nil, func(t *testing.T, result Result, err error) {
		wants(failure.CreateRejected, Refused)(t, result, err)
		if result.Duration > time.Second {
			t.Errorf("the run waited %s for a try that its deadline does not allow", result.Duration)
		}
	})
}

func TestReadsAreRepeatedInsideTheDeadline(t *testing.T) {
	t.Parallel()
	for _, broken := range []*CallError{
		answer(Unavailable, 500, "x"), answer(Unavailable, 503, "x"), answer(Unavailable, 504, "x"),
		answer(Unavailable, 0, "EOF"), answer(TimedOut, 0, "x"), answer(Throttled, 429, "x"),
	} {
		failing := 3
		flaky := func() error {
			if failing--; failing >= 0 {
				return broken
			}
			return nil
		}
		s := newStub(succeeds)
		s.cronJob = flaky
		s.run(t, nil, wants("", Succeeded))

		s = newStub(succeeds)
		s.read = func(int) error { return broken }
		s.run(t, nil, func(t *testing.T, result Result, err error) {
			wants(failure.ReadbackFailed, Refused)(t, result, err)
			if result.Duration > 30*time.Second || result.Duration < 15*time.Second {
				t.Errorf("reads were repeated for %s, the deadline is 30s", result.Duration)
			}
		})
		if s.creates != 0 {
			t.Errorf("%d creates were sent without a read-back", s.creates)
		}
	}
}

func TestAnAPIServerThatNeverAnsweredIsUnreachable(t *testing.T) {
	t.Parallel()
	s := newStub(succeeds)
	s.cronJob = func() error { return answer(Unavailable, 0, "connection refused") }
	s.run(t, nil, wants(failure.ClusterUnreachable, Refused))
	s = newStub(succeeds)
	s.serviceAccount = func() error { return answer(Unreachable, 0, "no such host") }
	s.run(t, nil, wants(failure.ClusterUnreachable, Refused))
}

func TestCreateAnsweredAlreadyExistsIsReconciled(t *testing.T) {
	t.Parallel()
	race := func(s *stub, alter func(contract.Object)) {
		s.created = func(int) error {
			w := s.world
			manifest := clone(w.records("")["fdai-inventory-5d01f2953d711784"][checkpoint.Manifest].Content)
			alter(manifest)
			_, err := w.create(s.process, manifest)
			return err
		}
	}
	s := newStub(succeeds)
	race(s, func(contract.Object) {})
	s.run(t, nil, func(t *testing.T, result Result, err error) {
		wants("", Succeeded)(t, result, err)
		if result.Dispatched {
			t.Error("the run says that it created the Job; somebody else did")
		}
	})

	s = newStub(succeeds)
	race(s, func(o contract.Object) { o["spec"].(map[string]any)["backoffLimit"] = json.Number("7") })
	s.run(t, nil, func(t *testing.T, result Result, err error) {
		wants(failure.JobContractChanged, Refused)(t, result, err)
		if !strings.Contains(err.Error(), "spec.backoffLimit") {
			t.Errorf("the field is not named: %v", err)
		}
	})

	s = newStub(succeeds)
	s.created = func(int) error { return answer(AlreadyExists, 409, "already exists") }
	s.run(t, nil, wants(failure.JobVanished, Unknown))
	s.run(t, nil, wants(failure.JobVanishedAfterDispatch, Unknown))
	if s.creates != 1 {
		t.Errorf("%d creates were sent, want 1", s.creates)
	}
}

func TestRejectionsReachTheUserAndLeaveTheIntent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		answer *CallError
		code   failure.Code
	}{
		{answer(Rejected, 422, "spec.template: Invalid value"), failure.CreateRejected},
		{answer(Rejected, 403, "exceeded quota: jobs"), failure.CreateRejected},
		{answer(NotFound, 404, `namespaces "x" not found`), failure.CreateRejected},
		{answer(Denied, 403, `cannot create resource "jobs"`), failure.PermissionDenied},
		{answer(Unreachable, 0, "x509: certificate signed by unknown authority"), failure.ClusterUnreachable},
	}
	for _, test := range tests {
		s := newStub(succeeds)
		s.created = func(int) error { return test.answer }
		s.run(t, nil, func(t *testing.T, result Result, err error) {
			if failure.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.answer.Err.Error()) {
				t.Errorf("the failure is %v, want %s with the server's words", err, test.code)
			}
			// No Job can come of it, so there is nothing that is not known.
			if result.Outcome != Refused {
				t.Errorf("%v: the outcome is %s, want refused", test.answer, result.Outcome)
			}
		})
		s.stored(t, checkpoint.Manifest, checkpoint.Prepared, checkpoint.Intent)
	}
}

// A create that had no effect takes nothing back of an earlier one that may have
// had its own.
func TestARefusalAfterALostCreateIsNotKnown(t *testing.T) {
	t.Parallel()
	s := newStub(succeeds)
	s.created = func(n int) error {
		if n == 1 {
			return answer(Unavailable, 500, "etcdserver: leader changed")
		}
		return answer(Denied, 403, `cannot create resource "jobs"`)
	}
	s.run(t, nil, wants(failure.PermissionDenied, Unknown))
}

// A create that was held back on this side, for want of a token, had no effect: it
// is sent again as long as it may be, and nobody has rejected it when it may not.
func TestACreateThatIsHeldBack(t *testing.T) {
	t.Parallel()
	held := answer(Throttled, 0, "waiting for a token of Entra")
	s := newStub(succeeds)
	s.created = func(n int) error {
		if n < 2*maxCreates {
			return held
		}
		return nil
	}
	s.run(t, nil, wants("", Succeeded))

	s = newStub(succeeds)
	s.created = func(int) error { return held }
	s.run(t, nil, func(t *testing.T, result Result, err error) {
		wants(failure.DeadlineExceeded, Refused)(t, result, err)
		if !strings.Contains(err.Error(), "the time was up") || strings.Contains(err.Error(), "is busy") {
			t.Errorf("the API server is blamed: %v", err)
		}
	})
	s.stored(t, checkpoint.Manifest, checkpoint.Prepared, checkpoint.Intent)

	// Whoever is told to stop meanwhile sends none.
	synctest.Test(t, func(t *testing.T) {
		s := newStub(succeeds)
		stop, cancel := context.WithCancel(t.Context())
		s.created = func(int) error { cancel(); return held }
		result, err := (&Engine{Cluster: s, Store: s}).Run(stop, testPlan())
		wants(failure.Cancelled, Cancelled)(t, result, err)
		if s.creates != 1 {
			t.Errorf("%d creates are sent", s.creates)
		}
	})
}

func TestStoppingBeforeTheCreateCreatesNothing(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"get cronjob#1", "load#1", "put prepared#1", "get job#1", "put dispatch-intent#1"} {
		synctest.Test(t, func(t *testing.T) {
			s := newStub(succeeds)
			s.process.fault = fault{at, cancelBefore}
			result, err := stopAt(t, s)
			wants(failure.Cancelled, Cancelled)(t, result, err)
			if s.creates != 0 {
				t.Errorf("stopped at %s, and a create was sent", at)
			}
		})
	}
}

func TestStoppingDuringTheCreateRecordsWhatItDid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStub(fate{state: contract.Succeeded, after: time.Hour})
		s.process.fault = fault{"create job#1", cancelBefore}
		result, err := stopAt(t, s)
		wants(failure.Cancelled, Cancelled)(t, result, err)
		s.stored(t, checkpoint.Manifest, checkpoint.Prepared, checkpoint.Intent, checkpoint.Dispatched)
		if !result.Dispatched {
			t.Error("the run does not say that it created the Job")
		}
	})
}

// stopAt plays a run that is told to stop by its fault.
func stopAt(t *testing.T, s *stub) (Result, error) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.process.cancel = cancel
	return (&Engine{Cluster: s, Store: s}).Run(ctx, testPlan())
}

func TestAClockThatIsBehindTheIntentIsRefused(t *testing.T) {
	t.Parallel()
	s := newStub(succeeds)
	s.process.fault = fault{"create job#1", failBefore}
	s.created = func(n int) error {
		if n == 1 {
			return answer(Rejected, 422, "x")
		}
		return nil
	}
	s.run(t, nil, wants(failure.CreateRejected, Refused))
	readings := 0
	back := func(_ *Plan, e *Engine) {
		e.Now = func() time.Time {
			readings++
			if readings > 2 {
				return time.Now().Add(-2 * time.Minute) // the clock is set back while the run goes on
			}
			return time.Now()
		}
	}
	s.run(t, back, wants(failure.ClockInvalid, Unknown))
	if s.creates != 1 {
		t.Errorf("%d creates were sent, want 1", s.creates)
	}
}

func TestStoreFailuresBeforeTheIntentDispatchNothing(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"load#1", "put manifest#1", "put prepared#1", "put dispatch-intent#1"} {
		for _, kind := range []faultKind{failBefore, failAfter, hangBefore} {
			s := newStub(succeeds)
			s.process.fault = fault{at, kind}
			s.run(t, nil, wants(failure.CheckpointStoreFailed, Refused))
			if s.creates != 0 {
				t.Errorf("%s at %s, and a create was sent", kind, at)
			}
		}
	}
}

func TestAnEndThatCannotBeRecordedIsNotReported(t *testing.T) {
	t.Parallel()
	s := newStub(succeeds)
	s.process.fault = fault{"put terminal#1", failBefore}
	s.run(t, nil, wants(failure.CheckpointStoreFailed, Unknown))
}

func TestTheTemplateAndItsServiceAccountAreReadTogether(t *testing.T) {
	t.Parallel()
	s := newStub(succeeds)
	slow := func() error { time.Sleep(10 * time.Second); return nil }
	s.cronJob, s.serviceAccount = slow, slow
	s.run(t, nil, func(t *testing.T, result Result, err error) {
		wants("", Succeeded)(t, result, err)
		if result.Duration >= 20*time.Second {
			t.Errorf("the run took %s: the reads came one after the other", result.Duration)
		}
	})
}

func TestTheDeadlineIsTheExecutionsOwn(t *testing.T) {
	t.Parallel()
	s := newStub(fate{state: contract.Succeeded, after: time.Hour})
	s.run(t, nil, func(t *testing.T, result Result, err error) {
		wants(failure.DeadlineExceeded, Unknown)(t, result, err)
		if result.Duration != 30*time.Second {
			t.Errorf("the run took %s, its deadline is 30s", result.Duration)
		}
	})
}

func TestEventsTellTheRunInOrder(t *testing.T) {
	t.Parallel()
	var kinds []string
	listen := func(_ *Plan, e *Engine) {
		e.Notify = func(ev Event) {
			if ev.Kind != EventRecorded {
				kinds = append(kinds, string(ev.Kind))
			}
		}
	}
	s := newStub(succeeds)
	s.run(t, listen, wants("", Succeeded))
	s.run(t, listen, func(t *testing.T, result Result, err error) {
		wants("", Succeeded)(t, result, err)
		if !result.Replayed || !result.Resumed || result.Dispatched || result.Evidence == nil {
			t.Errorf("the re-run's result is %+v, want a replay", result)
		}
	})
	want := "verified dispatched waiting terminal verified resumed replayed"
	if have := strings.Join(kinds, " "); have != want {
		t.Errorf("the events are %s, want %s", have, want)
	}
}

func TestAPlanIsRefusedBeforeAnythingIsRead(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Plan){
		"no timeout":          func(p *Plan) { p.Timeout = 0 },
		"too many successors": func(p *Plan) { p.Successors = 3; p.SuccessorEnvironments = make([]map[string]string, 3) },
		"a lost environment":  func(p *Plan) { p.Successors = 1 },
		"a bad environment": func(p *Plan) {
			p.Successors = 1
			p.SuccessorEnvironments = []map[string]string{{"A_TOKEN": "x"}}
		},
		"no image": func(p *Plan) { p.Request.Image = contract.Image{} },
	} {
		s := newStub(succeeds)
		s.cronJob = func() error { return errors.New("read") }
		s.run(t, func(p *Plan, _ *Engine) { change(p) }, func(t *testing.T, result Result, err error) {
			if failure.CodeOf(err) != failure.ConfigInvalid || result.Outcome != Invalid || len(s.calls) != 0 {
				t.Errorf("%s: the run ended %s: %v after the calls %v", name, result.Outcome, err, s.calls)
			}
		})
	}
}
