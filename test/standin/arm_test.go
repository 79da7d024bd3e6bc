package standin_test

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerservice/armcontainerservice/v8"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

const clusterPath = "/subscriptions/" + standin.SubscriptionID + "/resourceGroups/" + standin.ResourceGroup +
	"/providers/Microsoft.ContainerService/managedClusters/" + standin.ClusterName

func TestARMRefuses(t *testing.T) {
	t.Parallel()
	const good = clusterPath + "?api-version=2025-09-01"
	other := func(old, now string) string { return strings.Replace(good, old, now, 1) }
	forge := func(t *testing.T, _ *standin.Azure, token string) string {
		t.Helper()
		forged, err := standin.Forge(token)
		if err != nil {
			t.Fatal(err)
		}
		return forged
	}
	same := func(_ *testing.T, _ *standin.Azure, token string) string { return token }
	everywhere := func(_ *testing.T, a *standin.Azure, token string) string {
		a.ARM.Allow(standin.ObjectID, standin.RoleReader...)
		return token
	}
	for name, tt := range map[string]struct {
		method, path string
		token        func(t *testing.T, a *standin.Azure, good string) string
		status       int
		code         string
		says         string
	}{
		"good":       {http.MethodGet, good, same, 200, "", "provisioningState"},
		"other case": {http.MethodGet, strings.ToUpper(clusterPath) + "?api-version=2025-09-01", same, 200, "", "provisioningState"},
		"no token":   {http.MethodGet, good, func(*testing.T, *standin.Azure, string) string { return "" }, 401, "AuthenticationFailed", "header is missing"},
		"no JWT":     {http.MethodGet, good, func(*testing.T, *standin.Azure, string) string { return "abc" }, 401, "InvalidAuthenticationToken", "invalid"},
		"forged":     {http.MethodGet, good, forge, 401, "InvalidAuthenticationToken", "invalid"},
		"for the API server": {http.MethodGet, good, func(t *testing.T, a *standin.Azure, _ string) string {
			return accessToken(t, a, standin.AKSServerID)
		}, 401, "InvalidAuthenticationTokenAudience", standin.AKSServerID},
		"expired": {http.MethodGet, good, func(t *testing.T, a *standin.Azure, _ string) string {
			a.Entra.Change(func(o *standin.EntraOptions) { o.Lifetime = -time.Minute })
			return accessToken(t, a, "https://management.azure.com")
		}, 401, "ExpiredAuthenticationToken", "is earlier than current UTC time"},
		"another tenant": {http.MethodGet, good, func(t *testing.T, a *standin.Azure, _ string) string {
			const other = "11111111-6d3b-4f0e-9a0c-2f6f1b3e5d10"
			a.Entra.AddTenant(other)
			a.Entra.AddApp(other, standin.App{ClientID: standin.ClientID, ObjectID: standin.ObjectID, Credentials: []standin.FederatedCredential{
				{Issuer: a.GitHub.Issuer(), Subject: a.GitHub.Subject(), Audience: standin.TokenAudience},
			}})
			form := tokenForm(idToken(t, a))
			form.Set("scope", "https://management.azure.com/.default")
			token, _ := askToken(t, a, other, form).object(t)["access_token"].(string)
			return token
		}, 401, "InvalidAuthenticationTokenTenant", "wrong issuer"},
		"no version":                          {http.MethodGet, clusterPath, same, 400, "MissingApiVersionParameter", "api-version"},
		"type":                                {http.MethodGet, other("managedClusters", "snapshots"), same, 404, "InvalidResourceType", ""},
		"method":                              {http.MethodPost, good, same, 404, "InvalidResourceType", ""},
		"subscription":                        {http.MethodGet, other(standin.SubscriptionID, standin.TenantID), same, 404, "SubscriptionNotFound", standin.TenantID},
		"group":                               {http.MethodGet, other(standin.ResourceGroup, "nowhere"), everywhere, 404, "ResourceGroupNotFound", "'nowhere'"},
		"cluster":                             {http.MethodGet, other(standin.ClusterName, "nothing"), everywhere, 404, "ResourceNotFound", "managedClusters/nothing"},
		"group, with a role on the cluster":   {http.MethodGet, other(standin.ResourceGroup, "nowhere"), same, 403, "AuthorizationFailed", "or the scope is invalid"},
		"cluster, with a role on another one": {http.MethodGet, other(standin.ClusterName, standin.ClusterName+"2"), same, 403, "AuthorizationFailed", "or the scope is invalid"},
		"cluster, with a role on the group": {http.MethodGet, other(standin.ClusterName, "nothing"), func(_ *testing.T, a *standin.Azure, token string) string {
			a.ARM.AllowAt(standin.ObjectID, "/Subscriptions/"+standin.SubscriptionID+"/resourcegroups/"+standin.ResourceGroup+"/", standin.RoleReader...)
			return token
		}, 404, "ResourceNotFound", "managedClusters/nothing"},
		"admin": {http.MethodPost, other("?", "/listClusterAdminCredential?"), same, 403, "AuthorizationFailed",
			"The client '" + standin.ClientID + "' with object id '" + standin.ObjectID + "' does not have authorization to perform action '" + standin.ActionListAdmin + "' over scope '" + clusterPath + "'"},
		"no role": {http.MethodGet, good, func(_ *testing.T, a *standin.Azure, token string) string {
			a.ARM.Forbid(standin.ObjectID)
			return token
		}, 403, "AuthorizationFailed", standin.ActionRead},
		"reader": {http.MethodPost, other("?", "/listClusterUserCredential?"), func(_ *testing.T, a *standin.Azure, token string) string {
			a.ARM.Forbid(standin.ObjectID)
			a.ARM.Allow(standin.ObjectID, standin.RoleReader...)
			return token
		}, 403, "AuthorizationFailed", standin.ActionListUser},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := start(t)
			token := tt.token(t, a, accessToken(t, a, "https://management.azure.com/"))
			var header []string
			if token != "" {
				header = []string{"Authorization", "Bearer " + token}
			}
			got := do(t, client(t, a), tt.method, a.ARM.URL+tt.path, "", header...)
			said, _ := got.object(t)["error"].(map[string]any)
			code, _ := said["code"].(string)
			if got.Status != tt.status || code != tt.code || !strings.Contains(string(got.Body), tt.says) {
				t.Errorf("%d %s", got.Status, got.Body)
			}
			if challenge := got.Header.Get("WWW-Authenticate"); (got.Status == http.StatusUnauthorized) != (challenge != "") {
				t.Errorf("%d with the challenge %q", got.Status, challenge)
			}
			if leaks := a.Ledger.Scan("the answer", got.Body); leaks != nil {
				t.Error(leaks)
			}
		})
	}
}

