package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// variables are those of the environment that say as whom to sign in, by the way
// of signing in. The webhook of Azure Workload Identity puts the first ones into
// a pod (azure.github.io/azure-workload-identity, "Mutating Admission Webhook");
// the tasks AzureCLI and AzurePowerShell of Azure Pipelines set the others.
var variables = map[string]struct{ tenant, client, connection string }{
	AuthWorkloadIdentity: {tenant: "AZURE_TENANT_ID", client: "AZURE_CLIENT_ID"},
	AuthAzurePipelines: {"AZURESUBSCRIPTION_TENANT_ID", "AZURESUBSCRIPTION_CLIENT_ID",
		"AZURESUBSCRIPTION_SERVICE_CONNECTION_ID"},
}

// identity fills in how to sign in, and as whom. An input wins over what the
// environment says.
func (r azureReader) identity(a *Azure) {
	a.Auth, a.AuthGiven = r.v.text(auth), r.v.given(auth)
	if !a.AuthGiven {
		a.Auth = r.src.Auth
	}
	client, connection := readGUID(r.p, r.v, clientID), readGUID(r.p, r.v, serviceConnection)
	if !r.checkAuth(a) {
		a.TenantID, a.ClientID, a.ServiceConnection = r.pinned.tenant.String(), client.String(), connection.String()
		return
	}
	from := variables[a.Auth]
	r.checkTenant(a.Auth, from.tenant)
	a.TenantID = r.pinned.tenant.String()
	a.ClientID = r.need(a, clientID, client, from.client,
		a.Auth == AuthGitHub || a.Auth == AuthAzurePipelines || a.Auth == AuthWorkloadIdentity)
	a.ServiceConnection = r.need(a, serviceConnection, connection, from.connection, a.Auth == AuthAzurePipelines)
}

// checkAuth makes sure that there is such a way of signing in, and that no input
// is given that only another one has. Where the user did not choose it, such an
// input may be for another place that the same inputs are used in.
func (r azureReader) checkAuth(a *Azure) bool {
	if r.p.with(auth) {
		return false
	}
	if !slices.Contains(auths, a.Auth) {
		if !a.AuthGiven {
			r.missing(auth, "and nothing says how to sign in where this runs; give "+list("or", auths), "")
			return false
		}
		meant := ""
		if near := nearest(a.Auth, auths); near != "" {
			meant = "; did you mean " + near + "?"
		}
		r.p.add(auth, "is %s; want %s%s", plainly(a.Auth), list("or", auths), meant)
		return false
	}
	for input, only := range map[string]string{serviceConnection: AuthAzurePipelines, audience: AuthGitHub} {
		if a.AuthGiven && a.Auth != only && r.v.given(input) {
			r.p.add(input, "is given, but %s is %s; only %s has a use for it", auth, a.Auth, only)
		}
	}
	return true
}

// checkTenant makes sure that the tenant of the environment, where the way of
// signing in goes by one and no input says another, is that of the context. As
// the cluster's subscription, the tenant is never missing by itself: every
// context has one.
func (r azureReader) checkTenant(way, variable string) {
	if r.v.given(tenantID) || r.p.with(tenantID) || variable == "" || r.src.Getenv(variable) == "" {
		return
	}
	id := r.variable(tenantID, variable)
	if none := (contract.GUID{}); id != none && r.pinned.tenant != none && id != r.pinned.tenant {
		r.p.add(tenantID, "is %s in the environment variable %s, which auth %s goes by, but tenant_id in the context in %s is %s; they must be the same",
			id, variable, way, r.pinned.file, r.pinned.tenant)
	}
}

// variable returns what a variable of the environment says in place of an input.
func (r azureReader) variable(input, variable string) contract.GUID {
	id, err := parseGUID(strings.TrimSpace(r.src.Getenv(variable)))
	if err != nil {
		r.p.add(input, "the one of the environment variable %s %w", variable, err).Fix = whichGUID[input]
	}
	return id
}

// need returns what an input says, else what a variable of the environment says,
// which may have no name, and records that it is missing where it is needed.
func (r azureReader) need(a *Azure, input string, given contract.GUID, variable string, needed bool) string {
	either := ""
	switch {
	case r.v.given(input) || r.p.with(input):
		return given.String()
	case variable != "" && r.src.Getenv(variable) != "":
		return r.variable(input, variable).String()
	case !needed:
		return ""
	case variable != "":
		either = fmt.Sprintf("; the environment variable %s is not set either", variable)
	}
	way := a.Auth
	if !a.AuthGiven {
		way += " (the default here)"
	}
	fix := emptyInput
	if a.Auth == AuthAzurePipelines {
		fix = fixPipelines[input]
	}
	r.missing(input, "and auth "+way+" signs in with it"+either, fix)
	return ""
}

// emptyInput is why an input that is in the workflow's file may be missing.
const emptyInput = "In a workflow, a secret or variable that the job does not have is an empty input"

// fixPipelines says where an input comes from in Azure Pipelines.
var fixPipelines = map[string]string{
	clientID:          fixTask + "the client id of the identity that the service connection has",
	serviceConnection: fixTask + "the resourceId in the address of the service connection's page",
}

const fixTask = "Run it in an AzureCLI@2 task with azureSubscription, which sets the variable (docs/federation.md has a pipeline), or give "
