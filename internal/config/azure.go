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
// the context. Of what has few values, one that is malformed does not either.
// Most who give one such mean something else.
func azureWay(p *problems, v values) (chosen []string) {
	for _, in := range inputs {
		switch in.Name {
		case clientID, clusterID, resourceGroup, clusterName, auth, serviceConnection, authorityHost, resourceManager, audience:
			if v.given(in.Name) {
				chosen = append(chosen, in.Name)
			}
		case azureCloud, admin, usePrivateFQDN:
			if !p.with(in.Name) && v.given(in.Name) && !strings.EqualFold(v.text(in.Name), in.Default) {
				chosen = append(chosen, in.Name)
			}
		}
	}
	return chosen
}

// readAzure returns what the inputs say of Azure, or nil when they choose another
// way into the cluster.
func readAzure(p *problems, v values, src Source, pinned pinned) *Azure {
	a := &Azure{Environment: readCloud(p, v)}
	if yes := readBool(p, v, admin); yes != nil {
		a.Admin = *yes
	}
	a.PrivateFQDN = readBool(p, v, usePrivateFQDN)
	if len(azureWay(p, v)) == 0 {
		return nil
	}
	a.AuthorityHost = parsed(p, v, authorityHost, parseEndpoint)
	a.ResourceManager = parsed(p, v, resourceManager, parseEndpoint)
	a.Audience = parsed(p, v, audience, parseAudience)
	c := readCluster(p, v, pinned)
	a.Subscription, a.ResourceGroup, a.Cluster = c.subscription.String(), c.group, c.name
	readIdentity(p, v, src, pinned, a)
	return a
}

// readCluster returns the cluster that the inputs name.
//
// The subscription is never missing by itself: every context has one, and that
// there is none is told where the context is read.
func readCluster(p *problems, v values, pinned pinned) cluster {
	named := cluster{
		subscription: pinned.subscription,
		group:        parsed(p, v, resourceGroup, parseResourceGroup),
		name:         parsed(p, v, clusterName, parseClusterName),
	}
	switch {
	case p.with(clusterID):
		return named
	case v.given(clusterID):
		whole := parsed(p, v, clusterID, parseClusterID)
		if p.with(clusterID) {
			return named
		}
		return agreedCluster(p, v, pinned, whole, named)
	case !v.given(resourceGroup) && !v.given(clusterName) && !p.with(resourceGroup) && !p.with(clusterName):
		p.add(clusterID, "is missing: Azure is asked for the cluster by it, or by %s and %s", resourceGroup, clusterName)
	default:
		for _, input := range []string{resourceGroup, clusterName} {
			if !v.given(input) && !p.with(input) {
				p.add(input, "is missing: without %s, Azure is asked for the cluster by %s and %s", clusterID, resourceGroup, clusterName)
			}
		}
	}
	return named
}

// agreedCluster makes sure that a cluster's id and what is given beside it are
// about one cluster, and returns it.
func agreedCluster(p *problems, v values, pinned pinned, whole, named cluster) cluster {
	if named.subscription != (contract.GUID{}) && named.subscription != whole.subscription {
		p.add(clusterID, "is in subscription %s, but %s is %s; they must be the same", whole.subscription,
			pinned.place(v, subscriptionID, "subscription_id"), named.subscription)
	}
	for _, part := range []struct{ input, what, whole, named string }{
		{resourceGroup, "is in resource group", whole.group, named.group},
		{clusterName, "is of cluster", whole.name, named.name},
	} {
		if part.named != "" && !strings.EqualFold(part.whole, part.named) {
			p.add(clusterID, "%s %s, but %s is %s; they must be the same", part.what, part.whole, part.input, part.named)
		}
	}
	return whole
}

// readCloud returns the Azure cloud. The input's name is that of what people
// call the environment of a Job, of a GitHub deployment, and of Azure.
func readCloud(p *problems, v values) string {
	text := v.text(azureCloud)
	if i := slices.IndexFunc(clouds, func(cloud string) bool { return strings.EqualFold(cloud, text) }); i >= 0 {
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
	p.add(input, "is %s; want true or false", plainly(text))
	return nil
}
