package azure

import (
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerservice/armcontainerservice/v8"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// judge decides from both calls whether there is a cluster to talk to.
func (l *login) judge(read, listed error, p *armcontainerservice.ManagedClusterProperties) error {
	var token *tokenError
	if errors.As(listed, &token) || errors.As(read, &token) {
		return token
	}
	state, power := provisioning(p)
	c := l.options.Cluster
	switch {
	case state == "Deleting":
		return l.gone("is being deleted").WithFix("Check cluster-name; az aks list --subscription %s --output table shows what is there", c.Subscription)
	case power == armcontainerservice.CodeStopped:
		return l.gone("is stopped, and has no API server").
			WithFix("Start it: az aks start --subscription %s --resource-group %s --name %s", c.Subscription, shell(c.ResourceGroup), shell(c.Name))
	case l.options.Admin && p != nil && p.DisableLocalAccounts != nil && *p.DisableLocalAccounts:
		return failure.New(failure.CredentialFailed, "getting the administrator credential of AKS cluster %s in resource group %s: its local accounts are disabled",
			c.Name, c.ResourceGroup).At("admin").WithFix("%s", fixAdmin)
	case listed != nil && state == "Failed":
		return l.gone("is in the state Failed, and its credential could not be had (%w)", listed).WithFix("%s", l.fixFailed())
	case listed != nil:
		return listed
	}
	if read != nil {
		l.tell("the cluster itself could not be read, which only explains less: %s", text(read))
	}
	if state == "Failed" {
		l.tell("AKS cluster %s is in the state Failed: its last change did not succeed. Its API server may work all the same, and is asked. %s", c.Name, l.fixFailed())
	}
	return nil
}

func (l *login) gone(format string, args ...any) *failure.Error {
	c := l.options.Cluster
	args = append([]any{c.Name, c.ResourceGroup, c.Subscription}, args...)
	return failure.New(failure.ClusterUnreachable, "AKS cluster %s in resource group %s of subscription %s "+format, args...)
}

func (l *login) fixFailed() string {
	c := l.options.Cluster
	return "See why: az aks show --subscription " + c.Subscription + " --resource-group " + shell(c.ResourceGroup) + " --name " + shell(c.Name) +
		" --query status; az aks update with the same names tries the last change again"
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

// text is an error without its code, to be part of a sentence.
func text(err error) string {
	var f *failure.Error
	if errors.As(err, &f) {
		return f.Message
	}
	return err.Error()
}
