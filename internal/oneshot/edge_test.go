package oneshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// A webhook may alter what was sent. The Job is there all the same.
func TestAJobThatTheServerAlteredIsRecordedAndRefused(t *testing.T) {
	t.Parallel()
	s := newStub(fate{state: contract.Succeeded, after: time.Hour})
	s.process.fault = fault{"create job#1", answerAltered}
	s.run(t, nil, func(t *testing.T, result Result, err error) {
		wants(failure.JobContractChanged, Unknown)(t, result, err)
		if !result.Dispatched || result.JobUID == "" {
			t.Errorf("the result does not tell of the Job: %+v", result)
		}
	})
	s.world.jobs = map[string]*liveJob{} // removed by hand after the scare
	s.run(t, nil, wants(failure.JobVanishedAfterDispatch, Unknown))
	if s.creates != 1 {
		t.Errorf("%d creates were sent, want 1", s.creates)
	}
}

func TestNoCreateIsSentAfterTheDeadline(t *testing.T) {
	t.Parallel()
	s := newStub(succeeds)
	slow := &slowStore{s, checkpoint.Intent, 31 * time.Second}
	synctest.Test(t, func(t *testing.T) {
		result, err := (&Engine{Cluster: s, Store: slow}).Run(t.Context(), testPlan())
		wants(failure.DeadlineExceeded, Refused)(t, result, err)
		if !strings.HasSuffix(err.Error(), ". Run again, or give a longer timeout") {
			t.Errorf("there is no Job, and the advice is %v", err)
		}
		if s.creates != 0 {
			t.Error("a create was sent after the deadline")
		}
		// And nothing stands in the way of the next run.
		result, err = (&Engine{Cluster: s, Store: s}).Run(t.Context(), testPlan())
		wants("", Succeeded)(t, result, err)
	})
}

// slowStore takes its time over one step.
type slowStore struct {
	*stub
	step checkpoint.Step
	d    time.Duration
}

func (s *slowStore) Put(ctx context.Context, name string, r checkpoint.Record) error {
	if r.Step == s.step {
		select {
		case <-time.After(s.d):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return s.stub.Put(ctx, name, r)
}

// A run elsewhere can create, end and lose the Job while an intent is stored.
func TestAFreshIntentThatTookTooLongIsTooOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, plan := newStub(succeeds), testPlan()
		plan.Timeout = 5 * time.Hour
		result, err := (&Engine{Cluster: s, Store: &slowStore{s, checkpoint.Intent, 2 * time.Hour}}).Run(t.Context(), plan)
		wants(failure.TTLWindowElapsed, Unknown)(t, result, err)
		if s.creates != 0 {
			t.Error("a create was sent two hours after its intent")
		}
	})
}

// The monotonic clock stands still while a machine is suspended.
func TestTheWindowCountsTheTimeOfASuspendedMachine(t *testing.T) {
	t.Parallel()
	now := time.Now()
	later := suspended(now, 2*time.Hour)
	if later.Sub(now) != 0 || later.Round(0).Sub(now.Round(0)) != 2*time.Hour {
		t.Fatal("the times of this test are not what they should be")
	}
	w := window{intent: now, ttl: time.Hour}
	if w.open(later) {
		t.Error("a window of an hour is open two hours later")
	}
	if !w.open(suspended(now, 50*time.Minute)) {
		t.Error("a window of an hour is closed after 50 minutes")
	}
}

// suspended returns t with a wall clock that went on and a monotonic one that
// did not, as after CLOCK_MONOTONIC stood still. No function of package time
// makes such a value.
func suspended(t time.Time, d time.Duration) time.Time {
	type fields struct {
		wall uint64
		ext  int64
	}
	later := t.Add(d)
	(*fields)(unsafe.Pointer(&later)).ext = (*fields)(unsafe.Pointer(&t)).ext
	return later
}

func twoTries(p *Plan, _ *Engine) {
	p.Successors, p.SuccessorEnvironments = 1, []map[string]string{{"PROGRESS_RUN_ID": "again"}}
}

func TestWhatOneExecutionDidIsNotSaidOfItsSuccessor(t *testing.T) {
	t.Parallel()
	s := newStub(fails)
	s.world.fate["inventory-retry-1"] = succeeds
	s.run(t, nil, wants(failure.JobFailed, Failed))
	s.run(t, twoTries, func(t *testing.T, result Result, err error) {
		wants("", Succeeded)(t, result, err)
		if result.Replayed || !result.Resumed || !result.Dispatched {
			t.Errorf("the result is %+v, want a successor that was observed", result)
		}
	})
}

