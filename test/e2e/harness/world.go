package harness

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
)

const (
	// Namespace is the one that the fdai/v1 dialect knows.
	Namespace = "fdai-runtime"
	// RunnersNamespace has the ServiceAccounts that the action runs as.
	RunnersNamespace = "runners"
	// LimitedNamespace has those that a Role is granted to one by one.
	LimitedNamespace = "limited"
	// RoleName is the Role that the runners are bound to.
	RoleName = "aks-oneshot"

	batch = "/apis/batch/v1/namespaces/" + Namespace
	core  = "/api/v1/namespaces/"
	rbac  = "/apis/rbac.authorization.k8s.io/v1/namespaces/"
)

// World is a cluster in which scenarios take place. They share the namespace,
// since the dialect knows only one, and are kept apart by their templates'
// names, their purposes and the users that they act as.
type World struct {
	Cluster *cluster.Cluster
	API     *API
	Runner  *Runner
	// Dir is a private folder (mode 0700) for everything that scenarios have.
	Dir string
	// Scans says what was looked through for secrets so far.
	Scans Scans
}

// Role is all that the action may do in a world: what the action itself says
// that it needs, and what its documentation tells people to grant.
func Role(name string) Object {
	return Object{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
		"metadata": map[string]any{"name": name, "namespace": Namespace},
		"rules": []any{
			map[string]any{"apiGroups": []any{"batch"}, "resources": []any{"cronjobs"}, "verbs": []any{"get"}},
			map[string]any{"apiGroups": []any{""}, "resources": []any{"serviceaccounts"}, "verbs": []any{"get"}},
			map[string]any{"apiGroups": []any{"batch"}, "resources": []any{"jobs"}, "verbs": []any{"get", "list", "watch", "create"}},
			map[string]any{"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": []any{"get", "list", "create", "update", "delete"}},
		},
	}
}

// RoleBinding binds a Role to a subject.
func RoleBinding(role string, subject map[string]any) Object {
	return Object{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
		"metadata": map[string]any{"name": role, "namespace": Namespace},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
		"subjects": []any{subject},
	}
}

// NewWorld prepares a cluster: namespaces, and a Role for all that act as
// ServiceAccounts of the namespace runners. program is the built action, dir a
// folder that exists; a private one is made in it.
func NewWorld(ctx context.Context, c *cluster.Cluster, program, dir string) (*World, error) {
	// The action takes no path with a symbolic link.
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	private, err := os.MkdirTemp(dir, "world-")
	if err != nil {
		return nil, err
	}
	api, err := NewAPI(c)
	if err != nil {
		return nil, err
	}
	w := &World{Cluster: c, API: api, Runner: &Runner{Program: program, Dir: private}, Dir: private}
	for _, name := range []string{Namespace, RunnersNamespace, LimitedNamespace} {
		object := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}
		if err := api.Create(ctx, "/api/v1/namespaces", object); err != nil {
			return nil, err
		}
	}
	group := map[string]any{
		"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:serviceaccounts:" + RunnersNamespace,
	}
	if err := api.Create(ctx, rbac+Namespace+"/roles", Role(RoleName)); err != nil {
		return nil, err
	}
	// The name of the documentation is left to those who follow it.
	binding := RoleBinding(RoleName, group)
	binding["metadata"].(map[string]any)["name"] = RunnersNamespace
	if err := api.Create(ctx, rbac+Namespace+"/rolebindings", binding); err != nil {
		return nil, err
	}
	anybody := map[string]any{"user": "anybody", "groups": []any{"system:serviceaccounts:" + RunnersNamespace}}
	return w, w.authorized(ctx, anybody, "batch", "jobs", "create")
}

// Grant makes a Role, binds it to a ServiceAccount, and waits until the API
// server acts on it.
func (w *World) Grant(ctx context.Context, role Object, namespace, account string) error {
	if err := w.API.Create(ctx, rbac+Namespace+"/roles", role); err != nil {
		return err
	}
	subject := map[string]any{"kind": "ServiceAccount", "namespace": namespace, "name": account}
	if err := w.API.Create(ctx, rbac+Namespace+"/rolebindings", RoleBinding(JobName(role), subject)); err != nil {
		return err
	}
	user := map[string]any{"user": "system:serviceaccount:" + namespace + ":" + account}
	rules, _ := role["rules"].([]any)
	for _, rule := range rules {
		for _, verb := range Member(rule, "verbs").([]any) {
			group, resource := Member(rule, "apiGroups").([]any)[0], Member(rule, "resources").([]any)[0]
			if err := w.authorized(ctx, user, group, resource, verb); err != nil {
				return err
			}
		}
	}
	return nil
}

// authorized waits until the API server acts on a RoleBinding, which takes it a
// moment.
func (w *World) authorized(ctx context.Context, who map[string]any, group, resource, verb any) error {
	return w.may(ctx, true, who, group, resource, verb)
}

// may waits until somebody is allowed something, or is not any more.
func (w *World) may(ctx context.Context, allowed bool, who map[string]any, group, resource, verb any) error {
	spec := map[string]any{
		"resourceAttributes": map[string]any{"namespace": Namespace, "verb": verb, "group": group, "resource": resource},
	}
	maps.Copy(spec, who)
	review := map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
	for {
		answer, err := w.API.Do(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
		if err != nil {
			return err
		}
		if Member(answer, "status", "allowed") == allowed {
			return nil
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("waiting until the Role counts: %w", err)
		}
	}
}

// Token makes a ServiceAccount, if it is not there, and returns a token for it.
func (w *World) Token(ctx context.Context, namespace, name string) (string, error) {
	accounts := core + namespace + "/serviceaccounts"
	account := map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": name}}
	if err := w.API.Create(ctx, accounts, account); err != nil {
		return "", err
	}
	answer, err := w.API.Do(ctx, http.MethodPost, accounts+"/"+name+"/token", map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"spec": map[string]any{"expirationSeconds": 3600},
	})
	if err != nil {
		return "", err
	}
	token, _ := Member(answer, "status", "token").(string)
	if token == "" {
		return "", fmt.Errorf("no token for ServiceAccount %s/%s", namespace, name)
	}
	return token, nil
}
