package azure

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// newCredential returns the SDK's credential for the way that was chosen. It has
// an empty cache of tokens.
//
// Instance discovery asks Microsoft's public cloud whether an authority is one of
// its own. The known ones are, and another one is the user's word.
func (l *login) newCredential() (azcore.TokenCredential, error) {
	o, client := l.options, l.client
	switch o.Auth {
	case GitHub:
		return azidentity.NewClientAssertionCredential(o.TenantID, o.ClientID, l.assertion,
			&azidentity.ClientAssertionCredentialOptions{ClientOptions: client, DisableInstanceDiscovery: true})
	case Pipelines:
		return l.newPipelinesCredential()
	case WorkloadIdentity:
		return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
			ClientOptions: client, DisableInstanceDiscovery: true, TenantID: o.TenantID, ClientID: o.ClientID,
		})
	case ManagedIdentity:
		options := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: client}
		if o.ClientID != "" {
			options.ID = azidentity.ClientID(o.ClientID)
		}
		return azidentity.NewManagedIdentityCredential(options)
	case CLI:
		return azidentity.NewAzureCLICredential(&azidentity.AzureCLICredentialOptions{
			TenantID: o.TenantID, Subscription: o.Cluster.Subscription,
		})
	}
	return nil, failure.New(failure.ConfigInvalid, "%q is no way to be known to Entra", o.Auth).At("auth")
}

// newPipelinesCredential makes sure that there is what the SDK takes from the
// environment, and masks it.
func (l *login) newPipelinesCredential() (azcore.TokenCredential, error) {
	o := l.options
	token := o.Getenv("SYSTEM_ACCESSTOKEN")
	switch {
	case token == "":
		return nil, failure.New(failure.CredentialFailed, "asking Azure Pipelines for an id token: SYSTEM_ACCESSTOKEN is not set").
			WithFix("Map it into the step: env: { SYSTEM_ACCESSTOKEN: $(System.AccessToken) }")
	case o.Getenv("SYSTEM_OIDCREQUESTURI") == "":
		return nil, failure.New(failure.CredentialFailed, "asking Azure Pipelines for an id token: SYSTEM_OIDCREQUESTURI is not set").
			WithFix("The agent sets it for steps of a job; run this in one, or choose another auth")
	case o.ServiceConnection == "":
		return nil, failure.New(failure.ConfigInvalid, "is missing; auth azure-pipelines needs the id of an Azure Resource Manager service connection with workload identity federation").At("service-connection")
	}
	l.mask(token)
	return azidentity.NewAzurePipelinesCredential(o.TenantID, o.ClientID, o.ServiceConnection, token,
		&azidentity.AzurePipelinesCredentialOptions{ClientOptions: l.client, DisableInstanceDiscovery: true})
}

// assertion is the SDK's callback for an id token: a fresh one for each request
// to Entra, since an old one is refused (AADSTS700024).
func (l *login) assertion(ctx context.Context) (string, error) {
	token, err := l.idTokens.next(ctx)
	if err != nil {
		trailOf(ctx).blame(err)
	}
	return token, err
}

var _ policy.Transporter = (*observer)(nil)
