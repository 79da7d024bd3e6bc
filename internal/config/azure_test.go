package config

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

const (
	client     = "bbbbbbbb-cccc-dddd-eeee-ffffffffffff"
	connection = "abcdef01-2345-6789-abcd-ef0123456789"
	resource   = "/subscriptions/" + subscription + "/resourceGroups/example-rg/providers/Microsoft.ContainerService/managedClusters/example"
)

// azure returns inputs with nothing wrong in them that have Azure asked for the
// cluster.
func azure(changes ...string) map[string]string {
	in := with(good(), "kubeconfig", "", "client-id", client, "resource-group", "example-rg", "cluster-name", "example")
	return with(in, changes...)
}

// readAt reads inputs where another way of signing in is the default.
func readAt(auth string, env, in map[string]string, args ...string) (Config, error) {
	return Read(Source{
		Args:   args,
		Lookup: func(name string) (string, bool) { v, ok := in[name]; return v, ok },
		Getenv: func(key string) string { return env[key] },
		Auth:   auth,
	})
}

func TestReadAzure(t *testing.T) {
	t.Parallel()
	base := Azure{
		Auth: "github", TenantID: tenant, ClientID: client, Subscription: subscription,
		ResourceGroup: "example-rg", Cluster: "example", Environment: "AzureCloud",
	}
	but := func(change func(*Azure)) Azure {
		a := base
		change(&a)
		return a
	}
	yes, no := true, false
	named := contextWith(t, func(object contract.Object) { object["kubeconfig"] = "/etc/fdai/kubeconfig" })
	everyOne := azure()
	for _, input := range Inputs() {
		if _, given := everyOne[input.Name]; !given {
			everyOne[input.Name] = input.Default // as a runner hands them over
		}
	}
	members := azure("context-file", "")
	maps.Copy(members, with(memberwise(t), "kubeconfig", ""))
	var loud = strings.ToUpper
	workload := map[string]string{"AZURE_TENANT_ID": loud(tenant), "AZURE_CLIENT_ID": loud(client)}
	task := map[string]string{"AZURESUBSCRIPTION_TENANT_ID": tenant, "AZURESUBSCRIPTION_CLIENT_ID": loud(client), "AZURESUBSCRIPTION_SERVICE_CONNECTION_ID": loud(connection)}
	for name, c := range map[string]struct {
		auth string
		env  map[string]string
		in   map[string]string
		want Azure
	}{
		"by names":                            {"github", nil, azure(), base},
		"with every input as a runner has it": {"github", nil, everyOne, base},
		"by id":                               {"github", nil, azure("resource-group", "", "cluster-name", "", "cluster-id", resource), base},
		"by id as Azure writes it, too":       {"github", nil, azure("resource-group", "", "cluster-name", "", "cluster-id", strings.ToLower(resource)+"/"), base},
		"by both": {"github", nil, azure("resource-group", "Example-RG", "cluster-name", "EXAMPLE", "subscription-id", loud(subscription), "cluster-id", loud(resource)),
			but(func(a *Azure) { a.ResourceGroup, a.Cluster = "EXAMPLE-RG", "EXAMPLE" })},
		"in capitals":            {"github", nil, azure("client-id", loud(client), "tenant-id", loud(tenant), "subscription-id", loud(subscription)), base},
		"with members":           {"github", nil, members, base},
		"instead of a context's": {"github", nil, azure("context-file", named), base},
		"a cloud":                {"github", nil, azure("environment", "azureusgovernment"), but(func(a *Azure) { a.Environment = "AzureUSGovernment" })},
		"another cloud": {"github", nil, azure("authority-host", "https://Login.Example:8443/", "resource-manager-endpoint", "https://management.example", "audience", "api://Exchange"),
			but(func(a *Azure) {
				a.AuthorityHost, a.ResourceManager, a.Audience = "https://login.example:8443", "https://management.example", "api://Exchange"
			})},
		"admin":            {"github", nil, azure("admin", "true"), but(func(a *Azure) { a.Admin = true })},
		"a private name":   {"github", nil, azure("use-private-fqdn", "true"), but(func(a *Azure) { a.PrivateFQDN = &yes })},
		"no private name":  {"github", nil, azure("use-private-fqdn", "false"), but(func(a *Azure) { a.PrivateFQDN = &no })},
		"a chosen auth":    {"github", nil, azure("auth", "managed-identity"), but(func(a *Azure) { a.Auth, a.AuthGiven = "managed-identity", true })},
		"the same, chosen": {"github", nil, azure("auth", "github"), but(func(a *Azure) { a.AuthGiven = true })},
		"an identity of the machine": {"github", workload, azure("auth", "managed-identity", "client-id", ""),
			but(func(a *Azure) { a.Auth, a.AuthGiven, a.ClientID = "managed-identity", true, "" })},
		"a person": {"azure-cli", workload, azure("client-id", ""), but(func(a *Azure) { a.Auth, a.ClientID = "azure-cli", "" })},
		"inputs for a pipeline, by a person": {"azure-cli", nil, azure("service-connection", connection, "audience", "a"),
			but(func(a *Azure) { a.Auth, a.ServiceConnection, a.Audience = "azure-cli", connection, "a" })},
		"a pod": {"workload-identity", workload, azure("client-id", ""), but(func(a *Azure) { a.Auth = "workload-identity" })},
		"a pod with another's identity": {"workload-identity", map[string]string{"AZURE_TENANT_ID": client, "AZURE_CLIENT_ID": tenant}, azure("tenant-id", tenant),
			but(func(a *Azure) { a.Auth = "workload-identity" })},
		"a pipeline": {"azure-pipelines", nil, azure("service-connection", loud(connection)),
			but(func(a *Azure) { a.Auth, a.ServiceConnection = "azure-pipelines", connection })},
		"a pipeline's task": {"azure-pipelines", task, azure("client-id", ""),
			but(func(a *Azure) { a.Auth, a.ServiceConnection = "azure-pipelines", connection })},
		"the variables of others": {"github", map[string]string{"AZURE_TENANT_ID": client, "AZURE_CLIENT_ID": tenant}, azure(), base},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readAt(c.auth, c.env, c.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&c.want, got.Azure); diff != "" {
				t.Errorf("(-want +have)\n%s", diff)
			}
			if diff := cmp.Diff(Kubeconfig{}, got.Kubeconfig); diff != "" {
				t.Errorf("a kubeconfig is used, too:\n%s", diff)
			}
		})
	}
}

