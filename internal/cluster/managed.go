package cluster

import (
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"strings"

	"k8s.io/client-go/rest"

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

func (managed) proxy() string {
	return "HTTPS_PROXY needs a user and password that it accepts, or NO_PROXY the API server's name where no proxy is needed"
}

func (managed) lookup() string { return "check HTTPS_PROXY: the proxy's name does not exist" }

func (m managed) untrusted(cause network.Cause) string {
	host := m.client.base.Hostname()
	switch cause.Kind {
	case network.WrongHost:
		return "another server answers in the API server's place; check HTTPS_PROXY, and what " + host + " resolves to on this runner"
	case network.ExpiredCertificate:
		return "check the clock of this runner; if it is right, the cluster's certificates have to be rotated: az aks rotate-certs" + m.arguments()
	case network.UntrustedCertificate:
		hint := "the certificate is not from the cluster's own authority, which is the only one that counts here, whatever SSL_CERT_FILE says: have the proxy leave connections to " +
			host + " unopened, or add the name to NO_PROXY"
		if issuer := m.client.clean(cause.Issuer, maxForeign); issuer != "" {
			hint += fmt.Sprintf(" (the certificate is from %q)", issuer)
		}
		return hint
	case network.NotTLS:
		return "something that does not speak TLS answers in the API server's place; check HTTPS_PROXY, and what " + host + " resolves to on this runner"
	case network.ClientCertificateRefused:
		if m.User != "" {
			return "the API server, or something in its place, asks for a client certificate, and a token of Entra is what AKS takes; check HTTPS_PROXY"
		}
		return "the API server does not accept the client certificate that Azure Resource Manager handed out: run again, in case the cluster's certificates are being rotated"
	}
	return ""
}

func (m managed) unresolved(host string) string {
	if isPrivate(host) {
		return "the API server's name is private: run this on a runner inside the cluster's virtual network, or in one that its private DNS zone is linked to; " +
			"where the cluster has a public name as well, use-private-fqdn: false takes that one; " +
			"to look by hand from elsewhere: " + m.lookByHand()
	}
	return "AKS says that this is the API server's name: the cluster is being created, started or deleted (" + m.show("powerState") + "), or this runner's name server does not resolve names on the internet"
}

func (m managed) unanswered(host string, address netip.Addr) string {
	switch {
	case address.IsPrivate() && !isPrivate(host):
		return "the public name of a private cluster stands for a private address: run this on a runner inside the cluster's virtual network, or in one that is connected to it; " +
			"to look by hand from elsewhere: " + m.lookByHand()
	case address.IsPrivate():
		return "the address is private: run this on a runner inside the cluster's virtual network, or in one that is connected to it; " +
			"to look by hand from elsewhere: " + m.lookByHand()
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

// lookByHand is the command that reaches a private cluster by way of Azure.
// https://learn.microsoft.com/azure/aks/access-private-cluster
func (m managed) lookByHand() string {
	return "az aks command invoke" + m.arguments() + ` --command "kubectl get jobs --namespace NAMESPACE"`
}

func (m managed) show(query string) string {
	return "az aks show" + m.arguments() + " --query " + query
}

func (m managed) arguments() string {
	return " --resource-group " + argument(m.ResourceGroup) + " --name " + argument(m.Name)
}

var plainArgument = regexp.MustCompile(`^[\w.-]+$`)

// argument returns a text as a shell takes it for one argument.
func argument(text string) string {
	if plainArgument.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
