// Package configmap keeps records in the cluster that their Job is for: one
// ConfigMap for each execution, in the namespace of its Job.
//
// It outlives the Job and the runner, and belongs to nobody: neither a Job that is
// removed nor a CronJob that is deployed anew takes it along. It is created together
// with the intent, so that the API server decides which of two runs comes first,
// and is updated with its resourceVersion from then on, so that neither of two runs
// undoes what the other did.
package configmap

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// API is what is needed of an API server, as the client in internal/cluster has it:
// one request for each call, none that is repeated, and a [*oneshot.CallError] for
// one that did not succeed.
type API interface {
	ConfigMap(ctx context.Context, namespace, name string) (contract.Object, error)
	ConfigMaps(ctx context.Context, namespace, labelSelector, from string) (page []contract.Object, next string, err error)
	CreateConfigMap(ctx context.Context, namespace string, object contract.Object) (contract.Object, error)
	UpdateConfigMap(ctx context.Context, namespace string, object contract.Object) (contract.Object, error)
	DeleteConfigMap(ctx context.Context, namespace, name, uid, resourceVersion string) error
}

// Options of a [Store]. API, Namespace, CronJob and Retention have to be there.
type Options struct {
	API       API
	Namespace string
	// CronJob and Purpose become labels. The purpose is that of the run: what
	// succeeds an execution has it too.
	CronJob, Purpose string
	// SourceCommit is the commit that the template was deployed from, Run the
	// address of the workflow run's attempt, which ends with the number of that as
	// Attempt has it. They become annotations where they are known.
	SourceCommit, Run string
	Attempt           int
	// Retention is how long a ConfigMap is kept after it was last written.
	Retention time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Notify is told, a line at a time, what people should know and no error says.
	// It may be nil, and is not called concurrently.
	Notify func(string)
}

// Store keeps records in ConfigMaps. It is safe for concurrent use.
type Store struct {
	Options
	listing *listing

	mu    sync.Mutex
	known map[string]*known // by execution
	// stamp is the newest time that the server has shown, which it was at least when
	// that was seen, by a clock that nobody sets.
	stamp, seen time.Time

	tellMu sync.Mutex
	told   map[string]bool
}

var _ checkpoint.Shared = (*Store)(nil)

// known is what is known of the ConfigMap of one execution.
type known struct {
	// turn is held by whoever writes: one after the other.
	turn chan struct{}
	// asked says that it was looked for, if only in the list.
	asked bool
	// object is as the server last showed it, nil when there was none.
	object contract.Object
	// written are the documents that a Write of this Store left there.
	written map[checkpoint.Step]checkpoint.Document
}

// Open returns a store, and begins to list what is there, which the first Read of
// an execution then needs not ask for. That ends with ctx. The error is
// config-invalid.
func Open(ctx context.Context, o Options) (*Store, error) {
	switch {
	case o.API == nil, o.Namespace == "", o.CronJob == "":
		return nil, failure.New(failure.ConfigInvalid, "%w", errors.New("a cluster, a namespace and a CronJob are needed to keep records in the cluster"))
	case o.Retention <= 0:
		return nil, failure.New(failure.ConfigInvalid, "records cannot be kept for %s", o.Retention).At("checkpoint-retention")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{Options: o, known: map[string]*known{}, told: map[string]bool{}}
	s.listing = s.list(ctx)
	return s, nil
}

// Name implements [checkpoint.Shared].
func (s *Store) Name() string { return "cluster" }

// of returns what is known of an execution, which is one of this run from now on.
func (s *Store) of(execution string) known {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.entry(execution)
}

// saw remembers what the server showed of an execution.
func (s *Store) saw(execution string, object contract.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entry(execution).object = object
	s.learn(object)
}

// unasked reports whether an execution was never looked for. It is from now on.
func (s *Store) unasked(execution string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.entry(execution)
	first := !k.asked
	k.asked = true
	return first
}

// entry is what is known of an execution. Its maps are replaced, never changed. It
// needs mu.
func (s *Store) entry(execution string) *known {
	k := s.known[execution]
	if k == nil {
		k = &known{turn: make(chan struct{}, 1)}
		s.known[execution] = k
	}
	return k
}

// tell hands a line for people on, once.
func (s *Store) tell(text string) {
	s.tellMu.Lock()
	defer s.tellMu.Unlock()
	if s.Notify == nil || s.told[text] {
		return
	}
	s.told[text] = true
	s.Notify(text)
}