// Every input of Azure chooses Azure, but for those that say what is so anyway.
func TestReadAzureIsChosen(t *testing.T) {
	t.Parallel()
	for input, value := range map[string]string{
		"client-id": client, "cluster-id": resource, "resource-group": "g", "cluster-name": "c", "auth": "azure-cli",
		"service-connection": connection, "environment": "AzureChinaCloud", "authority-host": "https://a",
		"resource-manager-endpoint": "https://a", "audience": "a", "admin": "true", "use-private-fqdn": "false",
	} {
		for _, way := range []string{"kubeconfig", "kubeconfig-content"} {
			c, err := readAt("azure-cli", nil, with(good(), "kubeconfig", "", way, "/a", input, value))
			want := "config-invalid: " + way + ": is given beside " + input + "; give one way into the cluster, a kubeconfig or the inputs of Azure"
			if err == nil || err.Error() != want {
				t.Errorf("%s beside %s: %v", way, input, err)
			}
			if c.Azure == nil || c.Kubeconfig.Input != way {
				t.Errorf("%s beside %s: have %+v and %+v, want both for a report and to hide what is in them", way, input, c.Azure, c.Kubeconfig)
			}
		}
	}
	c, err := readAt("github", nil, with(good(), "environment", "azurecloud", "admin", "false", "tenant-id", tenant, "subscription-id", subscription))
	if err != nil || c.Azure != nil || c.Kubeconfig.Path == "" {
		t.Errorf("defaults beside a kubeconfig: %v, %+v", err, c.Azure)
	}
}

