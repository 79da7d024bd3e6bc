package oneshot

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// stub is a cluster whose answers a test writes down, and a store that keeps
// records in memory. What a test does not write down goes well.
type stub struct {
	*process
	cronJob, serviceAccount func() error
	// read is asked before each read of the Job, created before each create.
	read, created func(n int) error
	// watch are the states that the watch shows; after the last one it ends with
	// its context.
	watch []contract.Object
	// mutate changes a Job before it is seen.
	mutate func(contract.Object)

	reads, creates int
	requested      []time.Time
}

func newStub(f fate) *stub {
	w := newWorld(testCronJob(), testServiceAccount())
	w.fate["inventory"] = f
	return &stub{process: &process{world: w, seen: map[string]int{}, cancel: func() {}}}
}

func (s *stub) CronJob(ctx context.Context, namespace, name string) (contract.Object, error) {
	if s.cronJob != nil {
		if err := s.cronJob(); err != nil {
			return nil, err
		}
	}
	return s.process.CronJob(ctx, namespace, name)
}

func (s *stub) ServiceAccount(ctx context.Context, namespace, name string) (contract.Object, error) {
	if s.serviceAccount != nil {
		if err := s.serviceAccount(); err != nil {
			return nil, err
		}
	}
	return s.process.ServiceAccount(ctx, namespace, name)
}

func (s *stub) Job(ctx context.Context, namespace, name string) (contract.Object, error) {
	s.reads++
	if s.read != nil {
		if err := s.read(s.reads); err != nil {
			return nil, err
		}
	}
	job, err := s.process.Job(ctx, namespace, name)
	if err == nil && s.mutate != nil {
		job = clone(job)
		s.mutate(job)
	}
	return job, err
}

func (s *stub) CreateJob(ctx context.Context, namespace string, manifest contract.Object) (contract.Object, error) {
	s.creates++
	s.requested = append(s.requested, time.Now())
	if s.created != nil {
		if err := s.created(s.creates); err != nil {
			return nil, err
		}
	}
	return s.process.CreateJob(ctx, namespace, manifest)
}

func (s *stub) WatchJob(ctx context.Context, namespace, name string, last contract.Object, see func(contract.Object) (bool, error)) error {
	if s.watch == nil {
		return s.process.WatchJob(ctx, namespace, name, last, func(job contract.Object) (bool, error) {
			if job != nil && s.mutate != nil {
				job = clone(job)
				s.mutate(job)
			}
			return see(job)
		})
	}
	for _, change := range s.watch {
		var job contract.Object
		if change != nil {
			job = maps.Clone(last)
			maps.Copy(job, change)
		}
		if more, err := see(job); !more || err != nil {
			return err
		}
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// run plays one run in a bubble of its own time.
func (s *stub) run(t *testing.T, change func(*Plan, *Engine), check func(*testing.T, Result, error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		plan, engine := testPlan(), &Engine{Cluster: s, Store: s}
		if change != nil {
			change(&plan, engine)
		}
		result, err := engine.Run(t.Context(), plan)
		check(t, result, err)
	})
}

// answer is an answer of the API server that is not what was asked for.
func answer(kind Kind, status int, text string) *CallError {
	return &CallError{Verb: "create", Resource: "jobs.batch", Namespace: "fdai-runtime", Name: "x", Kind: kind, Status: status, Err: errors.New(text)}
}

// wants checks how a run ended.
func wants(code failure.Code, outcome Outcome) func(*testing.T, Result, error) {
	return func(t *testing.T, result Result, err error) {
		t.Helper()
		if have := failure.CodeOf(err); have != code || result.Outcome != outcome {
			t.Errorf("the run ended %s: %v, want %s with code %q", result.Outcome, err, outcome, code)
		}
	}
}

func (s *stub) stored(t *testing.T, want ...checkpoint.Step) {
	t.Helper()
	for name, records := range s.world.records(s.folder) {
		if len(records) != len(want) {
			t.Errorf("%s has the records %v, want %v", name, records, want)
		}
		for _, step := range want {
			if _, ok := records[step]; !ok {
				t.Errorf("%s has no %s record", name, step)
			}
		}
	}
}