// A successor that is refused does not undo that its predecessor ran and failed.
func TestASuccessorThatIsNotStartedLeavesAFailedJob(t *testing.T) {
	t.Parallel()
	denied := func(s *stub) {
		s.read = func(n int) error {
			if n > 1 {
				return answer(Denied, 403, "no")
			}
			return nil
		}
	}
	afterTheFirst := func(s *stub, change func(contract.Object)) {
		reads := 0
		s.cronJob = func() error {
			if reads++; reads == 2 {
				change(s.world.cronJob)
			}
			return nil
		}
	}
	for code, prepare := range map[failure.Code]func(*stub){
		failure.PermissionDenied: denied,
		failure.TemplateDrift: func(s *stub) {
			afterTheFirst(s, func(o contract.Object) { o["spec"].(map[string]any)["schedule"] = "1 * * * *" })
		},
		failure.ConfigInvalid: func(s *stub) { afterTheFirst(s, func(o contract.Object) { o["spec"] = nil }) },
	} {
		s := newStub(fails)
		prepare(s)
		s.run(t, twoTries, func(t *testing.T, result Result, err error) {
			wants(code, Failed)(t, result, err)
			if !result.Dispatched || result.JobUID == "" || result.Successor != 0 || result.Evidence == nil {
				t.Errorf("the result does not tell of the Job that failed: %+v", result)
			}
			if !strings.Contains(err.Error(), "its successor 1 was not started") {
				t.Errorf("the failure does not tell why there was to be a successor: %v", err)
			}
		})
	}
}

func TestAStopBetweenExecutionsLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, plan := newStub(fails), testPlan()
		twoTries(&plan, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		engine := &Engine{Cluster: s, Store: s, Notify: func(ev Event) {
			if ev.Kind == EventSuccessor {
				cancel()
			}
		}}
		result, err := engine.Run(ctx, plan)
		wants(failure.Cancelled, Cancelled)(t, result, err)
		if strings.Contains(err.Error(), "may be running") {
			t.Errorf("a Job is said to be running that is recorded to have failed: %v", err)
		}
	})
}

// "Refused" says that nothing of this run can be at work.
func TestARefusalAfterACreateOfThisRunIsNotARefusal(t *testing.T) {
	t.Parallel()
	s := newStub(fate{state: contract.Succeeded, after: time.Hour})
	s.mutate = func(job contract.Object) { job["spec"].(map[string]any)["backoffLimit"] = json.Number("9") }
	s.run(t, nil, wants(failure.JobContractChanged, Unknown))

	s = newStub(fate{state: contract.Succeeded, after: time.Hour})
	s.process.fault = fault{"create job#1", failLate}
	s.created = func(n int) error {
		if n > 1 {
			return answer(Rejected, 403, "exceeded quota")
		}
		return nil
	}
	s.run(t, nil, wants(failure.CreateRejected, Unknown))
}

func TestAnAnswerThatSaysNothingMayHaveHadItsEffect(t *testing.T) {
	t.Parallel()
	s := newStub(succeeds)
	s.created = func(int) error { return &CallError{Verb: "create", Err: errors.New("no kind")} }
	s.run(t, nil, wants(failure.DispatchAmbiguous, Unknown))
}

