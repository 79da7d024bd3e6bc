package oneshot

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// unauthorized is the HTTP status of a credential that is not accepted.
const unauthorized = 401

// exposure is how far an execution came towards a Job that may be running.
type exposure int

const (
	// nothing: no Job of this execution can be running because of a run of ours.
	nothing exposure = iota
	// recorded: the records of an earlier run say that one may be.
	recorded
	// sent: this run sent a create that had its effect, or may have had it.
	sent
)

// OutcomeOf returns what a failure means that came before anything could have
// been dispatched: reading the inputs, making connections. "" is no failure.
func OutcomeOf(code failure.Code) Outcome { return outcomeOf(code, nothing) }

// outcomeOf says what a failure means for the run as a whole.
func outcomeOf(code failure.Code, e exposure) Outcome {
	switch code {
	case "":
		return Succeeded
	case failure.JobFailed:
		return Failed
	case failure.Cancelled:
		return Cancelled
	case failure.DispatchAmbiguous, failure.TTLWindowElapsed, failure.JobVanished, failure.JobVanishedAfterDispatch,
		failure.StatusInconsistent, failure.WorkloadCannotStart:
		return Unknown
	case failure.JobContractChanged, failure.JobWithoutIntent, failure.CheckpointDiffers, failure.CreateRejected:
		// Refusals of what was found. They leave something unknown only when this
		// run has itself set something going.
		if e == sent {
			return Unknown
		}
		return Refused
	}
	switch {
	case e != nothing:
		return Unknown
	case code == failure.ConfigInvalid || code == failure.ContextIncomplete:
		return Invalid
	}
	return Refused
}

// callFailure tells a request that did not succeed with the code that fits what
// was asked: its own for what can be said of any request, else the given one.
func (r *run) callFailure(code failure.Code, err error) error {
	if stopped := r.stopped(); stopped != nil {
		return stopped
	}
	if e := coded(err); e != nil {
		return e
	}
	var call *CallError
	if errors.As(err, &call) {
		switch call.Kind {
		case Denied:
			return failure.New(failure.PermissionDenied, "%w", err).WithFix("%s", cmp.Or(call.Fix, fixDenied(call)))
		case Unreachable:
			return failure.New(failure.ClusterUnreachable, "%w", err).WithFix("%s", call.Fix)
		}
	}
	e := failure.New(code, "%w", err)
	if call != nil && call.Kind == Throttled && call.Status != 0 {
		e = e.WithFix("The API server is busy: run again later, or give a longer timeout")
	}
	return e
}

func fixDenied(call *CallError) string {
	if call.Status == unauthorized {
		return "The API server does not accept the credential: check that it is this cluster's and has not expired"
	}
	return fmt.Sprintf("Grant the verb %s on %s in namespace %s to the identity of this run", call.Verb, call.Resource, call.Namespace)
}

// storeFailure tells a store's failure. Only one that says what it is goes
// before a stop: a store that could not go on is how a stop looks from there.
func (r *run) storeFailure(doing string, err error) error {
	e := coded(err)
	if e != nil && e.Code != failure.CheckpointStoreFailed {
		return e
	}
	if stopped := r.stopped(); stopped != nil {
		return stopped
	}
	if e != nil {
		return e
	}
	return failure.New(failure.CheckpointStoreFailed, "%s: %w", doing, err)
}

// coded returns err as the failure that it is or wraps, with all of its text and
// its advice, or nil when there is none in it.
func coded(err error) *failure.Error {
	inner, ok := errors.AsType[*failure.Error](err)
	if !ok || error(inner) == err { //nolint:errorlint // whether it is wrapped is the question
		return inner
	}
	e := failure.New(inner.Code, "%w", err).At(inner.Field)
	if text, found := strings.CutSuffix(e.Message, ". "+inner.Fix); found && inner.Fix != "" {
		// It ends the text of the error around it, and is told by itself.
		e.Message = text
		e = e.WithFix("%s", inner.Fix)
	}
	return e
}
