package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// step is one answer of the cluster.
type step struct {
	Op     string
	Name   string
	Reply  json.RawMessage
	Result string
}

// script is a cluster that answers what the reference's kubectl answered. The
// answers of one operation come in order; the last one stands.
type script struct {
	mu      sync.Mutex
	steps   map[string][]step
	creates int
}

func newScript(steps []step) *script {
	s := &script{steps: map[string][]step{}}
	for _, st := range steps {
		s.steps[st.Op] = append(s.steps[st.Op], st)
	}
	return s
}

// poll is how often the reference looked at a Job that it waited for.
const poll = 5 * time.Second

var errScript = errors.New("scripted")

// next takes the next answer; false when there is none.
func (s *script) next(op string) (step, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.steps[op]
	if len(left) == 0 {
		return step{}, false
	}
	if len(left) > 1 || left[0].Result == "" {
		s.steps[op] = left[1:]
	}
	return left[0], true
}

func (s *script) read(op, resource, namespace, name string) (contract.Object, error) {
	fail := func(kind oneshot.Kind, status int) error {
		return &oneshot.CallError{Verb: "get", Resource: resource, Namespace: namespace, Name: name, Kind: kind, Status: status, Err: errScript}
	}
	st, ok := s.next(op)
	switch {
	case !ok || string(st.Reply) == "null" && st.Result == "":
		return nil, fail(oneshot.NotFound, 404)
	case st.Result == "error":
		return nil, fail(oneshot.Unavailable, 500)
	case len(st.Reply) == 0:
		return nil, fail(oneshot.NotFound, 404)
	}
	return contract.ParseObject(st.Reply)
}

func (s *script) CronJob(_ context.Context, namespace, name string) (contract.Object, error) {
	return s.read("get-cronjob", "cronjobs.batch", namespace, name)
}

func (s *script) ServiceAccount(_ context.Context, namespace, name string) (contract.Object, error) {
	return s.read("get-serviceaccount", "serviceaccounts", namespace, name)
}

func (s *script) Job(_ context.Context, namespace, name string) (contract.Object, error) {
	return s.read("get-job", "jobs.batch", namespace, name)
}

func (s *script) CreateJob(_ context.Context, namespace string, manifest contract.Object) (contract.Object, error) {
	s.creates++
	fail := func(kind oneshot.Kind) error {
		return &oneshot.CallError{Verb: "create", Resource: "jobs.batch", Namespace: namespace, Kind: kind, Err: errScript}
	}
	switch st, _ := s.next("create-job"); st.Result {
	case "ok":
		return manifest, nil
	case "error":
		return nil, fail(oneshot.Rejected)
	case "timeout":
		return nil, fail(oneshot.TimedOut)
	case "crash":
		panic(errCrash)
	default:
		return nil, fmt.Errorf("the script has no create left")
	}
}

// WatchJob shows what the reference's polls were answered, one every five
// seconds, and then nothing more until the time is up.
func (s *script) WatchJob(ctx context.Context, namespace, name string, last contract.Object, see func(contract.Object) (bool, error)) error {
	wait := time.Duration(0)
	if _, polled := last["status"]; polled {
		wait = poll
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
		if len(s.steps["get-job"]) == 0 {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		job, err := s.Job(ctx, namespace, name)
		var call *oneshot.CallError
		if errors.As(err, &call) && call.Kind == oneshot.NotFound {
			job, err = nil, nil
		}
		if err != nil {
			return err
		}
		if more, err := see(job); !more || err != nil {
			return err
		}
		wait = poll
	}
}
