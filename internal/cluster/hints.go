package cluster

import (
	"net/http"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// hints tell people what they can do, which depends on where the settings of a
// connection are from. "" is no hint.
type hints interface {
	// connection is for one that could not be had: the rest of a sentence that has
	// said what became of it.
	connection(network.Cause) string
	// denied is what can be done about what the API server refuses, HTTP 401 or
	// 403: a sentence of its own.
	denied(call call, code int) string
}

func (c *Client) hints() hints {
	if c.origin == nil {
		return givenKubeconfig{c}
	}
	return c.origin
}

// isPrivate recognizes the names that AKS gives to API servers in private DNS
// zones: privatelink.REGION.azmk8s.io, private.REGION.azmk8s.io and those below.
// https://learn.microsoft.com/azure/aks/private-clusters#configure-private-dns-zone
func isPrivate(host string) bool {
	return strings.Contains(host, ".privatelink.") || strings.Contains(host, ".private.")
}

// isAKS recognizes the names of AKS.
func isAKS(host string) bool { return strings.HasSuffix(host, ".azmk8s.io") }

// throughProxy is the hint on a cause at a proxy that is given in these settings;
// exempt goes round it for a host.
func throughProxy(cause network.Cause, settings, host, exempt string) string {
	exempt += " where no proxy is needed"
	switch cause.Kind {
	case network.NoSuchHost, network.LookupFailed, network.ConnectionRefused, network.NoRoute, network.TimedOut:
		return "check " + settings + ", and that this runner reaches the proxy"
	case network.ProxyRefused:
		switch {
		case cause.Status == http.StatusProxyAuthRequired:
			return "put a user and password that the proxy accepts into " + settings + ", or " + host + exempt
		case cause.Status/100 == 5:
			return "the proxy cannot reach the API server: let it, or put " + host + exempt
		}
		return "have the proxy allow connections to " + host + ", or put the name" + exempt
	case network.WrongHost, network.ExpiredCertificate, network.UntrustedCertificate, network.NotTLS, network.HandshakeRefused, network.ClientCertificateRefused:
		// net/http has one set of CAs for both.
		return "a proxy that is spoken to over TLS is held to the cluster's CA too: give " + settings + " as http://HOST:PORT"
	}
	return ""
}

// givenKubeconfig has the hints on a kubeconfig that the user gave and can
// correct.
type givenKubeconfig struct{ client *Client }

func (g givenKubeconfig) host() string { return g.client.base.Hostname() }

func (g givenKubeconfig) connection(cause network.Cause) string {
	if cause.Proxy {
		// NO_PROXY does not count for a proxy of the kubeconfig.
		return throughProxy(cause, "HTTPS_PROXY or the kubeconfig's proxy-url", g.host(), " into NO_PROXY, or take proxy-url out,")
	}
	switch cause.Kind {
	case network.NoSuchHost:
		return g.unresolved()
	case network.LookupFailed:
		return "check this runner's name servers, and run again"
	case network.ConnectionRefused:
		return "check the server's host and port in the kubeconfig, and that the cluster runs"
	case network.NoRoute:
		return "check that this runner's network leads to the cluster's"
	case network.TimedOut:
		return g.unanswered(cause)
	case network.WrongHost:
		return "the server is not the one that the kubeconfig names; check server and tls-server-name"
	case network.ExpiredCertificate:
		return "check the clock of this machine, or have the cluster's certificates rotated"
	case network.UntrustedCertificate:
		return "check that the kubeconfig's certificate-authority-data is this cluster's, and that no proxy opens the connection"
	case network.NotTLS, network.HandshakeRefused:
		return "check the server's host and port in the kubeconfig"
	case network.ClientCertificateRefused:
		return "get a new kubeconfig"
	}
	return ""
}

func (g givenKubeconfig) unresolved() string {
	switch {
	case isPrivate(g.host()):
		return "the API server's name is private: run this on a runner inside the cluster's virtual network, or in one that its private DNS zone is linked to"
	case isAKS(g.host()):
		return "the cluster is private, stopped or deleted: a private one needs a runner inside its virtual network, a stopped one has to be started (az aks start)"
	}
	return "check the server in the kubeconfig, and that its name resolves from this runner's network"
}

func (g givenKubeconfig) unanswered(cause network.Cause) string {
	switch {
	case cause.Address.IsPrivate():
		return "the address is private: run this on a runner inside that network"
	case isAKS(g.host()) && cause.Dialing:
		return "if the cluster has authorized IP ranges, this runner's address must be among them"
	}
	return "check that no firewall or proxy on the way keeps this runner from the API server"
}

// denied has nothing to add to what the engine says of any refusal.
func (givenKubeconfig) denied(call, int) string { return "" }
