package azure

import (
	"context"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// newCredential returns the SDK's credential for the way that was chosen.
//
// Instance discovery asks Microsoft's public cloud whether an authority is one of
// its own. The known ones are, and another one is the user's word.
func (l *login) newCredential() (azcore.TokenCredential, error) {
	o, client := l.options, l.tokenOptions()
	switch o.Auth {
	case GitHub:
		return azidentity.NewClientAssertionCredential(o.TenantID, o.ClientID, l.assertion,
			&azidentity.ClientAssertionCredentialOptions{ClientOptions: client, DisableInstanceDiscovery: true})
	case Pipelines:
		token := o.Getenv("SYSTEM_ACCESSTOKEN")
		l.mask(token)
		return azidentity.NewAzurePipelinesCredential(o.TenantID, o.ClientID, o.ServiceConnection, token,
			&azidentity.AzurePipelinesCredentialOptions{ClientOptions: client, DisableInstanceDiscovery: true})
	case WorkloadIdentity:
		// It reads the file: each time, since it is made anew each time.
		if err := l.checkTokenFile(); err != nil {
			return nil, err
		}
		return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
			ClientOptions: client, DisableInstanceDiscovery: true,
			TenantID: o.TenantID, ClientID: o.ClientID, TokenFilePath: o.Getenv("AZURE_FEDERATED_TOKEN_FILE"),
		})
	case ManagedIdentity:
		// It has a cache that all such credentials of the process share; so has
		// the endpoint itself.
		options := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: client}
		if o.ClientID != "" {
			options.ID = azidentity.ClientID(o.ClientID)
		}
		return azidentity.NewManagedIdentityCredential(options)
	case CLI:
		// az takes a tenant or a subscription, and the second implies the first.
		return azidentity.NewAzureCLICredential(&azidentity.AzureCLICredentialOptions{Subscription: o.Cluster.Subscription})
	}
	return nil, failure.New(failure.ConfigInvalid, "%q is no way to be known to Entra", o.Auth).At("auth")
}

// check makes sure that there is what the way needs before anything is asked: of
// what is missing, the SDK tells in its own words.
func (o Options) check() error {
	missing := func(what, fix string) error {
		return failure.New(failure.CredentialFailed, "%s", what).WithFix("%s", fix)
	}
	switch o.Auth {
	case GitHub:
		if o.IDToken == nil {
			return missing("asking GitHub for an id token: this is no job of a GitHub workflow", "Choose another auth")
		}
	case Pipelines:
		const doing = "asking Azure Pipelines for an id token of the service connection: "
		switch {
		case o.Getenv("SYSTEM_OIDCREQUESTURI") == "":
			return missing(doing+"SYSTEM_OIDCREQUESTURI is not set", "The agent sets it in each job; run this in one, or choose another auth")
		case o.Getenv("SYSTEM_ACCESSTOKEN") == "":
			return missing(doing+"SYSTEM_ACCESSTOKEN is not set", "Map it into the step: env: { SYSTEM_ACCESSTOKEN: $(System.AccessToken) }")
		case strings.HasPrefix(o.Getenv("SYSTEM_ACCESSTOKEN"), "$("):
			return missing(doing+"SYSTEM_ACCESSTOKEN is the name of a variable that Azure Pipelines does not know, and has left as it is", "Map it into the step: env: { SYSTEM_ACCESSTOKEN: $(System.AccessToken) }")
		}
	case WorkloadIdentity:
		if o.Getenv("AZURE_FEDERATED_TOKEN_FILE") == "" {
			return missing("exchanging the ServiceAccount's token for a token of Entra: AZURE_FEDERATED_TOKEN_FILE is not set", fixPod)
		}
	case ManagedIdentity, CLI:
	}
	return nil
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

// tellRegion says so when the environment leads away from the addresses that the
// inputs have: the SDK then asks a regional Entra, or looks for one.
func (l *login) tellRegion() {
	for _, name := range []string{"AZURE_REGIONAL_AUTHORITY_NAME", "MSAL_FORCE_REGION"} {
		if l.options.Getenv(name) != "" {
			l.tell("%s is set, so that Entra is asked in a region of Azure; unset it to ask %s itself", name, hostOf(l.options.Cloud.Authority))
		}
	}
}
