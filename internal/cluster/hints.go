package cluster

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// hints tell people what they can do about a connection, which depends on where
// its settings are from. "" is no hint.
type hints interface {
	// proxy is for a proxy that wants to know who asks.
	proxy() string
	// lookup is for the proxy's name that does not resolve.
	lookup() string
	// untrusted is for one side that does not trust the other's certificate, which
	// no repetition mends.
	untrusted(network.Cause) string
	// unresolved is for the server's name that does not resolve.
	unresolved(host string) string
	// unanswered is for an address that does not answer.
	unanswered(host string, address netip.Addr) string
	// denied is what can be done about what the API server refuses, HTTP 401 or
	// 403: a sentence of its own.
	denied(call call, code int) string
}

func (c *Client) hints() hints {
	if c.origin == nil {
		return givenKubeconfig{}
	}
	return c.origin
}

func hinted(err error, hint string) error {
	if hint == "" {
		return err
	}
	return fmt.Errorf("%w; %s", err, hint)
}

// proxyRefused explains a proxy that does not make the connection.
func (c *Client) proxyRefused(cause network.Cause, err error) error {
	if cause.Status == 0 {
		return err
	}
	err = fmt.Errorf("%w to the API server", err)
	if cause.Status == http.StatusProxyAuthRequired {
		return hinted(err, c.hints().proxy())
	}
	return err
}

// unresolved returns the hint on a name that does not resolve.
func (c *Client) unresolved(cause network.Cause) string {
	if host := c.base.Hostname(); strings.EqualFold(cause.Host, host) {
		return c.hints().unresolved(host)
	}
	return c.hints().lookup()
}

// isPrivate recognizes the names that AKS gives to API servers in private DNS
// zones: privatelink.REGION.azmk8s.io, private.REGION.azmk8s.io and those below.
// https://learn.microsoft.com/azure/aks/private-clusters#configure-private-dns-zone
func isPrivate(host string) bool {
	return strings.Contains(host, ".privatelink.") || strings.Contains(host, ".private.")
}

// givenKubeconfig has the hints on a kubeconfig that the user gave and can
// correct.
type givenKubeconfig struct{}

func (givenKubeconfig) proxy() string {
	return "HTTPS_PROXY or the kubeconfig's proxy-url needs a user and password that it accepts"
}

func (givenKubeconfig) lookup() string { return "check HTTPS_PROXY or the kubeconfig's proxy-url" }

func (givenKubeconfig) untrusted(cause network.Cause) string {
	switch cause.Kind {
	case network.WrongHost:
		return "the server is not the one that the kubeconfig names; check server and tls-server-name"
	case network.ExpiredCertificate:
		return "check the clock of this machine, or have the cluster's certificates rotated"
	case network.UntrustedCertificate:
		return "check that the kubeconfig's certificate-authority-data is this cluster's, and that no proxy opens the connection"
	case network.NotTLS:
		return "the server does not speak TLS; check the host and port"
	case network.ClientCertificateRefused:
		return "the server does not accept the client certificate; get a new kubeconfig"
	}
	return ""
}

func (givenKubeconfig) unresolved(host string) string {
	switch {
	case isPrivate(host):
		return "the API server's name is private: run this on a runner inside the cluster's virtual network, or in one that its private DNS zone is linked to"
	case strings.HasSuffix(host, ".azmk8s.io"):
		return "the cluster is private, stopped or deleted: a private one needs a runner inside its virtual network, a stopped one az aks start"
	}
	return "check the server in the kubeconfig, and that its name resolves from this runner's network"
}

func (givenKubeconfig) unanswered(host string, address netip.Addr) string {
	switch {
	case address.IsPrivate():
		return "the address is private: run this on a runner inside that network"
	case strings.HasSuffix(host, ".azmk8s.io"):
		return "if the cluster has authorized IP ranges, this runner's address must be among them"
	}
	return ""
}

// denied has nothing to add to what the engine says of any refusal.
func (givenKubeconfig) denied(call, int) string { return "" }
