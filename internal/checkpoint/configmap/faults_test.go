package configmap

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// callError is an error as the client makes it.
func callError(verb, name string, kind oneshot.Kind, status int, reason, text string) error {
	return &oneshot.CallError{
		Verb: verb, Resource: "configmaps", Namespace: testNamespace, Name: name,
		Kind: kind, Status: status, Reason: reason, Err: errors.New(text),
	}
}

func denied(verb string) error {
	return callError(verb, "", oneshot.Denied, http.StatusForbidden, "Forbidden",
		fmt.Sprintf(`configmaps is forbidden: User "dev" cannot %s resource "configmaps" in API group "" in the namespace %q`, verb, testNamespace))
}

func unavailable(verb string) error {
	return callError(verb, "", oneshot.Unavailable, http.StatusServiceUnavailable, "", "upstream connect error")
}

// hang answers when the caller has given up.
func hang(ctx context.Context, verb string) error {
	<-ctx.Done()
	return fmt.Errorf("could not %s configmaps: %w", verb, context.Cause(ctx))
}

func timedOut(verb string) error {
	return callError(verb, "x", oneshot.TimedOut, 0, "", "no answer in the time that a request gets")
}

func throttled(verb string, after time.Duration) error {
	err := callError(verb, "x", oneshot.Throttled, http.StatusTooManyRequests, "TooManyRequests", "come again")
	err.(*oneshot.CallError).RetryAfter = after //nolint:errorlint // made above
	return err
}

func rejected(verb string) error {
	return callError(verb, "x", oneshot.Rejected, http.StatusUnprocessableEntity, "Invalid", "denied request: no ConfigMaps on Fridays")
}

func unreachable(verb string) error {
	return callError(verb, "x", oneshot.Unreachable, 0, "", "no such host")
}

func conflict(verb string) error {
	kind := oneshot.Conflict
	if verb == "create" {
		kind = oneshot.Throttled
	}
	return callError(verb, "x", kind, http.StatusConflict, "Conflict", "the object has been modified")
}

func notFound(verb string) error {
	return callError(verb, "x", oneshot.NotFound, http.StatusNotFound, "NotFound", "not found")
}

func exists(verb string) error {
	return callError(verb, "x", oneshot.AlreadyExists, http.StatusConflict, "AlreadyExists", "already exists")
}
