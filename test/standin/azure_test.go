package standin_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerservice/armcontainerservice/v8"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

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

// The stand-ins among each other are not delayed: the real Entra has the keys of
// an issuer at hand.
func TestDelayCountsOnce(t *testing.T) {
	t.Parallel()
	a := start(t)
	const delay = 50 * time.Millisecond
	a.SetDelay(delay)
	a.GitHub.SetDelay(time.Hour) // its tokens are had without a request here
	began := time.Now()
	c := clusters(t, a, githubCredential(t, a))
	if _, err := c.Get(t.Context(), standin.ResourceGroup, standin.ClusterName, nil); err != nil {
		t.Fatal(err)
	}
	// The discovery document, the token, the cluster.
	requests := a.Requests()
	if took := time.Since(began); len(requests) != 3 || took < 3*delay {
		t.Errorf("%d requests in %s: %v", len(requests), took, requests)
	}
	if all := a.GitHub.Requests(); len(all) != 2 || !all[0].Internal {
		t.Errorf("Entra asked GitHub %v", all)
	}
}

func TestAuthenticationConfiguration(t *testing.T) {
	t.Parallel()
	a := start(t)
	for name, tt := range map[string]struct {
		change    func(*standin.EntraOptions)
		audiences []string
		issuer    map[string]any
	}{
		"its own issuer": {func(o *standin.EntraOptions) { o.TokenIssuer = "" }, []string{standin.AKSServerID}, map[string]any{
			"url": a.Entra.URL + "/" + standin.TenantID + "/",
		}},
		"shared issuer": {func(o *standin.EntraOptions) { o.TokenIssuer = "https://sts.test" }, []string{"a", "b"}, map[string]any{
			"url": "https://sts.test/" + standin.TenantID + "/", "audienceMatchPolicy": "MatchAny",
			"discoveryURL": a.Entra.URL + "/" + standin.TenantID + "/.well-known/openid-configuration",
		}},
	} {
		a.Entra.Change(tt.change)
		b, err := a.Entra.AuthenticationConfiguration(a.Authority, standin.TenantID, tt.audiences...)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := yaml.UnmarshalStrict(b, &got); err != nil {
			t.Fatal(err)
		}
		tt.issuer["certificateAuthority"], tt.issuer["audiences"] = string(a.Authority.PEM), anys(tt.audiences)
		want := map[string]any{
			"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration",
			"jwt": []any{map[string]any{"issuer": tt.issuer, "claimMappings": map[string]any{
				"username": map[string]any{"expression": "has(claims.upn) ? claims.upn : claims.oid"}, "groups": map[string]any{"claim": "groups", "prefix": ""},
				"uid": map[string]any{"claim": "oid"},
			}}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		token := accessToken(t, a, standin.AKSServerID)
		if got, _ := claimsOf(t, token).GetIssuer(); got != tt.issuer["url"] {
			t.Errorf("%s: tokens are of %s", name, got)
		}
		if _, err := a.Entra.Verify(token, standin.TenantID, standin.AKSServerID); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := a.Entra.AuthenticationConfiguration(a.Authority, standin.TenantID); err == nil {
		t.Error("no audience is taken")
	}
}

func anys(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

func TestAzureSpeaksForItself(t *testing.T) {
	t.Parallel()
	a := start(t)
	b, err := os.ReadFile(a.CAFile)
	if err != nil || !bytes.Equal(b, a.Authority.PEM) {
		t.Errorf("the file of the authority: %v", err)
	}
	inputs := a.PipelinesInputs()
	if inputs["service-connection"] != a.Pipelines.Connection().ID || inputs["authority-host"] != a.Entra.URL+"/" || a.Inputs()["service-connection"] != "" {
		t.Errorf("inputs %v", inputs)
	}
	if got := do(t, client(t, a), http.MethodGet, inputs["resource-manager-endpoint"]+a.ClusterID()+"?api-version=1", "", "Authorization", "Bearer "+accessToken(t, a, a.ARM.URL)); got.Status != http.StatusOK {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if _, err := standin.NewAzure(a.CAFile, "", nil); err == nil {
		t.Error("a file is taken for a folder")
	}
}
