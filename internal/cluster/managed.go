package cluster

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/internal/escape"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// Managed is an AKS cluster whose connection Azure Resource Manager handed out.
// All that is told of it may be shown to people.
type Managed struct {
	// ID is the cluster's in Azure Resource Manager; ResourceGroup and Name are
	// parts of it.
	ID, ResourceGroup, Name string
	// User is who asks, by a token of Entra's; "" where a credential of the
	// cluster's own does.
	User string
	// AzureRBAC says that roles of Azure count in the cluster, beside its own.
	AzureRBAC bool
}

// WithManaged has errors say what can be done about a cluster of AKS. By default
// they speak of a kubeconfig that the user gave.
func WithManaged(m Managed) Option {
	return func(c *Client, _ *rest.Config) { c.origin = managed{m, c} }
}

// managed has the hints on such a cluster. Nobody can correct its kubeconfig.
type managed struct {
	Managed
	// client hides its credentials in what a server says of itself.
	client *Client
}

func (m managed) connection(cause network.Cause) string {
	host := m.client.base.Hostname()
	if cause.Proxy {
		return throughProxy(cause, "HTTPS_PROXY", host, " into NO_PROXY")
	}
	inPlace := "something else answers in the API server's place; check HTTPS_PROXY, and what " + host + " resolves to on this runner"
	switch cause.Kind {
	case network.NoSuchHost:
		return m.unresolved(host)
	case network.LookupFailed:
		if isPrivate(host) {
			return "the API server's name is private: this runner's name servers have to know its private DNS zone; check them, and run again"
		}
		return "check this runner's name servers, and run again"
	case network.ConnectionRefused:
		return "the cluster is being started, stopped or updated (" + m.show("powerState") + "), or a firewall refuses in its place; run again"
	case network.NoRoute, network.TimedOut:
		return m.unanswered(host, cause)
	case network.WrongHost, network.NotTLS, network.HandshakeRefused:
		return inPlace + m.issuer(cause)
	case network.ExpiredCertificate:
		return "check the clock of this runner; if it is right, the cluster's certificates have to be rotated (az aks rotate-certs" + m.arguments() + ")"
	case network.UntrustedCertificate:
		return "the certificate is not from the cluster's own authority, which is the only one that counts here, whatever SSL_CERT_FILE says: have the proxy leave connections to " +
			host + " unopened, or add the name to NO_PROXY" + m.issuer(cause)
	case network.ClientCertificateRefused:
		if m.User != "" {
			return "a token of Entra is what AKS takes, so something else may answer in its place; check HTTPS_PROXY"
		}
		return "it is the one that Azure Resource Manager handed out: run again, in case the cluster's certificates are being rotated"
	}
	return ""
}

// issuer tells whose certificate it was that was not taken.
func (m managed) issuer(cause network.Cause) string {
	issuer := m.client.clean(cause.Issuer, maxForeign)
	if issuer == "" {
		return ""
	}
	return fmt.Sprintf(" (the certificate is from %q)", issuer)
}

func (m managed) unresolved(host string) string {
	if isPrivate(host) {
		return "the API server's name is private: run this on a runner inside the cluster's virtual network, or in one that its private DNS zone is linked to; " +
			"where the cluster has a public name as well, use-private-fqdn: false takes that one" + m.lookByHand()
	}
	return "AKS says that this is the API server's name: the cluster is being created or started, or is stopped or deleted (" + m.show("powerState") + "), or this runner's name server does not resolve names on the internet"
}

func (m managed) unanswered(host string, cause network.Cause) string {
	private := cause.Address.IsPrivate()
	inside := "run this on a runner inside the cluster's virtual network, or in one that is connected to it" + m.lookByHand()
	switch {
	case private && !isPrivate(host):
		return "the public name of a private cluster stands for a private address: " + inside
	case private:
		return "the address is private: " + inside
	case !cause.Dialing:
		return "check that no firewall or proxy on the way keeps this runner from the API server"
	}
	return "if the cluster has authorized IP ranges, this runner's address must be among them (" + m.show("apiServerAccessProfile.authorizedIpRanges") + ")"
}

func (m managed) denied(call call, code int) string {
	switch {
	case m.User == "" && code == http.StatusUnauthorized:
		return "The API server does not accept the credential that Azure Resource Manager handed out: run again, in case the cluster's certificates are being rotated"
	case m.User == "":
		return ""
	case code == http.StatusUnauthorized:
		return "The API server does not accept the Entra token of user " + m.User + ": the cluster takes tokens of another tenant than tenant-id, or none of Entra at all (" +
			m.show("aadProfile") + "), or the clock of this runner is wrong"
	}
	hint := fmt.Sprintf("The API server knows this run as the user %s of Entra: in namespace %s, bind a Role that allows %s on %s to it (kind User)", m.User, call.namespace, call.verb, call.resource)
	if m.AzureRBAC {
		hint += `, or assign it the role "Azure Kubernetes Service RBAC Writer" on ` + m.ID + "/namespaces/" + call.namespace
	}
	return hint
}

// lookByHand has the command that reaches a private cluster by way of Azure.
// https://learn.microsoft.com/azure/aks/access-private-cluster
func (m managed) lookByHand() string {
	return " (to look by hand from elsewhere: az aks command invoke" + m.arguments() + ` --command "kubectl get jobs --namespace NAMESPACE")`
}

func (m managed) show(query string) string {
	return "az aks show" + m.arguments() + " --query " + query
}

func (m managed) arguments() string {
	text := " --resource-group " + escape.Shell(m.ResourceGroup) + " --name " + escape.Shell(m.Name)
	if subscription := m.subscription(); subscription != "" {
		return " --subscription " + escape.Shell(subscription) + text
	}
	return text
}

// subscription is the one that the cluster is in, which need not be the one that az
// takes by default.
// https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
func (m managed) subscription() string {
	parts := strings.Split(m.ID, "/")
	if len(parts) > 2 && strings.EqualFold(parts[1], "subscriptions") {
		return parts[2]
	}
	return ""
}
