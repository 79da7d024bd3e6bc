package azure

import (
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerservice/armcontainerservice/v8"

	"github.com/aks-oneshot/aks-oneshot/internal/escape"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// judge decides from both calls whether there is a cluster to talk to.
func (l *login) judge(read, listed error, p *armcontainerservice.ManagedClusterProperties) error {
	state, power := provisioning(p)
	c := l.options.Cluster
	switch {
	case state == "Deleting":
		return l.gone("it is being deleted").WithFix("Check cluster-name: az aks list --subscription %s --output table", escape.Shell(c.Subscription))
	case power == armcontainerservice.CodeStopped:
		return l.gone("it is stopped, and has no API server").WithFix("Start it: az aks start %s", c.flags())
	case l.options.Admin && p != nil && p.DisableLocalAccounts != nil && *p.DisableLocalAccounts:
		return failure.New(failure.CredentialFailed, "getting the administrator credential of AKS cluster %s: its local accounts are disabled", c).
			At("admin").WithFix(fixAdmin)
	case state == "Failed" && failure.CodeOf(listed) == failure.ClusterUnreachable:
		return failure.New(failure.ClusterUnreachable, "%s; the cluster is in the state Failed: its last change did not succeed", text(listed)).WithFix("%s", fixFailed(c))
	case listed != nil:
		return listed
	}
	if read != nil {
		l.tell("the cluster's properties could not be read, so that less can be explained: %s", text(read))
	}
	if state == "Failed" {
		l.tell("AKS cluster %s is in the state Failed: its last change did not succeed. Its API server may work all the same, and is asked. %s", c.Name, fixFailed(c))
	}
	return nil
}

func (l *login) gone(format string, args ...any) *failure.Error {
	args = append([]any{l.options.Cluster}, args...)
	return failure.New(failure.ClusterUnreachable, "connecting to AKS cluster %s: "+format, args...)
}

func fixFailed(c Cluster) string {
	return "See why: az aks show " + c.flags() + " --query status; az aks update " + c.flags() + " tries the last change again"
}

// flags name the cluster to az.
func (c Cluster) flags() string {
	return "--subscription " + escape.Shell(c.Subscription) + " --resource-group " + escape.Shell(c.ResourceGroup) + " --name " + escape.Shell(c.Name)
}

// String names the cluster to people.
func (c Cluster) String() string {
	return c.Name + " in resource group " + c.ResourceGroup
}

func provisioning(p *armcontainerservice.ManagedClusterProperties) (state string, power armcontainerservice.Code) {
	if p == nil {
		return "", ""
	}
	if p.ProvisioningState != nil {
		state = *p.ProvisioningState
	}
	if p.PowerState != nil && p.PowerState.Code != nil {
		power = *p.PowerState.Code
	}
	return state, power
}

// unusable tells of a kubeconfig that Azure handed out and that is not taken.
func (l *login) unusable(err error) error {
	return failure.New(failure.CredentialFailed, "using the kubeconfig that Azure Resource Manager handed out for AKS cluster %s: %s",
		l.options.Cluster, l.clean(text(err), maxText)).
		WithFix("Compare it with what az aks get-credentials %s --file - shows; give a kubeconfig of your own if it is right", l.options.Cluster.flags())
}