func TestReadRefusesAzure(t *testing.T) {
	t.Parallel()
	const (
		another = "99999999-9999-9999-9999-999999999999"
		unset   = ". In a workflow, a secret or variable that the job does not have is an empty input"
		inTask  = ". Run it in an AzureCLI@2 task with azureSubscription, which sets the variable (docs/federation.md has a pipeline), or give "
		idWant  = "; want /subscriptions/…/resourceGroups/…/providers/Microsoft.ContainerService/managedClusters/…, as az aks show --query id prints it"
		guid    = "want 8-4-4-4-12 hexadecimal digits"
		thatID  = ". It is the application (client) id of the app registration or managed identity; no client secret is needed"
		thatCon = ". It is the resourceId in the address of the service connection's page; a name will not do"
		clouds  = "the name of the Azure cloud that the cluster is in: AzureCloud, AzureUSGovernment or AzureChinaCloud"
		elseEnv = ". Another cloud is given by authority-host and resource-manager-endpoint; environment variables of the Job go into env"
	)
	byID := func(id string) map[string]string {
		return azure("resource-group", "", "cluster-name", "", "cluster-id", id)
	}
	otherSubscription := strings.Replace(resource, subscription, another, 1)
	for name, c := range map[string]struct {
		auth string
		env  map[string]string
		in   map[string]string
		want string
	}{
		"several beside a kubeconfig": {"github", nil, azure("kubeconfig", "/a", "admin", "true"),
			"kubeconfig: is given beside client-id, resource-group, cluster-name and admin; give one way into the cluster, a kubeconfig or the inputs of Azure"},

		"no cluster":        {"github", nil, azure("resource-group", "", "cluster-name", ""), "cluster-id: is missing: since client-id is given, Azure is asked for the cluster, by it or by resource-group and cluster-name"},
		"no resource group": {"github", nil, azure("resource-group", ""), "resource-group: is missing: since client-id is given, Azure is asked for the cluster, by resource-group and cluster-name or by cluster-id"},
		"no cluster name":   {"github", nil, azure("cluster-name", ""), "cluster-name: is missing: since client-id is given, Azure is asked for the cluster, by resource-group and cluster-name or by cluster-id"},
		"no client":         {"github", nil, azure("client-id", ""), "client-id: is missing: since resource-group is given, Azure is asked for the cluster, and auth github (the default here) signs in with it" + unset},
		"no client, chosen": {"azure-cli", nil, azure("client-id", "", "auth", "github"), "client-id: is missing: since resource-group is given, Azure is asked for the cluster, and auth github signs in with it" + unset},
		"no client in a pod": {"workload-identity", nil, azure("client-id", ""),
			"client-id: is missing: since resource-group is given, Azure is asked for the cluster, and auth workload-identity (the default here) signs in with it; the environment variable AZURE_CLIENT_ID is not set either" + unset},
		"no client in a pipeline": {"azure-pipelines", nil, azure("client-id", "", "service-connection", connection),
			"client-id: is missing: since resource-group is given, Azure is asked for the cluster, and auth azure-pipelines (the default here) signs in with it; the environment variable AZURESUBSCRIPTION_CLIENT_ID is not set either" + inTask + "the client id of the identity that the service connection has"},
		"no connection": {"azure-cli", nil, azure("auth", "azure-pipelines"),
			"service-connection: is missing: since client-id is given, Azure is asked for the cluster, and auth azure-pipelines signs in with it; the environment variable AZURESUBSCRIPTION_SERVICE_CONNECTION_ID is not set either" + inTask + "the resourceId in the address of the service connection's page"},
		"no auth": {"", nil, azure(), "auth: is missing: since client-id is given, Azure is asked for the cluster, and nothing says how to sign in where this runs; give github, azure-pipelines, workload-identity, managed-identity or azure-cli"},

		"a pod of another tenant": {"workload-identity", map[string]string{"AZURE_TENANT_ID": another}, azure(),
			"tenant-id: is " + another + " in the environment variable AZURE_TENANT_ID, which auth workload-identity goes by, but tenant_id in the context in testdata/context.json is " + tenant + "; they must be the same"},
		"a pod of no tenant": {"workload-identity", map[string]string{"AZURE_TENANT_ID": "hunter2"}, azure(),
			"tenant-id: the one of the environment variable AZURE_TENANT_ID is not a GUID: it has 7 bytes, " + guid + ". It is what az account show --query tenantId prints; a domain name will not do"},
		"a pod of no client": {"workload-identity", map[string]string{"AZURE_CLIENT_ID": "hunter2"}, azure("client-id", ""),
			"client-id: the one of the environment variable AZURE_CLIENT_ID is not a GUID: it has 7 bytes, " + guid + thatID},

		"another auth":              {"github", nil, azure("auth", "oidc"), `auth: is "oidc"; want github, azure-pipelines, workload-identity, managed-identity or azure-cli`},
		"kubelogin's name":          {"github", nil, azure("auth", "azurecli"), `auth: is "azurecli"; want github, azure-pipelines, workload-identity, managed-identity or azure-cli; did you mean azure-cli?`},
		"a capital":                 {"github", nil, azure("auth", "GitHub"), `auth: is "GitHub"; want github, azure-pipelines, workload-identity, managed-identity or azure-cli; did you mean github?`},
		"a secret as auth":          {"github", nil, azure("auth", "hunter2"), `auth: is a value of 7 bytes; want github, azure-pipelines, workload-identity, managed-identity or azure-cli`},
		"a connection for another":  {"github", nil, azure("auth", "github", "service-connection", connection), "service-connection: is given, but auth is github; only azure-pipelines has a use for it"},
		"an audience for another":   {"github", nil, azure("auth", "azure-cli", "audience", "a"), "audience: is given, but auth is azure-cli; only github has a use for it"},
		"a client secret":           {"github", nil, azure("client-id", "hunter2~8Q"), "client-id: is not a GUID: it has 10 bytes, " + guid + thatID},
		"a quoted client":           {"github", nil, azure("client-id", `"`+client+`"`), "client-id: is a GUID with something around it; " + guid + " and nothing else" + thatID},
		"a client in braces":        {"github", nil, azure("client-id", "{"+client+"}"), "client-id: is a GUID with something around it; " + guid + " and nothing else" + thatID},
		"a client without dashes":   {"github", nil, azure("client-id", strings.ReplaceAll(client, "-", "")), "client-id: is a GUID without dashes; " + guid + thatID},
		"a connection's name":       {"azure-pipelines", nil, azure("service-connection", "hunter2"), "service-connection: is not a GUID: it has 7 bytes, " + guid + thatCon},
		"a space in a group":        {"github", nil, azure("resource-group", "hunter2 rg"), "resource-group: has a character that is not allowed, the one at place 8; want letters, digits, _ - . ( and )"},
		"a dot after a group":       {"github", nil, azure("resource-group", "hunter2."), "resource-group: ends with a dot, as no name of a resource group does"},
		"a long group":              {"github", nil, azure("resource-group", strings.Repeat("é", 91)), "resource-group: has 91 characters; the name of a resource group has 1 to 90"},
		"a group's id":              {"github", nil, azure("resource-group", "/subscriptions/hunter2"), "resource-group: holds a path, and wants the name alone; the cluster's whole id goes into cluster-id"},
		"a cluster's address":       {"github", nil, azure("cluster-name", "hunter2.hcp.westeurope.azmk8s.io"), "cluster-name: is an address; want the name of the cluster, as az aks list prints it"},
		"a cluster's URL":           {"github", nil, azure("cluster-name", "https://hunter2"), "cluster-name: is an address; want the name of the cluster, as az aks list prints it"},
		"a dot in a cluster":        {"github", nil, azure("cluster-name", "hunter2.example"), "cluster-name: has a character that is not allowed, the one at place 8; want A to Z in either case, digits, _ and -"},
		"a letter of elsewhere":     {"github", nil, azure("cluster-name", "é"), "cluster-name: has a character that is not allowed, the one at place 1; want A to Z in either case, digits, _ and -"},
		"a dash after a cluster":    {"github", nil, azure("cluster-name", "hunter2-"), "cluster-name: does not begin and end with a letter or digit, as every name of an AKS cluster does"},
		"a long cluster":            {"github", nil, azure("cluster-name", strings.Repeat("c", 64)), "cluster-name: has 64 characters; the name of an AKS cluster has 1 to 63"},
		"an id of words":            {"github", nil, byID("hunter2"), "cluster-id: does not begin with a slash" + idWant},
		"a portal's address":        {"github", nil, byID("https://portal.azure.com/#@hunter2/resource" + resource), "cluster-id: does not begin with a slash" + idWant},
		"an id of a group":          {"github", nil, byID("/subscriptions/" + subscription + "/resourceGroups/hunter2"), "cluster-id: ends after 4 of its 8 parts" + idWant},
		"an id without the name":    {"github", nil, byID(strings.TrimSuffix(resource, "example")), "cluster-id: ends after 7 of its 8 parts" + idWant},
		"an id of a node pool":      {"github", nil, byID(resource + "/agentPools/hunter2"), "cluster-id: goes on after the cluster's name" + idWant},
		"two slashes after":         {"github", nil, byID(resource + "//"), "cluster-id: goes on after the cluster's name" + idWant},
		"two slashes within":        {"github", nil, byID(strings.Replace(resource, "/providers", "//providers", 1)), "cluster-id: part 5 is a value of 0 bytes, not providers" + idWant},
		"an Arc cluster":            {"github", nil, byID(strings.Replace(resource, "ContainerService/managedClusters", "Kubernetes/connectedClusters", 1)), `cluster-id: part 6 is "Microsoft.Kubernetes", not Microsoft.ContainerService` + idWant},
		"a fleet":                   {"github", nil, byID(strings.Replace(resource, "managedClusters", "fleets", 1)), `cluster-id: part 7 is "fleets", not managedClusters` + idWant},
		"a secret within":           {"github", nil, byID(strings.Replace(resource, "managedClusters", "hunter2", 1)), "cluster-id: part 7 is a value of 7 bytes, not managedClusters" + idWant},
		"an id with a name":         {"github", nil, byID(strings.Replace(resource, subscription, "hunter2", 1)), "cluster-id: its subscription is not a GUID: it has 7 bytes, " + guid},
		"an id that is escaped":     {"github", nil, byID(strings.Replace(resource, "example-rg", "hunter2%20rg", 1)), "cluster-id: its resource group has a character that is not allowed, the one at place 8; want letters, digits, _ - . ( and )"},
		"an id with a bad name":     {"github", nil, byID(resource + "_"), "cluster-id: its cluster name does not begin and end with a letter or digit, as every name of an AKS cluster does"},
		"an id of elsewhere":        {"github", nil, byID(otherSubscription), "cluster-id: is in subscription " + another + ", but subscription_id in the context in testdata/context.json is " + subscription + "; they must be the same"},
		"an id beside subscription": {"github", nil, with(byID(otherSubscription), "subscription-id", subscription), "cluster-id: is in subscription " + another + ", but subscription-id is " + subscription + "; they must be the same"},
		"an id beside a group":      {"github", nil, with(byID(resource), "resource-group", "rg"), "cluster-id: is in resource group example-rg, but resource-group is rg; they must be the same"},
		"an id beside a name":       {"github", nil, with(byID(resource), "cluster-name", "c"), "cluster-id: is of cluster example, but cluster-name is c; they must be the same"},

		"the Job's environment":      {"github", nil, azure("environment", "TOKEN=hunter2"), "environment: holds NAME=value or the like, and wants " + clouds + ". Environment variables of the Job go into env"},
		"the Job's, line by line":    {"github", nil, azure("environment", "A:\n hunter2"), "environment: holds NAME=value or the like, and wants " + clouds + ". Environment variables of the Job go into env"},
		"the Job's as JSON":          {"github", nil, azure("environment", `{"A":"hunter2"}`), "environment: holds NAME=value or the like, and wants " + clouds + ". Environment variables of the Job go into env"},
		"the deployment's":           {"github", nil, azure("environment", "production"), `environment: is "production", and wants ` + clouds + elseEnv},
		"a secret as environment":    {"github", nil, azure("environment", "hunter2"), "environment: is a value of 7 bytes, and wants " + clouds + elseEnv},
		"environment for env, alone": {"github", nil, with(good(), "environment", "A=hunter2"), "environment: holds NAME=value or the like, and wants " + clouds + ". Environment variables of the Job go into env"},
		"admin":                      {"github", nil, azure("admin", "True"), `admin: is "True"; want true, false or nothing`},
		"admin beside a kubeconfig":  {"github", nil, with(good(), "admin", "yes"), `admin: is "yes"; want true, false or nothing`},
		"a private name":             {"github", nil, azure("use-private-fqdn", "hunter2"), "use-private-fqdn: is a value of 7 bytes; want true, false or nothing"},

		"an authority by name":       {"github", nil, azure("authority-host", "hunter2.example"), "authority-host: is no address; want https:// and a host"},
		"an authority in the clear":  {"github", nil, azure("authority-host", "http://hunter2.example"), "authority-host: is not an address that begins with https://; want https:// and a host"},
		"an authority with password": {"github", nil, azure("authority-host", "https://u:hunter2@a.example"), "authority-host: holds a user; want https:// and a host alone"},
		"an authority with tenant":   {"github", nil, azure("authority-host", "https://a.example/hunter2"), "authority-host: goes on after the host; want https:// and a host alone"},
		"an authority with query":    {"github", nil, azure("authority-host", "https://a.example?hunter2"), "authority-host: goes on after the host; want https:// and a host alone"},
		"an authority with fragment": {"github", nil, azure("authority-host", "https://a.example/#hunter2"), "authority-host: goes on after the host; want https:// and a host alone"},
		"an authority without host":  {"github", nil, azure("authority-host", "https://:443"), "authority-host: has no host that can be one; want https:// and a host"},
		"an odd host":                {"github", nil, azure("resource-manager-endpoint", "https://hunter2_.example"), "resource-manager-endpoint: has no host that can be one; want https:// and a host"},
		"a long host":                {"github", nil, azure("resource-manager-endpoint", "https://"+strings.Repeat("hunter2.", 40)+"a"), "resource-manager-endpoint: has no host that can be one; want https:// and a host"},
		"a port of nothing":          {"github", nil, azure("resource-manager-endpoint", "https://a.example:"), "resource-manager-endpoint: has a port that is none; want a number from 1 to 65535"},
		"a port too high":            {"github", nil, azure("resource-manager-endpoint", "https://a.example:65536"), "resource-manager-endpoint: has a port that is none; want a number from 1 to 65535"},
		"a host that looks like one": {"github", nil, azure("resource-manager-endpoint", "https://\u212aube.example"), "resource-manager-endpoint: has no host that can be one; want https:// and a host"},
		"two slashes":                {"github", nil, azure("resource-manager-endpoint", "https://a.example//"), "resource-manager-endpoint: goes on after the host; want https:// and a host alone"},
		"a token as audience":        {"github", nil, azure("audience", "eyJhbGciOiJub25lIn0.eyJodW50ZXIyIjoiaHVudGVyMiJ9.hunter2"), "audience: holds a token, and wants the audience that one is to be for"},
		"a space in an audience":     {"github", nil, azure("audience", "api://hunter2 x"), "audience: has a character that is not allowed, byte 14; want printable ASCII without spaces"},
		"an audience of elsewhere":   {"github", nil, azure("audience", "é"), "audience: has a character that is not allowed, byte 1; want printable ASCII without spaces"},
		"a long audience":            {"github", nil, azure("audience", strings.Repeat("a", 601)), "audience: has 601 bytes; want at most 600"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := readAt(c.auth, c.env, c.in)
			if err == nil {
				t.Fatal("was accepted")
			}
			if diff := cmp.Diff("config-invalid: "+c.want, err.Error()); diff != "" {
				t.Errorf("(-want +have)\n%s", diff)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the message tells the value")
			}
		})
	}
}

