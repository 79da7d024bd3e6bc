package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// The ways of signing in to Azure, the values of the input auth.
const (
	AuthGitHub           = "github"
	AuthAzurePipelines   = "azure-pipelines"
	AuthWorkloadIdentity = "workload-identity"
	AuthManagedIdentity  = "managed-identity"
	AuthAzureCLI         = "azure-cli"
)

var auths = []string{AuthGitHub, AuthAzurePipelines, AuthWorkloadIdentity, AuthManagedIdentity, AuthAzureCLI}

// clouds are the values of the input environment, the default first.
var clouds = []string{"AzureCloud", "AzureUSGovernment", "AzureChinaCloud"}

// Azure is how to sign in to Azure, and which cluster to ask for there.
type Azure struct {
	// Auth is the way of signing in, one of the Auth constants, and AuthGiven
	// whether the user chose it.
	Auth      string
	AuthGiven bool
	// TenantID, ClientID, Subscription and ServiceConnection are GUIDs in lower
	// case. ClientID may be "" with managed-identity and azure-cli;
	// ServiceConnection is there with azure-pipelines.
	TenantID, ClientID, Subscription string
	ServiceConnection                string
	// ResourceGroup and Cluster are names, in the case in which they were given.
	ResourceGroup, Cluster string
	// Environment is AzureCloud, AzureUSGovernment or AzureChinaCloud.
	Environment string
	// AuthorityHost and ResourceManager are https://host or https://host:port,
	// without a slash at the end, or "" for those of the environment.
	AuthorityHost, ResourceManager string
	// Audience is that of the id token, "" for that of the environment.
	Audience string
	// Admin asks for the cluster's admin credential.
	Admin bool
	// PrivateFQDN says whether to connect by the private or the public name; nil
	// takes what AKS hands out.
	PrivateFQDN *bool
}

// azureWay returns the inputs that say that Azure is to be asked for the
// cluster, in their order. Tenant and subscription do not: they are members of
// the context. Nor does a malformed value where only a few words are right: who
// gives one may mean something else, as with environment.
func azureWay(p *problems, v values) (chosen []string) {
	for _, in := range inputs {
		var choice bool
		switch in.Name {
		case clientID, clusterID, resourceGroup, clusterName, auth, serviceConnection, authorityHost, resourceManager, audience:
			choice = v.given(in.Name) || p.with(in.Name)
		case azureCloud:
			choice = cloudNamed(v.text(azureCloud)) > 0
		case admin:
			choice = v.text(admin) == "true"
		case usePrivateFQDN:
			choice = v.text(usePrivateFQDN) == "true" || v.text(usePrivateFQDN) == "false"
		}
		if choice {
			chosen = append(chosen, in.Name)
		}
	}
	return chosen
}

// azureReader reads the inputs of Azure.
type azureReader struct {
	p      *problems
	v      values
	src    Source
	pinned pinned
	// way are the inputs that choose Azure.
	way []string
}

// missing records that an input is, what it is for and, if there is something to
// say, what to do. Where a kubeconfig is given, too, it does not: then one way is
// too many, and nothing too few.
func (r azureReader) missing(input, what, fix string) {
	if !r.v.given(kubeconfig) && !r.v.given(kubeconfigContent) {
		r.p.add(input, "is missing: since %s is given, Azure is asked for the cluster, %s", r.way[0], what).Fix = fix
	}
}

// read returns what the inputs say of Azure, or nil when they do not choose it.
func (r azureReader) read() *Azure {
	a := &Azure{Environment: readCloud(r.p, r.v), PrivateFQDN: readBool(r.p, r.v, usePrivateFQDN)}
	if yes := readBool(r.p, r.v, admin); yes != nil {
		a.Admin = *yes
	}
	if len(r.way) == 0 {
		return nil
	}
	a.AuthorityHost = parsed(r.p, r.v, authorityHost, parseEndpoint)
	a.ResourceManager = parsed(r.p, r.v, resourceManager, parseEndpoint)
	a.Audience = parsed(r.p, r.v, audience, parseAudience)
	c := r.cluster()
	a.Subscription, a.ResourceGroup, a.Cluster = c.subscription.String(), c.group, c.name
	r.identity(a)
	return a
}

// cluster returns the cluster that the inputs name.
//
// The subscription is never missing by itself: every context has one, and that
// there is none is told where the context is read.
func (r azureReader) cluster() cluster {
	named := cluster{
		subscription: r.pinned.subscription,
		group:        parsed(r.p, r.v, resourceGroup, parseResourceGroup),
		name:         parsed(r.p, r.v, clusterName, parseClusterName),
	}
	given := func(input string) bool { return r.v.given(input) || r.p.with(input) }
	switch {
	case given(clusterID):
		if whole := parsed(r.p, r.v, clusterID, parseClusterID); !r.p.with(clusterID) {
			return r.agreed(whole, named)
		}
	case !given(resourceGroup) && !given(clusterName):
		r.missing(clusterID, "by it or by "+resourceGroup+" and "+clusterName, "")
	default:
		for _, input := range []string{resourceGroup, clusterName} {
			if !given(input) {
				r.missing(input, "by "+resourceGroup+" and "+clusterName+" or by "+clusterID, "")
			}
		}
	}
	return named
}

// agreed makes sure that a cluster's id and what is given beside it are
// about one cluster, and returns it.
func (r azureReader) agreed(whole, named cluster) cluster {
	if named.subscription != (contract.GUID{}) && named.subscription != whole.subscription {
		r.p.add(clusterID, "is in subscription %s, but %s is %s; they must be the same", whole.subscription,
			r.pinned.place(r.v, subscriptionID, "subscription_id"), named.subscription)
	}
	for _, part := range []struct{ input, what, whole, named string }{
		{resourceGroup, "is in resource group", whole.group, named.group},
		{clusterName, "is of cluster", whole.name, named.name},
	} {
		if part.named != "" && !strings.EqualFold(part.whole, part.named) {
			r.p.add(clusterID, "%s %s, but %s is %s; they must be the same", part.what, part.whole, part.input, part.named)
		}
	}
	return whole
}

// readCloud returns the Azure cloud. The input's name is that of what people
// call the environment of a Job, of a GitHub deployment, and of Azure.
func readCloud(p *problems, v values) string {
	text := v.text(azureCloud)
	if i := cloudNamed(text); i >= 0 {
		return clouds[i]
	}
	want := "the name of the Azure cloud that the cluster is in: " + list("or", clouds)
	if strings.Contains(text, "=") || isContent(text) {
		p.add(azureCloud, "holds NAME=value or the like, and wants %s", want).
			Fix = "Environment variables of the Job go into " + jobEnvironment
		return clouds[0]
	}
	p.add(azureCloud, "is %s, and wants %s", plainly(text), want).
		Fix = fmt.Sprintf("Another cloud is given by %s and %s; environment variables of the Job go into %s", authorityHost, resourceManager, jobEnvironment)
	return clouds[0]
}

// cloudNamed returns the place of a cloud among those there are, or -1. Their
// names may be in any case, as to azure/login.
func cloudNamed(text string) int {
	return slices.IndexFunc(clouds, func(cloud string) bool { return strings.EqualFold(cloud, text) })
}

// readBool returns an input that is true or false, or nil when it has no value.
func readBool(p *problems, v values, input string) *bool {
	text := v.text(input)
	switch text {
	case "":
		return nil
	case "true", "false":
		yes := text == "true"
		return &yes
	}
	p.add(input, "is %s; want true, false or nothing", plainly(text))
	return nil
}
