package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

const (
	// maxObject bounds an object, in bytes. etcd takes objects of 1.5 MiB by
	// default; JSON is at most a few times the size of what is stored.
	maxObject = 8 << 20
	// maxStatus bounds an answer that is an error.
	maxStatus = 1 << 20
)

// resource is one of the API's resources.
type resource struct{ prefix, plural, group, kind string }

var (
	cronJobs        = resource{"/apis/batch/v1", "cronjobs", "batch", "CronJob"}
	jobs            = resource{"/apis/batch/v1", "jobs", "batch", "Job"}
	serviceAccounts = resource{"/api/v1", "serviceaccounts", "", "ServiceAccount"}
	configMaps      = resource{"/api/v1", "configmaps", "", "ConfigMap"}
)

// String returns the resource as Kubernetes and RBAC write it.
func (r resource) String() string {
	if r.group == "" {
		return r.plural
	}
	return r.plural + "." + r.group
}

// call is one request. The words are those of [oneshot.CallError].
type call struct {
	verb            string
	resource        resource
	namespace, name string
	query           url.Values
	// accept is the form that the answer is to have, JSON if empty.
	accept string
	body   []byte
}

// methods has the verbs that do not only read.
// https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb
var methods = map[string]string{"create": http.MethodPost, "update": http.MethodPut, "delete": http.MethodDelete}

// method returns the method that the verb stands for.
func (c call) method() string { return cmp.Or(methods[c.verb], http.MethodGet) }

// reads reports whether the call changes nothing, so that no admission judges it.
func (c call) reads() bool { return methods[c.verb] == "" }

// target names what the call is about.
func (c call) target() string { return strings.TrimSpace(c.resource.String() + " " + c.name) }

// failed makes an error of what became of the call.
func (c call) failed(kind oneshot.Kind, status int, err error) *oneshot.CallError {
	return &oneshot.CallError{
		Verb: c.verb, Resource: c.resource.String(), Namespace: c.namespace, Name: c.name,
		Kind: kind, Status: status, Err: err,
	}
}

// url returns the call's address. A name that is not one path segment would be
// the address of something else.
// https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#path-segment-names
func (c call) url(base *url.URL) (*url.URL, error) {
	segments := []string{c.namespace, c.name}
	if c.verb == "list" && c.name == "" {
		segments = segments[:1]
	}
	for _, segment := range segments {
		if segment == "" || segment == "." || segment == ".." || strings.ContainsAny(segment, "/%") {
			return nil, c.failed(oneshot.Rejected, 0, fmt.Errorf("%q cannot be the name of an object", segment))
		}
	}
	u := *base
	u.Path += c.resource.prefix + "/namespaces/" + c.namespace + "/" + c.resource.plural
	switch c.verb {
	case "get", "update", "delete":
		u.Path += "/" + c.name
	}
	u.RawQuery = c.query.Encode()
	return &u, nil
}

// do sends a request once and returns the object that is its answer. The error
// is a [*oneshot.CallError], or wraps ctx's cause.
func (c *Client) do(ctx context.Context, call call, timeout time.Duration) (contract.Object, error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, x, err := c.send(ctx, limited, call)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.maxObject+1))
	if err != nil {
		return nil, c.transportError(ctx, limited, call, x, resp.StatusCode, &cutError{"the answer", err})
	}
	if int64(len(body)) > c.maxObject {
		return nil, call.failed(oneshot.Unavailable, resp.StatusCode, fmt.Errorf("the answer is larger than %d bytes", c.maxObject))
	}
	object, err := c.object(call, body)
	if err != nil && limited.Err() != nil {
		// Hanging up made the server end its answer where it was.
		return nil, c.transportError(ctx, limited, call, x, resp.StatusCode, err)
	}
	if err != nil {
		return nil, call.failed(oneshot.Unavailable, resp.StatusCode, err)
	}
	c.answered.Store(true)
	return object, nil
}

// send sends a request once and returns a 2xx answer. limited is ctx or derived
// from it, with the time that the request gets.
//
// Nothing is followed and nothing repeated: a redirect is an answer like any
// other, and a request with a body cannot be replayed by the transport, as it
// has no GetBody.
func (c *Client) send(ctx, limited context.Context, call call) (*http.Response, *exchange, error) {
	u, err := call.url(c.base)
	if err != nil {
		return nil, nil, err
	}
	x := &exchange{}
	req, err := http.NewRequestWithContext(context.WithValue(limited, exchangeKey{}, x), call.method(), u.String(), nil)
	if err != nil {
		return nil, nil, call.failed(oneshot.Rejected, 0, errors.New("the request cannot be written"))
	}
	req.Header.Set("Accept", cmp.Or(call.accept, "application/json"))
	if call.body != nil {
		req.Header.Set("Content-Type", "application/json")
		req.Body = io.NopCloser(bytes.NewReader(call.body))
		req.ContentLength = int64(len(call.body))
	}
	resp, err := c.rt.RoundTrip(req)
	if err != nil {
		return nil, nil, c.transportError(ctx, limited, call, x, 0, err)
	}
	c.warn(resp.Header["Warning"])
	if resp.StatusCode/100 == 2 {
		return resp, x, nil
	}
	defer func() { _ = resp.Body.Close() }()
	// What can be had of the body explains the status, which counts by itself.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxStatus))
	return nil, nil, c.statusError(call, resp.StatusCode, resp.Header, body)
}

// warn hands on what the API server warns of: deprecated versions, policies
// that would refuse if they were enforced.
// https://kubernetes.io/blog/2020/09/03/warnings/
func (c *Client) warn(headers []string) {
	if len(headers) == 0 {
		return
	}
	// A header that cannot be parsed is no reason to withhold the others.
	warnings, _ := utilnet.ParseWarningHeaders(headers)
	for _, w := range warnings {
		if w.Code == 299 && w.Text != "" {
			c.tell("warning from the API server: %s", c.clean(w.Text, maxMessage))
		}
	}
}
