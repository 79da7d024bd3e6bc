package oneshot

import (
	"context"
	"fmt"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// Cluster is what the engine needs of a Kubernetes API server. An
// implementation makes one request for a call, never retries one (the engine
// does, within its deadline), and answers with a [*CallError] when a request
// did not succeed.
type Cluster interface {
	CronJob(ctx context.Context, namespace, name string) (contract.Object, error)
	ServiceAccount(ctx context.Context, namespace, name string) (contract.Object, error)
	Job(ctx context.Context, namespace, name string) (contract.Object, error)

	// CreateJob creates the Job and returns it as the server stored it.
	CreateJob(ctx context.Context, namespace string, manifest contract.Object) (contract.Object, error)

	// WatchJob calls see with each state of the Job that it observes, in order
	// and beginning with a present one, until see returns false or an error, or
	// ctx ends. A Job that is not there is seen as nil. last is the state that
	// the caller has seen already and that need not be shown again, or nil.
	//
	// It goes on for as long as ctx does: connections that drop or fall silent
	// are replaced. The error is see's, ctx's cause, or a [*CallError] of a kind
	// that no repetition mends.
	WatchJob(ctx context.Context, namespace, name string, last contract.Object, see func(contract.Object) (bool, error)) error
}

// Kind says what a request that did not succeed means to its caller.
type Kind int

// The kinds of requests that did not succeed. The zero value is none of them: it
// says nothing about the request, which may have had its effect.
const (
	// Rejected: the server understood the request and will not do it (4xx). It
	// had no effect.
	Rejected Kind = iota + 1
	// NotFound: the object, or its namespace, is not there (404).
	NotFound
	// AlreadyExists: an object of that name is there (409, reason AlreadyExists).
	AlreadyExists
	// Denied: not authenticated or not authorized (401, 403 by authorization).
	Denied
	// Throttled: the server asks to come again later (429), or, without a status,
	// the request was held back on this side. No effect.
	Throttled
	// Unavailable: a 5xx, or a connection that could not be made or was cut. A
	// create may have had its effect.
	Unavailable
	// TimedOut: no answer in the time one request gets. A create may have had
	// its effect, or may still have it.
	TimedOut
	// Unreachable: the request never left this machine and no repetition will
	// change that: a name that does not resolve, a certificate that is not
	// trusted. No effect.
	Unreachable
	// Conflict: the object is no longer the one that an update or a delete was made
	// for (409, reason Conflict). It had no effect, and one that is made for the
	// object as it is now may succeed.
	Conflict
)

// CallError is a request to the API server that did not succeed.
type CallError struct {
	// Verb and Resource are Kubernetes' own words: get jobs.batch.
	Verb, Resource  string
	Namespace, Name string
	Kind            Kind
	// Status is the HTTP status, 0 when there was no answer.
	Status int
	// Reason is the server's machine-readable reason, when it gave one.
	Reason string
	// RetryAfter is how long the server asked to wait, 0 when it did not.
	RetryAfter time.Duration
	// Fix says what the reader can do, where that is more than the kind says.
	Fix string
	// Err is what the server said or how the request failed.
	Err error
}

// Error says which request failed and what came back.
func (e *CallError) Error() string {
	target := e.Resource
	if e.Name != "" {
		target += " " + e.Name
	}
	status := ""
	if e.Status != 0 {
		status = fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	return fmt.Sprintf("could not %s %s in namespace %s%s: %v", e.Verb, target, e.Namespace, status, e.Err)
}

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// Temporary reports whether the same request may succeed later.
func (e *CallError) Temporary() bool {
	return e.Kind == Throttled || e.Kind == Unavailable || e.Kind == TimedOut
}
