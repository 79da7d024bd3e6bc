package main

import (
	"errors"
	"net/http"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// role is all that a run needs to be allowed, and everything it ever asks for.
// RBAC cannot hold a create to a name, and a watch of one Job is authorized as a
// list and a watch.
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
`

// needsRole reports whether a run ended because the API server knows who it is
// and does not allow what it asked for. Without authentication (401) a Role
// changes nothing.
func needsRole(err error) bool {
	call, ok := errors.AsType[*oneshot.CallError](err)
	return failure.CodeOf(err) == failure.PermissionDenied && (!ok || call.Status != http.StatusUnauthorized)
}
