package configmap

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// alteredError says that the server stored something else than it was sent.
type alteredError struct{}

func (*alteredError) Error() string {
	return "the cluster did not store what it was sent: something there changes the data or the labels of ConfigMaps"
}

// endingError says that a ConfigMap is still there and keeps nothing any more.
type endingError struct{}

func (*endingError) Error() string {
	return "it is being deleted, and only waits for its finalizers"
}

// failed tells what became of a Read or a Write. An end of the context has no code;
// neither has a step that is taken.
func (s *Store) failed(doing string, err error) error {
	if _, stopped := errors.AsType[*stoppedError](err); stopped || errors.Is(err, checkpoint.ErrTaken) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if coded, ok := err.(*failure.Error); ok { //nolint:errorlint // one that was made here
		return coded
	}
	code := failure.CheckpointStoreFailed
	if kindOf(err) == oneshot.Denied {
		code = failure.PermissionDenied
	}
	return failure.New(code, "%s: %w", doing, err).WithFix("%s", s.fix(err))
}

// elsewhere is what can be done about any store.
const elsewhere = ", or name other checkpoint-stores (none: the work folder alone)"

// fix says what can be done about an error.
func (s *Store) fix(err error) string {
	call, ok := errors.AsType[*oneshot.CallError](err)
	if _, altered := errors.AsType[*alteredError](err); altered {
		return "Exempt ConfigMaps with the label " + managedByLabel + ": " + managedBy + " from the admission policies and webhooks that change them" + elsewhere
	}
	if _, ending := errors.AsType[*endingError](err); ending {
		return "Keep what is in it (kubectl get configmap -o yaml), and find out who deleted it and what its finalizers wait for: without these records the work may be dispatched again"
	}
	if !ok {
		return "Look at the ConfigMap, and run again"
	}
	switch call.Kind {
	case oneshot.Denied:
		return s.fixDenied(call)
	case oneshot.NotFound:
		return "Check that the namespace " + s.Namespace + " is there" + elsewhere
	case oneshot.Rejected:
		return "Have whatever refuses it in the cluster (a quota, a policy, a webhook) allow ConfigMaps with the label " + managedByLabel + ": " + managedBy + elsewhere
	case oneshot.Throttled:
		return "The API server is busy: run again later"
	case oneshot.Unreachable:
		return cmp.Or(call.Fix, "See to it that this runner reaches the API server, and run again")
	}
	return "Run again when the API server answers; it resumes"
}

// fixDenied names everything that is needed, not only what was refused: the next
// run would end at the next verb.
func (s *Store) fixDenied(call *oneshot.CallError) string {
	if call.Status == http.StatusUnauthorized {
		return cmp.Or(call.Fix, "The API server does not accept the credential: check that it is this cluster's and has not expired")
	}
	text := "Keeping records in the cluster needs the verbs get, list, create, update and delete on configmaps in namespace " + s.Namespace +
		": grant them to the identity of this run" + elsewhere
	if call.Fix != "" {
		text = call.Fix + ". " + text
	}
	return text
}
