package azure

import (
	"errors"
	"fmt"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// unanswered tells why a request for a token got no answer.
func (l *login) unanswered(doing string, t *trail) error {
	what, fix, temporary := connecting(t.host, t.err)
	f := failure.New(failure.CredentialFailed, "%s: %s", doing, what).WithFix("%s", fix)
	return &tokenError{failure: f, temporary: temporary}
}

// unansweredCall tells why a call to Azure Resource Manager got no answer.
func (l *login) unansweredCall(doing string, t *trail) error {
	what, fix, _ := connecting(t.host, t.err)
	return failure.New(failure.ClusterUnreachable, "%s: %s", doing, what).WithFix("%s", fix)
}

// connecting tells what became of a connection to a host, what can be done, and
// whether it may pass by itself.
func connecting(host string, err error) (what, fix string, temporary bool) {
	cause := network.CauseOf(err)
	what = fmt.Sprintf("no answer from %s: %v", host, err)
	if errors.Is(err, errLimit) {
		what = fmt.Sprintf("no answer from %s in time", host)
	}
	switch cause.Kind {
	case network.NoSuchHost:
		if cause.Proxy {
			return what, "Check HTTPS_PROXY", false
		}
		return what, "Check authority-host, resource-manager-endpoint and environment, and that this runner's network resolves the name", false
	case network.ProxyAddress:
		return what, "Correct HTTPS_PROXY", false
	case network.ProxyRefused:
		return what, "HTTPS_PROXY needs a user and password that the proxy takes, and the proxy has to allow " + host + "; NO_PROXY takes a host out", cause.Status/100 == 5
	case network.WrongHost, network.UntrustedCertificate:
		fix = "Something on the way may open the connection: give its CA in the file that SSL_CERT_FILE names"
		if cause.Issuer != "" {
			fix = fmt.Sprintf("The certificate is from %q: if that is your network's own, give its CA in the file that SSL_CERT_FILE names", cause.Issuer)
		}
		return what, fix, false
	case network.ExpiredCertificate:
		return what, "Check the clock of this runner", false
	case network.NotTLS, network.HandshakeRefused, network.ClientCertificateRefused:
		return what, "Check host and port, and HTTPS_PROXY", false
	case network.TooLarge:
		return what, "Check whether a proxy answers in the place of " + host, false
	}
	return what, "It was tried several times. Check that this runner's network, firewall and proxy let it reach " + host, true
}
