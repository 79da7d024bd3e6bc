package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aks-oneshot/aks-oneshot/internal/network"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// statusError tells what an answer that is not 2xx means. Its body is a Status,
// or anything else when it comes from something between here and the server.
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
func (c *Client) statusError(call call, code int, header http.Header, body []byte) *oneshot.CallError {
	status, ok := parseStatus(body)
	if !ok {
		return c.foreignError(call, code, header, body)
	}
	err := c.statusMeaning(call, code, status)
	err.RetryAfter = retryAfter(header, status)
	return err
}

func parseStatus(body []byte) (status metav1.Status, ok bool) {
	err := json.Unmarshal(body, &status)
	return status, err == nil && status.Kind == "Status"
}

// statusMeaning tells what a Status of the API server means.
func (c *Client) statusMeaning(call call, code int, status metav1.Status) *oneshot.CallError {
	message := c.clean(status.Message, maxMessage)
	if message == "" {
		message = strings.TrimSpace(fmt.Sprintf("%s %s", http.StatusText(code), c.clean(string(status.Reason), maxForeign)))
	}
	err := call.failed(kindOf(call, code, status), code, errors.New(message))
	if err.Kind == oneshot.Denied {
		err.Fix = c.hints().denied(call, code)
	}
	err.Reason = c.clean(string(status.Reason), maxForeign)
	return err
}

func kindOf(call call, code int, status metav1.Status) oneshot.Kind {
	switch {
	case code == http.StatusUnauthorized:
		return oneshot.Denied
	case code == http.StatusForbidden && (call.reads() || unauthorized.MatchString(status.Message)):
		return oneshot.Denied
	case code == http.StatusNotFound && absent(call, status):
		return oneshot.NotFound
	case code == http.StatusConflict && status.Reason == metav1.StatusReasonAlreadyExists:
		return oneshot.AlreadyExists
	case code == http.StatusConflict && status.Reason == metav1.StatusReasonConflict && call.verb != "create":
		return oneshot.Conflict
	case code == http.StatusConflict && status.Reason == metav1.StatusReasonConflict:
		// Two writers met, those of a quota. It had no effect, and the same request
		// is welcome later.
		return oneshot.Throttled
	}
	return kindOfCode(code)
}

// kindOfCode is what a code means by itself.
func kindOfCode(code int) oneshot.Kind {
	switch {
	case code == http.StatusTooManyRequests:
		return oneshot.Throttled
	case code == http.StatusRequestTimeout || code/100 == 5:
		return oneshot.Unavailable
	}
	return oneshot.Rejected
}

// unauthorized recognizes a refusal by the authorizer, whose text starts with
// whom it refuses what. A refusal by admission (quota, Pod Security, a policy, a
// webhook, a namespace that is being deleted) has the same code and reason, and
// may quote such a text further on.
// https://kubernetes.io/docs/reference/access-authn-authz/authorization/
var unauthorized = regexp.MustCompile(`^(?:(?:\S+ (?:"[^"]*" )?is )?forbidden: )?User "(?:[^"\\]|\\.)*" cannot \S+ (?:resource|path) "`)

// absent reports whether a 404 says that the object, or what it is to be created
// in, is not there, rather than that the server does not know the resource.
func absent(call call, status metav1.Status) bool {
	if status.Reason != metav1.StatusReasonNotFound || status.Details == nil {
		return false
	}
	switch call.verb {
	case "create":
		return status.Details.Name == call.namespace
	case "list":
		// What there is none of is an empty list.
		return call.name != "" && status.Details.Name == call.name
	}
	return status.Details.Name == call.name
}

// foreignError is an answer that is not the API server's. Its code decides, but
// it is nobody's word on whether an object is there, or who may do what to it.
func (c *Client) foreignError(call call, code int, header http.Header, body []byte) *oneshot.CallError {
	text := "the answer is not that of a Kubernetes API server"
	if code/100 == 3 {
		text += ", but a redirect"
		if to, err := url.Parse(header.Get("Location")); err == nil && to.Host != "" {
			text += " to " + c.clean(to.Host, maxForeign)
		}
	} else if said := c.foreign(body); said != "" {
		text += ": " + said
	}
	kind := kindOfCode(code)
	if code == http.StatusUnauthorized || (code == http.StatusForbidden && call.reads()) {
		kind = oneshot.Denied
	}
	err := call.failed(kind, code, errors.New(text))
	err.RetryAfter = retryAfter(header, metav1.Status{})
	return err
}

// maxRetryAfter keeps a server from asking for what no run would live to see.
const maxRetryAfter = time.Hour

// retryAfter returns how long the server asks to wait, 0 when it does not. The
// header is the one that Kubernetes sets with 429 and 503, in seconds.
func retryAfter(header http.Header, status metav1.Status) time.Duration {
	wait := network.RetryAfter(header, maxRetryAfter)
	if status.Details != nil {
		wait = max(wait, time.Duration(status.Details.RetryAfterSeconds)*time.Second)
	}
	return min(wait, maxRetryAfter)
}