// What is on the bound is taken, what is past it is refused above.
func TestReadAzureBounds(t *testing.T) {
	t.Parallel()
	for input, values := range map[string][]string{
		"resource-group": {"a", strings.Repeat("é", 90), "(group)_1.x-", ".a", "資源"},
		"cluster-name":   {"a", strings.Repeat("c", 63), "a_-b", "1c"},
		"audience":       {strings.Repeat("a", 600), "!~", "eyJ"},
		"authority-host": {"https://a", "HTTPS://A.B/", "https://127.0.0.1:1", "https://a:65535/", "https://" + strings.Repeat("a", 63) + ".b"},
	} {
		for _, value := range values {
			if _, err := readAt("github", nil, azure(input, value)); err != nil {
				t.Errorf("%s %q: %v", input, value, err)
			}
		}
	}
}

// An input that is wrong on the command line is told once, not missed as well.
func TestReadAzureFlagsThatAreWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   map[string]string
		args []string
		want string
	}{
		{azure(), []string{"--auth=github", "--auth=azure-cli"}, "auth: is given twice"},
		{azure(), []string{"--cluster-id=" + resource, "--cluster-id=" + resource}, "cluster-id: is given twice"},
		{azure("client-id", ""), []string{"--client-id"}, "client-id: has no value; a value that is itself the name of a flag is given as --client-id=value"},
		{azure("resource-group", ""), []string{"--resource-group"}, "resource-group: has no value; a value that is itself the name of a flag is given as --resource-group=value"},
		{with(good(), "kubeconfig", "", "cluster-id", resource), []string{"--client-id"}, "client-id: has no value; a value that is itself the name of a flag is given as --client-id=value"},
	} {
		_, err := readAt("github", nil, c.in, c.args...)
		if err == nil || err.Error() != "config-invalid: "+c.want {
			t.Errorf("%q: have %v, want %s", c.args, err, c.want)
		}
	}
}

func TestReadAzureTellsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	_, err := readAt("azure-pipelines", nil, with(good(), "kubeconfig", "", "environment", "AzureChinaCloud", "admin", "1", "tenant-id", "a"))
	want := "config-invalid: 5 things are wrong with the inputs:\n" +
		"client-id: is missing: since environment is given, Azure is asked for the cluster, and auth azure-pipelines (the default here) signs in with it; " +
		"the environment variable AZURESUBSCRIPTION_CLIENT_ID is not set either. Run it in an AzureCLI@2 task with azureSubscription, which sets the variable (docs/federation.md has a pipeline), or give the client id of the identity that the service connection has\n" +
		"cluster-id: is missing: since environment is given, Azure is asked for the cluster, by it or by resource-group and cluster-name\n" +
		"service-connection: is missing: since environment is given, Azure is asked for the cluster, and auth azure-pipelines (the default here) signs in with it; " +
		"the environment variable AZURESUBSCRIPTION_SERVICE_CONNECTION_ID is not set either. Run it in an AzureCLI@2 task with azureSubscription, which sets the variable (docs/federation.md has a pipeline), or give the resourceId in the address of the service connection's page\n" +
		"admin: is a value of 1 bytes; want true, false or nothing\n" +
		"tenant-id: is not a GUID: it has 1 bytes, want 8-4-4-4-12 hexadecimal digits. It is what az account show --query tenantId prints; a domain name will not do"
	if err == nil {
		t.Fatal("was accepted")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +have)\n%s", diff)
	}
}
