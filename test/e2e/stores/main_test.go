// Package stores keeps records on a real Kubernetes control plane.
package stores

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/cluster"
	"github.com/aks-oneshot/aks-oneshot/internal/kubeconfig"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
	testcluster "github.com/aks-oneshot/aks-oneshot/test/cluster"
)

const namespace = "fdai-runtime"

// verbs are all that the store needs on ConfigMaps.
var verbs = []string{"get", "list", "create", "update", "delete"}

// runner may do all of that, and without(verb) all but one.
const runner = "runner"

func without(verb string) string { return "no-" + verb }

var control *testcluster.Cluster

func TestMain(m *testing.M) {
	// No pod runs here.
	o := testcluster.Options{Node: testcluster.Kwok, Users: []testcluster.User{{Name: runner}}}
	for _, verb := range verbs {
		o.Users = append(o.Users, testcluster.User{Name: without(verb)})
	}
	os.Exit(testcluster.Main(prepared{m}, o, &control))
}

// prepared runs the tests once the namespace and the Roles are there.
type prepared struct{ m *testing.M }

// Run implements what [testcluster.Main] wants.
func (p prepared) Run() int {
	var manifests strings.Builder
	_, _ = fmt.Fprintf(&manifests, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", namespace)
	grant(&manifests, runner, verbs)
	for i, verb := range verbs {
		grant(&manifests, without(verb), append(append([]string(nil), verbs[:i]...), verbs[i+1:]...))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := control.Apply(ctx, manifests.String())
	for _, user := range append([]string{runner}, without("get"), without("list"), without("create"), without("update"), without("delete")) {
		err = errors.Join(err, granted(ctx, user))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tests of the stores:", err)
		return 1
	}
	return p.m.Run()
}

func grant(manifests *strings.Builder, user string, verbs []string) {
	_, _ = fmt.Fprintf(manifests, `---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: %[1]s, namespace: %[2]s}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [%[3]s]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[1]s, namespace: %[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
`, user, namespace, strings.Join(verbs, ", "))
}

// granted waits until the API server acts on the user's Role, which takes it a
// moment. A get or a list is in each of them.
func granted(ctx context.Context, user string) error {
	c, err := connect(user)
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		_, errGet := c.ConfigMap(ctx, namespace, "none")
		_, _, errList := c.ConfigMaps(ctx, namespace, "a=b", "")
		if kind(errGet) == oneshot.NotFound || errList == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), errGet, errList)
		}
	}
}

// connect returns a client of its own, as a run has one.
func connect(user string) (*cluster.Client, error) {
	data, err := os.ReadFile(control.KubeconfigFor(user))
	if err != nil {
		return nil, err
	}
	cfg, err := kubeconfig.Read(data)
	if err != nil {
		return nil, err
	}
	return cluster.New(cfg)
}

func client(t *testing.T, user string) *cluster.Client {
	t.Helper()
	c, err := connect(user)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func kind(err error) oneshot.Kind {
	call, ok := errors.AsType[*oneshot.CallError](err)
	if !ok {
		return 0
	}
	return call.Kind
}
