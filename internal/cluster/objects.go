package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/escape"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// CronJob reads a CronJob.
func (c *Client) CronJob(ctx context.Context, namespace, name string) (contract.Object, error) {
	return c.get(ctx, cronJobs, namespace, name, c.times.request)
}

// ServiceAccount reads a ServiceAccount.
func (c *Client) ServiceAccount(ctx context.Context, namespace, name string) (contract.Object, error) {
	return c.get(ctx, serviceAccounts, namespace, name, c.times.request)
}

// Job reads a Job.
func (c *Client) Job(ctx context.Context, namespace, name string) (contract.Object, error) {
	return c.get(ctx, jobs, namespace, name, c.times.request)
}

// CreateJob creates a Job and returns it as the server stored it. What is sent
// is the manifest's canonical form.
//
// Fields that the server does not know are refused by it (fieldValidation
// Strict) rather than dropped: a Job without them would not be the one that was
// reviewed. kubectl create does the same.
func (c *Client) CreateJob(ctx context.Context, namespace string, manifest contract.Object) (contract.Object, error) {
	return c.write(ctx, "create", jobs, namespace, manifest)
}

// write creates or updates an object.
func (c *Client) write(ctx context.Context, verb string, r resource, namespace string, manifest contract.Object) (contract.Object, error) {
	metadata, _ := manifest["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	call := call{
		verb: verb, resource: r, namespace: namespace, name: name,
		query: url.Values{"fieldManager": {"aks-oneshot"}, "fieldValidation": {"Strict"}},
	}
	var err error
	if call.body, err = contract.Canonical(manifest); err != nil {
		return nil, call.failed(oneshot.Rejected, 0, fmt.Errorf("the manifest cannot be written as JSON: %w", err))
	}
	return c.do(ctx, call, c.times.request)
}

// get reads one object as it is at the time of the request: a get without a
// resourceVersion is answered with the most recent state.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
func (c *Client) get(ctx context.Context, r resource, namespace, name string, timeout time.Duration) (contract.Object, error) {
	return c.do(ctx, call{verb: "get", resource: r, namespace: namespace, name: name}, timeout)
}

// object parses the body of a 2xx answer to the call. One that is not the object
// in question is no answer: a create may have had its effect all the same.
func (c *Client) object(call call, body []byte) (contract.Object, error) {
	object, err := contract.ParseObject(body)
	switch {
	case err == nil && call.answeredBy(object):
		return object, nil
	case err == nil:
		return nil, errors.New("the answer is not the object that was asked for")
	case escape.IsPage(string(body)):
		return nil, fmt.Errorf("the answer is not that of a Kubernetes API server: %s", c.foreign(body))
	}
	return nil, fmt.Errorf("the answer cannot be read: %w", err)
}

// answeredBy reports whether the object is one that the call is about.
func (c call) answeredBy(object contract.Object) bool {
	switch {
	case c.verb == "list" && c.accept != "":
		return object["kind"] == metadataList || object["kind"] == c.resource.kind+"List"
	case c.verb == "list":
		return object["kind"] == c.resource.kind+"List"
	case c.verb == "delete" && object["kind"] == "Status":
		return object["status"] == "Success"
	}
	metadata, _ := object["metadata"].(map[string]any)
	return object["kind"] == c.resource.kind && metadata["name"] == c.name && metadata["namespace"] == c.namespace
}
