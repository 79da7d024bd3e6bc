package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// role is all that a run needs to be allowed, and everything it ever asks for;
// without the store cluster it asks for nothing of the last rule. RBAC cannot hold
// a create to a name, and a watch of one Job is authorized as a list and a watch.
const role = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: aks-oneshot
  namespace: fdai-runtime
rules:
  - apiGroups: [batch]
    resources: [cronjobs]
    verbs: [get]
  - apiGroups: [""]
    resources: [serviceaccounts]
    verbs: [get]
  - apiGroups: [batch]
    resources: [jobs]
    verbs: [get, list, watch, create]
  - apiGroups: [""]
    resources: [configmaps]
    verbs: [get, list, create, update, delete]
`

// binding binds the Role to whom the API server knows the run as: AKS names a
// service principal by its object id, a person by userPrincipalName. It is called
// after whom it binds, so that the next one does not take it from the first; both
// kinds of names may be in that of a RoleBinding, which is any path segment
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#api-overview).
const binding = `---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: aks-oneshot-%[1]s
  namespace: fdai-runtime
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: aks-oneshot
subjects:
  - apiGroup: rbac.authorization.k8s.io
    kind: User
    name: %[1]s
`

// grant is what to apply so that a run is allowed what it needs: the Role, and
// where Entra says who the run is, its binding.
func grant(user string) string {
	if user == "" {
		return role
	}
	return role + fmt.Sprintf(binding, user)
}

// pointedToRole has the advice on a refusal begin with what is printed in the log
// for it, the Role alone or its binding as well.
func pointedToRole(err error, binding bool) error {
	e, ok := err.(*failure.Error) //nolint:errorlint // Of one further down, this would be all that is told.
	if !ok {
		return err
	}
	fix := "Apply the Role and RoleBinding that are printed in the log"
	if !binding {
		fix = "Apply the Role that is printed in the log, and bind it to the identity of this run"
	}
	if e.Fix != "" {
		fix += ". " + e.Fix
	}
	return e.WithFix("%s", fix)
}

// needsRole reports whether a run ended because the API server knows who it is
// and does not allow what it asked for. Without authentication (401) a Role
// changes nothing, nor where it was Azure that refused.
func needsRole(err error) bool {
	call, ok := errors.AsType[*oneshot.CallError](err)
	return ok && failure.CodeOf(err) == failure.PermissionDenied && call.Status != http.StatusUnauthorized
}