// A stop is a stop, whatever the real work folder makes of an ended context.
func TestAStopWhileTheWorkFolderIsReadIsCancelled(t *testing.T) {
	t.Parallel()
	path, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	folder, err := checkpoint.OpenFolder(filepath.Join(path, "records"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := folder.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	engine := &Engine{Cluster: newStub(succeeds), Store: folder, Notify: func(ev Event) {
		if ev.Kind == EventVerified {
			cancel()
		}
	}}
	result, err := engine.Run(ctx, testPlan())
	wants(failure.Cancelled, Cancelled)(t, result, err)
}

func TestATemplateThatIsNotThereIsToldAtOnce(t *testing.T) {
	t.Parallel()
	s := newStub(succeeds)
	s.cronJob = func() error { return answer(NotFound, 404, "no such cronjob") }
	s.serviceAccount = func() error { return answer(Unavailable, 503, "x") }
	s.run(t, nil, func(t *testing.T, result Result, err error) {
		wants(failure.TemplateUnavailable, Refused)(t, result, err)
		if result.Duration > time.Second {
			t.Errorf("it was told after %s", result.Duration)
		}
	})
}

func TestPeopleAreToldOfAJobOnceItIsRecorded(t *testing.T) {
	t.Parallel()
	s := newStub(succeeds)
	s.run(t, func(_ *Plan, e *Engine) {
		e.Notify = func(ev Event) {
			if _, ok := s.world.records("")[ev.Execution][checkpoint.Dispatched]; ev.Kind == EventDispatched && !ok {
				t.Error("the event came before the record")
			}
		}
	}, wants("", Succeeded))
}

// watchFails is a cluster whose watch ends with an error.
type watchFails struct {
	*stub
	err error
}

func (w *watchFails) WatchJob(context.Context, string, string, contract.Object, func(contract.Object) (bool, error)) error {
	return w.err
}

func TestEveryFailureIsOneWithACode(t *testing.T) {
	t.Parallel()
	for code, cause := range map[failure.Code]error{
		failure.CredentialFailed: &CallError{Verb: "watch", Kind: Unreachable, Err: failure.New(failure.CredentialFailed, "no token")},
		failure.PermissionDenied: &CallError{Verb: "watch", Kind: Denied, Status: 403, Err: errors.New("no")},
		failure.ReadbackFailed:   errors.New("an adapter's own"),
		failure.JobVanished:      fmt.Errorf("wrapped: %w", failure.New(failure.JobVanished, "gone")),
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &watchFails{newStub(succeeds), cause}
			result, err := (&Engine{Cluster: w, Store: w}).Run(t.Context(), testPlan())
			wants(code, Unknown)(t, result, err)
			if _, ok := err.(*failure.Error); !ok { //nolint:errorlint // the type itself is promised
				t.Errorf("%v is a %T", err, err)
			}
		})
	}
}

// stopsLate is a cluster and a store that take their time once the run is told
// to stop in the middle of the create.
type stopsLate struct {
	*stub
	stop context.CancelFunc
	at   time.Time
}

const lag = 1900 * time.Millisecond

func (c *stopsLate) CreateJob(context.Context, string, contract.Object) (contract.Object, error) {
	c.stop()
	c.at = time.Now()
	time.Sleep(lag)
	return nil, answer(TimedOut, 0, "no answer")
}

func (c *stopsLate) Job(ctx context.Context, namespace, name string) (contract.Object, error) {
	if !c.at.IsZero() {
		time.Sleep(lag)
	}
	return c.stub.Job(ctx, namespace, name)
}

func (c *stopsLate) Put(ctx context.Context, name string, r checkpoint.Record) error {
	if !c.at.IsZero() {
		time.Sleep(lag)
	}
	return c.stub.Put(ctx, name, r)
}

func TestAllThatIsUnderWaySharesOneGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := &stopsLate{stub: newStub(succeeds), stop: cancel}
		result, err := (&Engine{Cluster: c, Store: c}).Run(ctx, testPlan())
		wants(failure.Cancelled, Cancelled)(t, result, err)
		if took := time.Since(c.at); took > 5*time.Second {
			t.Errorf("the run ended %s after it was told to stop", took)
		}
		c.stored(t, checkpoint.Manifest, checkpoint.Prepared, checkpoint.Intent, checkpoint.Ambiguous)
	})
}

// blackHole is an API server behind a firewall: each connection takes ten
// seconds to fail.
type blackHole struct{ *stub }

func (b *blackHole) CronJob(ctx context.Context, _, _ string) (contract.Object, error) {
	select {
	case <-time.After(10 * time.Second):
		return nil, answer(Unavailable, 0, "i/o timeout; are there authorized IP ranges?")
	case <-ctx.Done():
		return nil, fmt.Errorf("could not get cronjobs.batch: %w", context.Cause(ctx))
	}
}

func (b *blackHole) ServiceAccount(ctx context.Context, namespace, name string) (contract.Object, error) {
	return b.CronJob(ctx, namespace, name)
}

func TestAnAPIServerBehindAFirewallIsUnreachableSoon(t *testing.T) {
	t.Parallel()
	for _, timeout := range []time.Duration{5 * time.Second, 15 * time.Second, 45 * time.Second, 35 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			b, plan := &blackHole{newStub(succeeds)}, testPlan()
			plan.Timeout = timeout
			result, err := (&Engine{Cluster: b, Store: b}).Run(t.Context(), plan)
			wants(failure.ClusterUnreachable, Refused)(t, result, err)
			if timeout > 10*time.Second && !strings.Contains(err.Error(), "authorized IP ranges") {
				t.Errorf("what the connection met is not told: %v", err)
			}
			if result.Duration > firstContact+10*time.Second {
				t.Errorf("it was told after %s", result.Duration)
			}
		})
	}
}

