package cluster

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

var update = flag.Bool("update", false, "rewrite the golden files under testdata")

const (
	publicName  = "prod-dns-1a2b3c4d.hcp.westeurope.azmk8s.io"
	privateName = "prod-dns-1a2b3c4d.0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0.privatelink.westeurope.azmk8s.io"
	objectID    = "5e0f0d6b-6a0e-4f6c-9a53-2f4d2f8a9b10"
)

// byToken and byCertificate are clusters that Azure handed out the connection to.
var (
	byToken = Managed{
		ID:            "/subscriptions/6f7e8d9c-0b1a-4293-8475-66574839201a/resourceGroups/rg-prod/providers/Microsoft.ContainerService/managedClusters/aks-prod",
		ResourceGroup: "rg-prod", Name: "aks-prod", User: objectID,
	}
	byCertificate = Managed{ID: byToken.ID, ResourceGroup: "rg (old)", Name: "aks-prod"}
)

// clientFor is a client of a server at this host. Nothing is sent.
func clientFor(t *testing.T, host string, options ...Option) *Client {
	t.Helper()
	c, err := New(&rest.Config{Host: "https://" + host + ":443", BearerToken: testToken}, options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What people read when the API server says no.
func TestTextsOnRefusals(t *testing.T) {
	t.Parallel()
	golden(t, "refusals", func(t *testing.T, option Option) string {
		var b strings.Builder
		for _, s := range []struct {
			verb, file string
			code       int
		}{
			{"get", "unauthorized", http.StatusUnauthorized},
			{"create", "unauthorized", http.StatusUnauthorized},
			{"get", "denied-get", http.StatusForbidden},
			{"create", "denied-create", http.StatusForbidden},
			// No refusals of who asks, so no hint on that.
			{"create", "quota", http.StatusForbidden},
			{"get", "absent", http.StatusNotFound},
		} {
			c := clientFor(t, publicName, option)
			err := c.statusError(call{verb: s.verb, resource: jobs, namespace: "fdai-runtime", name: "x"}, s.code, http.Header{}, testdata(t, "status/"+s.file+".json"))
			_, _ = fmt.Fprintf(&b, "# %s, %s\n%s\n%s\n\n", s.verb, s.file, err, err.Fix)
		}
		return b.String()
	})
}

// golden compares the texts for each origin with testdata/hints/NAME-ORIGIN.txt.
func golden(t *testing.T, name string, texts func(*testing.T, Option) string) {
	t.Helper()
	withAzureRBAC := byToken
	withAzureRBAC.AzureRBAC = true
	for origin, option := range map[string]Option{
		"kubeconfig":    func(*Client, *rest.Config) {},
		"token":         WithManaged(byToken),
		"token-in-rbac": WithManaged(withAzureRBAC),
		"certificate":   WithManaged(byCertificate),
	} {
		if origin == "token-in-rbac" && name != "refusals" {
			continue // Roles make no connection.
		}
		t.Run(origin, func(t *testing.T) {
			t.Parallel()
			have := texts(t, option)
			if strings.Contains(have, testToken) || strings.ContainsAny(have, "\x1b\x00\r") {
				t.Errorf("%s: a secret or a control character is in:\n%q", origin, have)
			}
			file := filepath.Join("testdata", "hints", name+"-"+origin+".txt")
			if *update {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(have), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), have); diff != "" {
				t.Errorf("%s (-want +have)\n%s", file, diff)
			}
		})
	}
}

// Nobody who was handed a kubeconfig by Azure can look into it.
func TestNoKubeconfigIsBlamedThatNobodyHas(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/hints/*")
	if err != nil || len(files) != 7 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "-kubeconfig.txt") && strings.Contains(string(text), "kubeconfig") {
			t.Errorf("%s speaks of a kubeconfig", file)
		}
	}
}

// The hints are there when a real server refuses.
func TestRefusalOverTheNetwork(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answerStatus(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
	}), nil)
	_, err := connect(t, s.config(), WithManaged(byToken)).Job(t.Context(), testNamespace, testName)
	wantCallError(t, err, oneshot.Denied, "(HTTP 401): Unauthorized")
	if denied, ok := errors.AsType[*oneshot.CallError](err); !ok || !strings.HasPrefix(denied.Fix, "The API server does not accept the Entra token of user "+objectID) {
		t.Errorf("what can be done: %+v", denied)
	}
}
