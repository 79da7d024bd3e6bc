package azure

import (
	"net/http"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

var (
	reading   standin.Match = func(r *http.Request) bool { return r.Method == http.MethodGet }
	listing   standin.Match = func(r *http.Request) bool { return r.Method == http.MethodPost }
	anyOfARM  standin.Match = standin.Any
	bothCalls               = func(a standin.Answer) func(*world) {
		return func(w *world) { w.ARM.On(anyOfARM, -1, a) }
	}
	listCall = func(a standin.Answer) func(*world) {
		return func(w *world) { w.ARM.On(listing, -1, a) }
	}
)

// managerFailures are those of Azure Resource Manager.
var managerFailures = []failing{
	{"arm-401-expired", bothCalls(standin.ARMError(http.StatusUnauthorized, "ExpiredAuthenticationToken", "The access token expiry UTC time '11/30/2026 9:00:00 AM' is earlier than current UTC time '11/30/2026 10:00:00 AM'."))},
	{"arm-401-audience", bothCalls(standin.ARMError(http.StatusUnauthorized, "InvalidAuthenticationTokenAudience", "The access token has been obtained for wrong audience or resource 'https://a.example'. It should exactly match with one of the allowed audiences 'https://management.azure.com'."))},
	{"arm-401-tenant", func(w *world) {
		const other = "00000000-0000-0000-0000-0000000000aa"
		w.Entra.AddTenant(other)
		w.Entra.AddApp(other, standin.App{ClientID: standin.ClientID, ObjectID: standin.ObjectID, Credentials: []standin.FederatedCredential{
			{Issuer: w.GitHub.Issuer(), Subject: w.GitHub.Subject(), Audience: standin.TokenAudience},
		}})
		w.options.TenantID = other
	}},
	{"arm-403-user", func(w *world) { w.ARM.Forbid(standin.ObjectID) }},
	{"arm-403-user-may-read", func(w *world) {
		w.ARM.Forbid(standin.ObjectID)
		w.ARM.Allow(standin.ObjectID, standin.RoleReader...)
	}},
	{"arm-403-admin", func(w *world) { w.options.Admin = true }},
	{"arm-403-policy", bothCalls(standin.ARMError(http.StatusForbidden, "RequestDisallowedByPolicy", "Resource 'orders-aks' was disallowed by policy."))},
	{"arm-404-subscription", func(w *world) { w.options.Cluster.Subscription = "00000000-0000-0000-0000-00000000dead" }},
	// With a role on one cluster, as the documentation has it, whoever mistypes a
	// name is told what one without a role is.
	{"arm-403-no-such-cluster", func(w *world) { w.options.Cluster.Name = "orders" }},
	{"arm-403-no-object-id", bothCalls(standin.ARMError(http.StatusForbidden, "AuthorizationFailed", "The client does not have authorization."))},
	{"arm-404-group", all(everywhere, func(w *world) { w.options.Cluster.ResourceGroup = "MC_orders-production_orders-aks_westeurope" })},
	{"arm-404-cluster", all(everywhere, func(w *world) { w.options.Cluster.Name = "orders" })},
	{"arm-404-not-found", bothCalls(standin.ARMError(http.StatusNotFound, "NotFound", "The entity was not found."))},
	{"arm-404-type", bothCalls(standin.ARMError(http.StatusNotFound, "InvalidResourceType", "The resource type could not be found in the namespace 'Microsoft.ContainerService' for api version '2025-10-01'."))},
	{"arm-409-unregistered", bothCalls(standin.ARMError(http.StatusConflict, "MissingSubscriptionRegistration", "The subscription is not registered to use namespace 'Microsoft.ContainerService'. See https://aka.ms/rps-not-found for how to register subscriptions."))},
	{"arm-400-updating", listCall(standin.ARMError(http.StatusBadRequest, "BadRequest", "Managed cluster is in (Updating) state, which does not have a credential yet."))},
	{"arm-404-foreign", bothCalls(standin.HTML(http.StatusNotFound))},
	{"arm-429-soon", all(twice, bothCalls(standin.ARMError(http.StatusTooManyRequests, "TooManyRequests", "The request is being throttled.", "Retry-After", "1")))},
	{"arm-429-late", bothCalls(standin.ARMError(http.StatusTooManyRequests, "TooManyRequests", "The request is being throttled.", "Retry-After", "1800"))},
	{"arm-500", bothCalls(standin.ARMError(http.StatusInternalServerError, "InternalServerError", "An unexpected error occurred."))},
	{"arm-503-html", bothCalls(standin.HTML(http.StatusServiceUnavailable))},
	{"arm-200-html", bothCalls(standin.HTML(http.StatusOK))},
	{"arm-200-empty", bothCalls(standin.Empty())},
	{"arm-echo", bothCalls(func(rw http.ResponseWriter, r *http.Request, _ http.Handler) {
		standin.ARMError(http.StatusBadRequest, "BadRequest", "The header Authorization: "+r.Header.Get("Authorization")+" is not valid.")(rw, r, nil)
	})},
	{"arm-echo-in-code", bothCalls(func(rw http.ResponseWriter, r *http.Request, _ http.Handler) {
		standin.ARMError(http.StatusBadRequest, r.Header.Get("Authorization"), "x")(rw, r, nil)
	})},
	{"arm-cut", bothCalls(standin.CutBody())},
	{"arm-dropped", bothCalls(standin.Drop())},
	{"arm-huge", bothCalls(standin.Huge(8 << 20))},
	{"arm-hanging", func(w *world) { w.ARM.On(anyOfARM, -1, w.hangingToTheLimit()) }},
	{"arm-not-there", func(w *world) { w.options.Cloud.ResourceManager = "https://management.missing" }},
	{"arm-no-kubeconfig", listCall(standin.Status(http.StatusOK, `{"kubeconfigs":[]}`, "Content-Type", "application/json"))},
	{"arm-null-kubeconfig", listCall(standin.Status(http.StatusOK, `{"kubeconfigs":[null,{"name":"x"}]}`, "Content-Type", "application/json"))},
	{"arm-not-base64", listCall(standin.Status(http.StatusOK, `{"kubeconfigs":[{"name":"clusterUser","value":"%%%"}]}`, "Content-Type", "application/json"))},
	{"arm-not-yaml", listCall(standin.Status(http.StatusOK, `{"kubeconfigs":[{"name":"clusterUser","value":"`+strings.Repeat("QUJD", 40)+`"}]}`, "Content-Type", "application/json"))},
}

// cluster changes the cluster.
func cluster(change func(*standin.Cluster)) func(*world) {
	return func(w *world) {
		if err := w.ARM.ChangeCluster(standin.ResourceGroup, standin.ClusterName, change); err != nil {
			w.t.Fatal(err)
		}
	}
}

func all(steps ...func(*world)) func(*world) {
	return func(w *world) {
		for _, step := range steps {
			step(w)
		}
	}
}

// everywhere gives the role in the whole subscription.
func everywhere(w *world) { w.ARM.Allow(standin.ObjectID, standin.RoleClusterUser...) }

// twice has each request tried twice.
func twice(w *world) { w.options.pace.retries.MaxRetries = 1 }

func asAdmin(w *world) {
	w.options.Admin = true
	w.ARM.Allow(standin.ObjectID, standin.RoleClusterAdmin...)
}

func user(raw map[string]any) func(*world) {
	return cluster(func(c *standin.Cluster) { c.User.Raw = raw })
}

func private(yes bool) func(*world) {
	return func(w *world) { w.options.PrivateFQDN = &yes }
}

var noCredential = listCall(standin.ARMError(http.StatusInternalServerError, "InternalOperationError", "Internal server error"))

// clusterFailures are those of the cluster, and of its kubeconfig.
var clusterFailures = []failing{
	{"cluster-stopped", cluster(func(c *standin.Cluster) { c.Power = "Stopped" })},
	{"cluster-stopped-no-credential", all(cluster(func(c *standin.Cluster) { c.Power = "Stopped" }), noCredential)},
	{"cluster-deleting", cluster(func(c *standin.Cluster) { c.State = "Deleting" })},
	{"cluster-failed-no-credential", all(cluster(func(c *standin.Cluster) { c.State = "Failed" }), noCredential)},
	{"cluster-failed-forbidden", all(cluster(func(c *standin.Cluster) { c.State = "Failed" }), func(w *world) {
		w.ARM.Forbid(standin.ObjectID)
		w.ARM.Allow(standin.ObjectID, standin.RoleReader...)
	})},
	{"cluster-no-local-accounts", all(asAdmin, cluster(func(c *standin.Cluster) { c.NoLocalAccounts = true }))},
	{"cluster-no-local-accounts-unread", all(func(w *world) {
		w.options.Admin = true
		w.ARM.Forbid(standin.ObjectID)
		w.ARM.Allow(standin.ObjectID, standin.ActionListAdmin)
	}, cluster(func(c *standin.Cluster) { c.NoLocalAccounts = true }))},
	{"cluster-no-private-name", private(true)},
	{"cluster-private-name-unread", all(private(true), func(w *world) {
		w.ARM.On(reading, -1, standin.ARMError(http.StatusForbidden, "AuthorizationFailed", "The client does not have authorization."))
	})},
	{"cluster-private-name-rubbish", all(private(true), func(w *world) {
		w.ARM.On(reading, -1, standin.Status(http.StatusOK, `{"properties":{"privateFQDN":"evil.example/x?y@z"}}`, "Content-Type", "application/json"))
	})},
	{"kubeconfig-http", cluster(func(c *standin.Cluster) { c.Server = "http://127.0.0.1:1" })},
	{"kubeconfig-no-authority", cluster(func(c *standin.Cluster) { c.CA = nil })},
	{"kubeconfig-no-credential", user(map[string]any{})},
	{"kubeconfig-certificate-file", user(map[string]any{"client-certificate": "/etc/passwd", "client-key": "/etc/passwd"})},
	{"kubeconfig-token-file", user(map[string]any{"tokenFile": "/var/run/secrets/token"})},
	{"kubeconfig-impersonation", user(map[string]any{"token": "tok-never-shown-1234", "as": "system:admin"})},
	{"kubeconfig-server-id", user(map[string]any{"exec": map[string]any{
		"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "kubelogin", "interactiveMode": "Never",
		"args": []string{"get-token", "--server-id", "https://vault.azure.net"},
	}})},
	{"kubeconfig-another-service", user(map[string]any{"exec": map[string]any{
		"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "kubelogin", "interactiveMode": "Never",
		"args": []string{"get-token", "--server-id", "00000003-0000-0000-c000-000000000000"},
	}})},
	{"kubeconfig-insecure", listCall(func(rw http.ResponseWriter, r *http.Request, _ http.Handler) {
		standin.Status(http.StatusOK, kubeconfigAnswer(`
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1", insecure-skip-tls-verify: true}}]
users: [{name: a, user: {token: tok-never-shown-1234}}]
`), "Content-Type", "application/json")(rw, r, nil)
	})},
}