// An API server that comes back answers before it knows what is allowed.
func TestARefusalRightAfterAnOutageIsNotFinal(t *testing.T) {
	t.Parallel()
	s := newStub(succeeds)
	answers := []error{answer(Unavailable, 0, "connection refused"), answer(Denied, 403, "no"), answer(Denied, 403, "no"), nil}
	s.cronJob = func() error {
		next := answers[0]
		answers = answers[1:]
		return next
	}
	s.run(t, nil, wants("", Succeeded))

	s = newStub(succeeds)
	first := true
	s.cronJob = func() error {
		if first {
			first = false
			return answer(Unavailable, 0, "connection refused")
		}
		return answer(Denied, 403, "no")
	}
	s.run(t, nil, func(t *testing.T, result Result, err error) {
		wants(failure.PermissionDenied, Refused)(t, result, err)
		if result.Duration > 2*settling {
			t.Errorf("it was told after %s", result.Duration)
		}
	})
}

// A Job that another run created first is waited for like one's own, and an end
// that was not seen is not a refusal.
func TestAJobOfAnotherRunThatIsStillRunningIsNotRefused(t *testing.T) {
	t.Parallel()
	s := newStub(fate{state: contract.Succeeded, after: time.Hour})
	s.created = func(int) error {
		manifest := s.world.records("")["fdai-inventory-5d01f2953d711784"][checkpoint.Manifest].Content
		if _, err := s.world.create(s.process, clone(manifest)); err != nil {
			return err
		}
		return answer(AlreadyExists, 409, "already exists")
	}
	s.run(t, nil, func(t *testing.T, result Result, err error) {
		wants(failure.DeadlineExceeded, Unknown)(t, result, err)
		if result.Dispatched || result.JobUID == "" {
			t.Errorf("the result is %+v, want a Job that was found", result)
		}
	})
}

// An adapter that knows better than the kind what can be done says so.
func TestAnAdaptersAdviceGoesBeforeTheGeneralOne(t *testing.T) {
	t.Parallel()
	r := &run{Engine: &Engine{}, caller: t.Context()}
	for _, status := range []int{401, 403} {
		call := &CallError{Verb: "get", Resource: "jobs.batch", Namespace: "n", Kind: Denied, Status: status, Err: errors.New("no")}
		general, _ := errors.AsType[*failure.Error](r.callFailure(failure.ReadbackFailed, call))
		call.Fix = "Ask somebody else"
		advised, _ := errors.AsType[*failure.Error](r.callFailure(failure.ReadbackFailed, call))
		if general == nil || general.Fix == "" || advised == nil || advised.Fix != call.Fix || advised.Code != failure.PermissionDenied {
			t.Errorf("HTTP %d: %v, with advice %v", status, general, advised)
		}
	}
}

// What can be done is told once: beside the text, not in it.
func TestAdviceOfAFailureInsideIsItsOwn(t *testing.T) {
	t.Parallel()
	inner := failure.New(failure.CredentialFailed, "asking Entra: no").WithFix("Ask again")
	call := &CallError{Verb: "get", Resource: "jobs.batch", Name: "x", Namespace: "n", Kind: Unreachable, Err: fmt.Errorf("signing in: %w", inner)}
	r := &run{Engine: &Engine{}, caller: t.Context()}
	told, _ := errors.AsType[*failure.Error](r.callFailure(failure.ReadbackFailed, call))
	if told == nil || told.Code != inner.Code || told.Fix != inner.Fix || strings.Contains(told.Message, inner.Fix) ||
		!strings.HasPrefix(told.Message, "could not get jobs.batch x in namespace n: signing in: ") {
		t.Errorf("told: %+v", told)
	}
	unreachable := &CallError{Verb: "get", Resource: "jobs.batch", Kind: Unreachable, Fix: "Use another runner", Err: errors.New("no such name")}
	if told, _ = errors.AsType[*failure.Error](r.callFailure(failure.ReadbackFailed, unreachable)); told == nil || told.Fix != unreachable.Fix || told.Code != failure.ClusterUnreachable {
		t.Errorf("told: %+v", told)
	}
}
