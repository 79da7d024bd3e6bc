package azure

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// visit sends a request to the API server as client-go does.
func visit(t *testing.T, c *Connection, method, body string) (status int, answer string) {
	t.Helper()
	client, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), method, c.Config.Host+"/apis/batch/v1/jobs", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func TestConnectAsGitHub(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, err := w.connect()
	if err != nil {
		t.Fatal(err)
	}
	w.scan(nil)
	if status, answer := visit(t, c, http.MethodPost, "{}"); status != http.StatusOK || answer != "{}" {
		t.Errorf("the API server answers %d: %s", status, answer)
	}
	if c.ObjectID != standin.ObjectID {
		t.Errorf("the object is %q", c.ObjectID)
	}
	t.Log(w.paths(), w.told())
}
