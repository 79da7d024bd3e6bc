package harness

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/test/cluster"
)

// Object is a Kubernetes object, with its numbers as they were sent.
type Object = contract.Object

// API speaks to an API server. It is what kubectl is to people, without a start
// of a program for each request.
type API struct {
	server, token string
	client        *http.Client
}

// NewAPI returns an API for the cluster's admin.
func NewAPI(c *cluster.Cluster) (*API, error) {
	pem, err := os.ReadFile(c.CAFile())
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("no certificate in %s", c.CAFile())
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	return &API{server: c.Server(), token: c.Token(cluster.Admin), client: &http.Client{Transport: transport}}, nil
}

// StatusError is an answer that is not 2xx.
type StatusError struct {
	Code    int
	Message string
}

// Error says the code and what the server said.
func (e *StatusError) Error() string { return fmt.Sprintf("HTTP %d: %s", e.Code, e.Message) }

// IsStatus reports whether an error is an answer with the code.
func IsStatus(err error, code int) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Code == code
}

// Do sends one request and returns the object that comes back. The body is
// encoded as JSON unless it is nil.
func (a *API) Do(ctx context.Context, method, path string, body any) (Object, error) {
	raw, err := a.Raw(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	return contract.ParseObject(raw)
}

// Raw is Do for an answer that is no object.
func (a *API) Raw(ctx context.Context, method, path string, body any) ([]byte, error) {
	resp, err := a.open(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return answer, nil
}

// open sends a request and returns an answer that is 2xx, to be read and closed.
func (a *API) open(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.server+path, content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	var status struct{ Message string }
	if json.Unmarshal(answer, &status) != nil {
		status.Message = string(answer)
	}
	return nil, fmt.Errorf("%s %s: %w", method, path, &StatusError{resp.StatusCode, status.Message})
}

// Get reads an object.
func (a *API) Get(ctx context.Context, path string) (Object, error) {
	return a.Do(ctx, http.MethodGet, path, nil)
}

// Create creates an object in the collection at path; one that is there already
// is fine.
func (a *API) Create(ctx context.Context, path string, object any) error {
	if _, err := a.Do(ctx, http.MethodPost, path, object); err != nil && !IsStatus(err, http.StatusConflict) {
		return err
	}
	return nil
}

// Patch changes an object (JSON merge patch, RFC 7386).
func (a *API) Patch(ctx context.Context, path string, change any) error {
	_, err := a.Do(ctx, http.MethodPatch, path, change)
	return err
}

// Delete deletes an object, with the given propagation: Background, Foreground
// or Orphan.
func (a *API) Delete(ctx context.Context, path, propagation string) error {
	_, err := a.Do(ctx, http.MethodDelete, path, map[string]any{
		"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation,
	})
	return err
}

// Until reads an object again and again until it is as wanted; nil stands for
// one that is not there.
func (a *API) Until(ctx context.Context, path, what string, wanted func(Object) bool) (Object, error) {
	var last Object
	for {
		object, err := a.Get(ctx, path)
		if IsStatus(err, http.StatusNotFound) {
			object, err = nil, nil
		}
		if err == nil && wanted(object) {
			return object, nil
		}
		if object != nil {
			last = object
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting until %s: %w; last seen: %v", what, errors.Join(context.Cause(ctx), err), last["status"])
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Member follows keys into an object; what is not there is nil.
func Member(v any, keys ...string) any {
	for _, key := range keys {
		switch m := v.(type) {
		case Object:
			v = m[key]
		case map[string]any:
			v = m[key]
		default:
			return nil
		}
	}
	return v
}