func TestARMShowsTheCluster(t *testing.T) {
	t.Parallel()
	a := start(t)
	c := clusters(t, a, githubCredential(t, a))
	change(t, a, func(c *standin.Cluster) {
		c.State, c.Power, c.Version, c.Private, c.NoLocalAccounts, c.AzureRBAC = "Failed", "Stopped", "1.33.1", true, true, true
	})
	got, err := c.Get(t.Context(), standin.ResourceGroup, standin.ClusterName, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := got.Properties
	if *p.ProvisioningState != "Failed" || *p.PowerState.Code != armcontainerservice.CodeStopped || *p.CurrentKubernetesVersion != "1.33.1" ||
		!strings.Contains(*p.PrivateFQDN, "privatelink") || !*p.DisableLocalAccounts || !*p.AADProfile.EnableAzureRBAC ||
		!*p.APIServerAccessProfile.EnablePrivateCluster || *p.AADProfile.TenantID != standin.TenantID || *got.Identity.TenantID != standin.TenantID {
		t.Errorf("got %+v", p)
	}
	change(t, a, func(c *standin.Cluster) { c.Private, c.NoEntra, c.Pools = false, true, 1 })
	if got, err = c.Get(t.Context(), standin.ResourceGroup, standin.ClusterName, nil); err != nil || got.Properties.PrivateFQDN != nil || got.Properties.AADProfile != nil {
		t.Errorf("got %+v, %v", got.Properties, err)
	}
}

// Real answers have 10 to 40 KiB.
func TestARMAnswersAtLength(t *testing.T) {
	t.Parallel()
	a := start(t)
	size := func() int {
		got := do(t, client(t, a), http.MethodGet, a.ARM.URL+clusterPath+"?api-version=2025-09-01", "", "Authorization", "Bearer "+accessToken(t, a, a.ARM.URL))
		return len(got.Body)
	}
	if n := size(); n < 10<<10 || n > 40<<10 {
		t.Errorf("%d bytes", n)
	}
	change(t, a, func(c *standin.Cluster) { c.Pools = 100 })
	if n := size(); n < 100<<10 {
		t.Errorf("%d bytes of 100 pools", n)
	}
}

func TestARMHandsOutKubeconfigs(t *testing.T) {
	t.Parallel()
	a := start(t)
	certificate, key, err := a.Authority.Client("masterclient", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	a.ARM.Allow(standin.ObjectID, standin.RoleClusterAdmin...)
	c := clusters(t, a, githubCredential(t, a))
	format := func(f armcontainerservice.Format) *armcontainerservice.ManagedClustersClientListClusterUserCredentialsOptions {
		return &armcontainerservice.ManagedClustersClientListClusterUserCredentialsOptions{Format: to.Ptr(f)}
	}
	local := func(c *standin.Cluster) {
		c.User, c.Admin = standin.User{Certificate: certificate, Key: key, Token: "0123456789abcdef0123456789abcdef"}, standin.User{Certificate: certificate, Key: key}
	}
	for name, tt := range map[string]struct {
		change func(*standin.Cluster)
		ask    *armcontainerservice.ManagedClustersClientListClusterUserCredentialsOptions
		admin  bool
		want   func(*clientcmdapi.AuthInfo, *clientcmdapi.Cluster) bool
		fails  string
	}{
		"plugin": {want: func(u *clientcmdapi.AuthInfo, c *clientcmdapi.Cluster) bool {
			return u.Exec.Command == "kubelogin" && strings.Contains(strings.Join(u.Exec.Args, " "), "--server-id "+standin.AKSServerID) && c.Server == "https://127.0.0.1:6443"
		}},
		"another application": {change: func(c *standin.Cluster) { c.User.ServerID = "abc" }, want: func(u *clientcmdapi.AuthInfo, _ *clientcmdapi.Cluster) bool {
			return strings.Contains(strings.Join(u.Exec.Args, " "), "--server-id abc ")
		}},
		"auth provider": {ask: format(armcontainerservice.FormatAzure), want: func(u *clientcmdapi.AuthInfo, _ *clientcmdapi.Cluster) bool {
			return u.AuthProvider.Name == "azure" && u.AuthProvider.Config["apiserver-id"] == standin.AKSServerID && u.Exec == nil
		}},
		"exec": {change: func(c *standin.Cluster) { c.User.AuthProvider = true }, ask: format(armcontainerservice.FormatExec), want: func(u *clientcmdapi.AuthInfo, _ *clientcmdapi.Cluster) bool {
			return u.Exec != nil && u.AuthProvider == nil
		}},
		"unknown format": {ask: format("yaml"), fails: "BadRequest"},
		"local account": {change: local, want: func(u *clientcmdapi.AuthInfo, _ *clientcmdapi.Cluster) bool {
			return bytes.Equal(u.ClientCertificateData, certificate) && bytes.Equal(u.ClientKeyData, key) && u.Token != "" && u.Exec == nil
		}},
		"admin": {change: local, admin: true, want: func(u *clientcmdapi.AuthInfo, _ *clientcmdapi.Cluster) bool {
			return bytes.Equal(u.ClientKeyData, key) && u.Token == ""
		}},
		"admin without local accounts": {change: func(c *standin.Cluster) { local(c); c.NoLocalAccounts = true }, admin: true, fails: "Getting static credential is not allowed"},
		"user without local accounts":  {change: func(c *standin.Cluster) { local(c); c.NoLocalAccounts, c.NoEntra = true, true }, fails: "Getting static credential is not allowed"},
		"private name": {change: func(c *standin.Cluster) { c.PrivateServer = "https://private.test:443" }, ask: &armcontainerservice.ManagedClustersClientListClusterUserCredentialsOptions{ServerFqdn: to.Ptr("private")},
			want: func(_ *clientcmdapi.AuthInfo, c *clientcmdapi.Cluster) bool {
				return c.Server == "https://private.test:443"
			}},
		"public name": {change: func(c *standin.Cluster) { c.PublicServer = "https://public.test:443" }, ask: &armcontainerservice.ManagedClustersClientListClusterUserCredentialsOptions{ServerFqdn: to.Ptr("public")},
			want: func(_ *clientcmdapi.AuthInfo, c *clientcmdapi.Cluster) bool {
				return c.Server == "https://public.test:443"
			}},
		"a name": {ask: &armcontainerservice.ManagedClustersClientListClusterUserCredentialsOptions{ServerFqdn: to.Ptr("a.b")}, fails: "server-fqdn"},
		"raw": {change: func(c *standin.Cluster) {
			c.User.Raw = map[string]any{"username": "u", "password": "raw-pass-1234", "token": "raw-token-1234", "client-key-data": "bm8ga2V5",
				"auth-provider": map[string]any{"name": "azure", "config": map[string]any{"access-token": "raw-access-1234", "refresh-token": "short"}}}
		}, want: func(u *clientcmdapi.AuthInfo, _ *clientcmdapi.Cluster) bool {
			return u.Username == "u"
		}},
	} {
		change(t, a, func(c *standin.Cluster) {
			*c = standin.Cluster{ResourceGroup: c.ResourceGroup, Name: c.Name, Server: c.Server, CA: c.CA}
			if tt.change != nil {
				tt.change(c)
			}
		})
		var results armcontainerservice.CredentialResults
		var err error
		if tt.admin {
			var got armcontainerservice.ManagedClustersClientListClusterAdminCredentialsResponse
			got, err = c.ListClusterAdminCredentials(t.Context(), standin.ResourceGroup, standin.ClusterName, nil)
			results = got.CredentialResults
		} else {
			var got armcontainerservice.ManagedClustersClientListClusterUserCredentialsResponse
			got, err = c.ListClusterUserCredentials(t.Context(), standin.ResourceGroup, standin.ClusterName, tt.ask)
			results = got.CredentialResults
		}
		if tt.fails != "" {
			var refused *azcore.ResponseError
			if !errors.As(err, &refused) || refused.StatusCode != http.StatusBadRequest || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		config, err := clientcmd.Load(results.Kubeconfigs[0].Value)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		current := config.Contexts[config.CurrentContext]
		if !tt.want(config.AuthInfos[current.AuthInfo], config.Clusters[current.Cluster]) {
			t.Errorf("%s: %s", name, results.Kubeconfigs[0].Value)
		}
	}
	for text, want := range map[string]string{
		"raw-token-1234": "the token of a kubeconfig", "raw-pass-1234": "the password of a kubeconfig", "raw-access-1234": "the access-token of a kubeconfig",
	} {
		if got := a.Ledger.Scan("raw", []byte(text)); len(got) != 1 || got[0] != "raw holds "+want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if got := a.Ledger.Scan("key", key); len(got) != 1 || got[0] != "key holds a client key" {
		t.Error(got)
	}
	if got := a.Ledger.Scan("certificate", certificate); got != nil {
		t.Error(got)
	}
}

func TestARMErrorOnCommand(t *testing.T) {
	t.Parallel()
	a := start(t)
	a.ARM.On(standin.PathEnds(standin.ClusterName), 1, standin.ARMError(http.StatusTooManyRequests, "TooManyRequests", "Slow down.", "Retry-After", "3"))
	c := clusters(t, a, githubCredential(t, a))
	_, err := c.Get(t.Context(), standin.ResourceGroup, standin.ClusterName, nil)
	var refused *azcore.ResponseError
	if !errors.As(err, &refused) || refused.ErrorCode != "TooManyRequests" || refused.RawResponse.Header.Get("Retry-After") != "3" {
		t.Error(err)
	}
	if _, err := c.Get(t.Context(), standin.ResourceGroup, standin.ClusterName, nil); err != nil {
		t.Error(err)
	}
}

func change(t *testing.T, a *standin.Azure, f func(*standin.Cluster)) {
	t.Helper()
	if err := a.ARM.ChangeCluster(standin.ResourceGroup, standin.ClusterName, f); err != nil {
		t.Fatal(err)
	}
}
