package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// ConfigMaps hold records where the work folder does not last. They are read and
// written by the same rules as all else here: one request for a call, and none
// that is repeated.

const (
	// metadataList is the form of a list that leaves out everything but metadata.
	// https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources
	metadataList = "PartialObjectMetadataList"
	// pageSize is how many objects one answer to a list has at most. Their metadata
	// is a kilobyte or two each.
	pageSize = 500
)

// ConfigMap reads a ConfigMap.
func (c *Client) ConfigMap(ctx context.Context, namespace, name string) (contract.Object, error) {
	return c.get(ctx, configMaps, namespace, name, c.times.request)
}

// ConfigMaps lists those that a label selector selects, without their data: what
// each has under metadata counts. from is empty for the first page, else the next
// of the page before; the next of the last page is empty. A from that is too old
// is Rejected, with status 410.
func (c *Client) ConfigMaps(ctx context.Context, namespace, labelSelector, from string) (page []contract.Object, next string, err error) {
	call := call{
		verb: "list", resource: configMaps, namespace: namespace,
		query:  url.Values{"labelSelector": {labelSelector}, "limit": {strconv.Itoa(pageSize)}},
		accept: "application/json;as=" + metadataList + ";g=meta.k8s.io;v=v1, application/json",
	}
	if from != "" {
		call.query.Set("continue", from)
	}
	list, err := c.do(ctx, call, c.times.request)
	if err != nil {
		return nil, "", err
	}
	// A list of nothing may be null.
	items, ok := list["items"].([]any)
	if !ok && list["items"] != nil {
		return nil, "", call.failed(oneshot.Unavailable, 200, errors.New("the answer has no list in it"))
	}
	for _, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			return nil, "", call.failed(oneshot.Unavailable, 200, errors.New("the answer has something else in its list"))
		}
		page = append(page, object)
	}
	metadata, _ := list["metadata"].(map[string]any)
	next, _ = metadata["continue"].(string)
	return page, next, nil
}

// CreateConfigMap creates a ConfigMap and returns it as the server stored it.
func (c *Client) CreateConfigMap(ctx context.Context, namespace string, object contract.Object) (contract.Object, error) {
	return c.write(ctx, "create", configMaps, namespace, object)
}

// UpdateConfigMap replaces a ConfigMap and returns it as the server stored it. One
// that has changed since the object was read (metadata.resourceVersion), or that is
// another one by now (metadata.uid), is left as it is: that is a Conflict.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply
func (c *Client) UpdateConfigMap(ctx context.Context, namespace string, object contract.Object) (contract.Object, error) {
	return c.write(ctx, "update", configMaps, namespace, object)
}

// DeleteConfigMap deletes a ConfigMap, if it is still the one with this uid and in
// the state with this resourceVersion. Anything else is a Conflict.
func (c *Client) DeleteConfigMap(ctx context.Context, namespace, name, uid, resourceVersion string) error {
	call := call{verb: "delete", resource: configMaps, namespace: namespace, name: name}
	if uid == "" || resourceVersion == "" {
		// An empty precondition is none.
		return call.failed(oneshot.Rejected, 0, errors.New("it is not known which one is meant"))
	}
	var err error
	call.body, err = contract.Canonical(contract.Object{
		"apiVersion": "v1", "kind": "DeleteOptions",
		"preconditions": map[string]any{"uid": uid, "resourceVersion": resourceVersion},
	})
	if err != nil {
		return call.failed(oneshot.Rejected, 0, fmt.Errorf("the preconditions cannot be written as JSON: %w", err))
	}
	_, err = c.do(ctx, call, c.times.request)
	return err
}
