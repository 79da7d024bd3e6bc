package standin_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

func TestOfficialPipelinesCredential(t *testing.T) {
	a := start(t)
	for name, value := range a.PipelinesEnv() {
		t.Setenv(name, value)
	}
	for _, tenant := range []string{"", standin.TenantID} {
		a.Pipelines.Change(func(c *standin.Connection) { c.EntraTenant = tenant })
		a.Entra.ChangeApp(standin.TenantID, standin.ClientID, func(app *standin.App) {
			app.Credentials = []standin.FederatedCredential{{Issuer: a.Pipelines.Issuer(), Subject: a.Pipelines.Subject(), Audience: standin.TokenAudience}}
		})
		credential, err := azidentity.NewAzurePipelinesCredential(standin.TenantID, standin.ClientID, a.Pipelines.Connection().ID, a.Pipelines.AccessToken,
			&azidentity.AzurePipelinesCredentialOptions{ClientOptions: options(t, a), DisableInstanceDiscovery: true})
		if err != nil {
			t.Fatal(err)
		}
		got, err := credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{standin.AKSServerID + "/.default"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Entra.Verify(got.Token, standin.TenantID, standin.AKSServerID); err != nil {
			t.Error(err)
		}
	}
	issued := a.Pipelines.Issued()
	if len(issued) != 2 || issued[0].Subject != "sc://acme/orders/aks-production" || !strings.HasPrefix(issued[0].Issuer, a.Pipelines.URL) ||
		!strings.HasPrefix(issued[1].Subject, "/eid1/c/pub/t/") || issued[1].Issuer != a.Entra.Issuer(standin.TenantID) {
		t.Errorf("issued %+v", issued)
	}
	if repeated := a.Entra.Repeated(); repeated != nil {
		t.Errorf("shown twice: %v", repeated)
	}
}

func TestPipelinesRefuses(t *testing.T) {
	t.Parallel()
	a := start(t)
	c := client(t, a)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	id := a.Pipelines.Connection().ID
	good := "?api-version=7.1&serviceConnectionId=" + id
	for name, tt := range map[string]struct {
		method, query, token, header string
		want                         int
		says                         string
	}{
		"good":                {http.MethodPost, good, a.Pipelines.AccessToken, "Suppress", 200, "oidcToken"},
		"good without header": {http.MethodPost, good, a.Pipelines.AccessToken, "", 200, "oidcToken"},
		"no token":            {http.MethodPost, good, "", "Suppress", 401, "TF400813"},
		"wrong token":         {http.MethodPost, good, "x", "Suppress", 401, "TF400813"},
		"no token, no header": {http.MethodPost, good, "", "", 302, ""},
		"version":             {http.MethodPost, "?api-version=6.0&serviceConnectionId=" + id, a.Pipelines.AccessToken, "Suppress", 400, "7.1"},
		"connection":          {http.MethodPost, "?api-version=7.1&serviceConnectionId=x", a.Pipelines.AccessToken, "Suppress", 404, "'x'"},
		"no connection":       {http.MethodPost, "?api-version=7.1", a.Pipelines.AccessToken, "Suppress", 404, "''"},
		"method":              {http.MethodGet, good, a.Pipelines.AccessToken, "Suppress", 405, ""},
	} {
		got := do(t, c, tt.method, a.Pipelines.RequestURI+tt.query, "", "Authorization", "Bearer "+tt.token, "X-TFS-FedAuthRedirect", tt.header)
		if got.Status != tt.want || !strings.Contains(string(got.Body), tt.says) {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
}

func TestOfficialManagedIdentity(t *testing.T) {
	a := start(t)
	// MSAL keeps the tokens of managed identities for the life of the process, but
	// no such short ones.
	a.Entra.Change(func(o *standin.EntraOptions) { o.Lifetime = 20 * time.Second })
	identity := a.Entra.NewIdentity(standin.TenantID, standin.ClientID)
	t.Setenv("IDENTITY_ENDPOINT", identity.Endpoint)
	t.Setenv("IDENTITY_HEADER", identity.Header)
	ask := func(id azidentity.ManagedIDKind, scope string) error {
		credential, err := azidentity.NewManagedIdentityCredential(&azidentity.ManagedIdentityCredentialOptions{ClientOptions: options(t, a), ID: id})
		if err != nil {
			t.Fatal(err)
		}
		got, err := credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{scope}})
		if err != nil {
			return err
		}
		_, err = a.Entra.Verify(got.Token, standin.TenantID, strings.TrimSuffix(scope, "/.default"))
		return err
	}
	const arm = "https://management.azure.com/.default"
	if err := ask(nil, arm); err != nil {
		t.Errorf("the system's own: %v", err)
	}
	if err := ask(azidentity.ClientID(standin.ClientID), standin.AKSServerID+"/.default"); err != nil {
		t.Errorf("by client id: %v", err)
	}
	if err := ask(azidentity.ClientID(standin.TenantID), arm); err == nil || !strings.Contains(err.Error(), "No User Assigned") {
		t.Errorf("another client id: %v", err)
	}
	if err := ask(nil, "https://vault.example/.default"); err == nil || !strings.Contains(err.Error(), "was not found") {
		t.Errorf("another resource: %v", err)
	}
	t.Setenv("IDENTITY_HEADER", "x")
	if err := ask(nil, "https://management.core.windows.net/.default"); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("another header: %v", err)
	}
}
