package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Watch calls see with each event of the collection at path, from now on and
// beginning with what is there, until ctx ends. It is not for clusters whose API
// server is stopped meanwhile: a watch that ends by itself is an error. ready is
// called once the API server has agreed.
func (a *API) Watch(ctx context.Context, path string, ready func(), see func(kind string, object Object)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server+path+"?watch=true&timeoutSeconds=86400", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	resp, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		message, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
		return fmt.Errorf("watch %s: %w", path, errors.Join(&StatusError{resp.StatusCode, string(message)}, err))
	}
	ready()
	decoder := json.NewDecoder(resp.Body)
	decoder.UseNumber()
	for {
		var event struct {
			Type   string
			Object Object
		}
		if err := decoder.Decode(&event); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("watch %s: %w", path, err)
		}
		see(event.Type, event.Object)
	}
}
