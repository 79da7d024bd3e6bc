package standin_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerservice/armcontainerservice/v8"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// start starts the stand-ins, and ends them with the test.
func start(t *testing.T) *standin.Azure {
	t.Helper()
	a, err := standin.NewAzure(t.TempDir(), "https://127.0.0.1:6443", []byte("ca"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// client is a client that trusts the stand-ins and nobody else.
func client(t *testing.T, a *standin.Azure) *http.Client {
	t.Helper()
	transport := a.Authority.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// options are those of the official clients, without retries.
func options(t *testing.T, a *standin.Azure) azcore.ClientOptions {
	t.Helper()
	return azcore.ClientOptions{
		Cloud: cloud.Configuration{ActiveDirectoryAuthorityHost: a.Entra.AuthorityHost(), Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: a.ARM.URL, Audience: "https://management.core.windows.net/"},
		}},
		Transport: client(t, a),
		Retry:     policy.RetryOptions{MaxRetries: -1},
	}
}

// githubCredential is the one of a job of GitHub.
func githubCredential(t *testing.T, a *standin.Azure) azcore.TokenCredential {
	t.Helper()
	credential, err := azidentity.NewClientAssertionCredential(standin.TenantID, standin.ClientID,
		func(context.Context) (string, error) { return a.GitHub.Token(standin.TokenAudience) },
		&azidentity.ClientAssertionCredentialOptions{ClientOptions: options(t, a), DisableInstanceDiscovery: true})
	if err != nil {
		t.Fatal(err)
	}
	return credential
}

func clusters(t *testing.T, a *standin.Azure, credential azcore.TokenCredential) *armcontainerservice.ManagedClustersClient {
	t.Helper()
	c, err := armcontainerservice.NewManagedClustersClient(standin.SubscriptionID, credential, &arm.ClientOptions{ClientOptions: options(t, a), DisableRPRegistration: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOfficialClientsReadTheCluster(t *testing.T) {
	t.Parallel()
	a := start(t)
	c := clusters(t, a, githubCredential(t, a))
	cluster, err := c.Get(t.Context(), standin.ResourceGroup, standin.ClusterName, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := *cluster.Properties.ProvisioningState; got != "Succeeded" {
		t.Errorf("the cluster is %s", got)
	}
	credentials, err := c.ListClusterUserCredentials(t.Context(), standin.ResourceGroup, standin.ClusterName, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(credentials.Kubeconfigs[0].Value); !strings.Contains(got, standin.AKSServerID) {
		t.Errorf("the kubeconfig names no application:\n%s", got)
	}
	if got := a.Entra.IssuedFor(); len(got) != 1 || got["https://management.core.windows.net/"] != 1 {
		t.Errorf("tokens were issued for %v", got)
	}
}
