package config

import (
	"fmt"
	"slices"

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

// readIdentity fills in how to sign in, and as whom. An input wins over what the
// environment says.
func readIdentity(p *problems, v values, src Source, pinned pinned, a *Azure) {
	a.Auth, a.AuthGiven = v.text(auth), v.given(auth)
	if !a.AuthGiven {
		a.Auth = src.Auth
	}
	client, connection := readGUID(p, v, clientID), readGUID(p, v, serviceConnection)
	if !checkAuth(p, v, a) {
		a.TenantID, a.ClientID, a.ServiceConnection = pinned.tenant.String(), client.String(), connection.String()
		return
	}
	from := variables[a.Auth]
	a.TenantID = readTenant(p, v, src, pinned, a, from.tenant)
	a.ClientID = need(p, v, src, a, clientID, client, from.client,
		a.Auth == AuthGitHub || a.Auth == AuthAzurePipelines || a.Auth == AuthWorkloadIdentity)
	a.ServiceConnection = need(p, v, src, a, serviceConnection, connection, from.connection, a.Auth == AuthAzurePipelines)
}

// checkAuth makes sure that there is such a way of signing in, and that no input
// is given that only another one has. Where the user did not choose it, such an
// input may be for another place that the same inputs are used in.
func checkAuth(p *problems, v values, a *Azure) bool {
	if p.with(auth) {
		return false
	}
	if !slices.Contains(auths, a.Auth) {
		if !a.AuthGiven {
			p.add(auth, "is missing, and nothing says how to sign in to Azure where this runs; give %s", list("or", auths))
			return false
		}
		meant := ""
		if near := nearest(a.Auth, auths); near != "" {
			meant = "; did you mean " + near + "?"
		}
		p.add(auth, "is %s; want %s%s", plainly(a.Auth), list("or", auths), meant)
		return false
	}
	for input, only := range map[string]string{serviceConnection: AuthAzurePipelines, audience: AuthGitHub} {
		if a.AuthGiven && a.Auth != only && v.given(input) {
			p.add(input, "is given, but %s is %s; only %s has a use for it", auth, a.Auth, only)
		}
	}
	return true
}

// readTenant returns the tenant to sign in to. As the cluster's subscription, it
// is never missing by itself: every context has one.
func readTenant(p *problems, v values, src Source, pinned pinned, a *Azure, variable string) string {
	if v.given(tenantID) || p.with(tenantID) || variable == "" || src.Getenv(variable) == "" {
		return pinned.tenant.String()
	}
	id, err := parseGUID(src.Getenv(variable))
	switch {
	case err != nil:
		p.add(tenantID, "the one of the environment variable %s %w", variable, err).Fix = whichGUID[tenantID]
	case pinned.tenant != contract.GUID{} && id != pinned.tenant:
		p.add(tenantID, "is %s in the environment variable %s, which auth %s goes by, but tenant_id in the context in %s is %s; they must be the same",
			id, variable, a.Auth, pinned.file, pinned.tenant)
	}
	return pinned.tenant.String()
}

// need returns what an input says, else what a variable of the environment says,
// which may have no name, and records that it is missing where it is needed.
func need(p *problems, v values, src Source, a *Azure, input string, given contract.GUID, variable string, needed bool) string {
	if v.given(input) || p.with(input) {
		return given.String()
	}
	if variable != "" && src.Getenv(variable) != "" {
		id, err := parseGUID(src.Getenv(variable))
		if err != nil {
			p.add(input, "the one of the environment variable %s %w", variable, err).Fix = whichGUID[input]
		}
		return id.String()
	}
	if !needed {
		return ""
	}
	way := a.Auth
	if !a.AuthGiven {
		way += " (the default here)"
	}
	or := ""
	if variable != "" {
		or = fmt.Sprintf(", and the environment variable %s is not set either", variable)
	}
	p.add(input, "is missing: auth %s signs in with it%s", way, or).
		Fix = "In a workflow, a secret or variable that the job does not have is an empty input"
	return ""
}
