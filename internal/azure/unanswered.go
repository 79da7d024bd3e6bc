package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// unanswered tells why a request for a token got no answer.
func (l *login) unanswered(doing string, s seen) *tokenError {
	inputs := "authority-host and environment"
	switch {
	case l.options.Auth == ManagedIdentity:
		return l.noIdentity(doing, s)
	case l.atPipelines(s.host):
		doing, inputs = l.askingPipelines(), "SYSTEM_OIDCREQUESTURI"
	}
	f := failure.New(failure.CredentialFailed, "%s: %s", doing, l.noAnswer(s)).WithFix("%s", l.fixConnection(s, inputs))
	return &tokenError{failure: f, temporary: network.CauseOf(s.err).Temporary()}
}

// unansweredCall tells why a call to Azure Resource Manager got no answer.
func (l *login) unansweredCall(doing string, s seen) error {
	return failure.New(failure.ClusterUnreachable, "%s: %s", doing, l.noAnswer(s)).
		WithFix("%s", l.fixConnection(s, "resource-manager-endpoint and environment"))
}

// noAnswer tells what became of the connection to a host.
func (l *login) noAnswer(s seen) string {
	cause := network.CauseOf(s.err)
	host := s.host
	if cause.Proxy {
		host = "the proxy of HTTPS_PROXY"
	}
	switch cause.Kind {
	case network.NoSuchHost:
		if cause.Proxy {
			return "the name of the proxy of HTTPS_PROXY does not exist"
		}
		return "the name " + host + " does not exist"
	case network.LookupFailed:
		return "the name servers could not tell the address of " + host
	case network.ProxyAddress:
		return network.ErrProxyAddress.Error()
	case network.ProxyRefused:
		if cause.Status == 0 {
			return "the proxy of HTTPS_PROXY does not connect to " + s.host
		}
		return fmt.Sprintf("the proxy of HTTPS_PROXY answered HTTP %d (%s) when asked for a connection to %s", cause.Status, http.StatusText(cause.Status), s.host)
	case network.WrongHost:
		return host + " showed the certificate of another host"
	case network.ExpiredCertificate:
		return host + " showed a certificate that has expired, or is not valid yet"
	case network.UntrustedCertificate:
		return host + " showed a certificate that is not trusted here"
	case network.NotTLS:
		return host + " does not speak TLS"
	case network.HandshakeRefused, network.ClientCertificateRefused:
		return host + " refused the TLS handshake"
	case network.ConnectionRefused:
		return host + " refused the connection"
	case network.NoRoute:
		return "there is no route to " + host
	case network.TimedOut:
		return host + " did not answer in time"
	case network.ConnectionLost:
		return "the connection to " + host + " was lost before the answer had come"
	case network.TooLarge:
		return "the answer of " + host + " is too large to be one of Azure"
	}
	if endedBy(s.err) {
		return host + " did not answer in time"
	}
	return l.clean(s.err.Error(), maxForeign)
}

// fixConnection says what to do about it; inputs are those that a host's name is
// from.
func (l *login) fixConnection(s seen, inputs string) string {
	cause := network.CauseOf(s.err)
	switch cause.Kind {
	case network.NoSuchHost:
		if cause.Proxy {
			return "Check HTTPS_PROXY"
		}
		return "Check " + inputs + ", and that this runner's network resolves the name"
	case network.ProxyAddress:
		return "Set HTTPS_PROXY to one, or unset it"
	case network.ProxyRefused:
		if cause.Status == http.StatusProxyAuthRequired {
			return "Put a user and password that the proxy accepts into HTTPS_PROXY, or " + s.host + " into NO_PROXY where no proxy is needed"
		}
		return "Have the proxy allow " + s.host + ", or put the host into NO_PROXY where no proxy is needed"
	case network.WrongHost:
		return fmt.Sprintf("Check %s, and whether something on the way answers in its place; the certificate is issued by %q", inputs, l.line(cause.Issuer, maxForeign))
	case network.UntrustedCertificate:
		return fmt.Sprintf("It is issued by %q: if that is your network's own, put its CA into the file that SSL_CERT_FILE names", l.line(cause.Issuer, maxForeign))
	case network.ExpiredCertificate:
		return "Check the clock of this runner"
	case network.NotTLS, network.HandshakeRefused, network.ClientCertificateRefused:
		return "Check " + inputs + ", and HTTPS_PROXY"
	case network.TooLarge:
		return "See whether a proxy answers in its place"
	}
	if cause.Kind == network.AddressRefused || cause.Kind == network.Unknown && !endedBy(s.err) {
		return "Check " + inputs
	}
	return "It was tried several times. Check that this runner's network, firewall and proxy let it reach " + s.host + ", and run again"
}

// endedBy reports whether an error is the end of the time that there was, for
// which a transport may return the cause of a context in place of its error.
func endedBy(err error) bool {
	for _, end := range []error{context.Canceled, errLimit, errRenewal, errPatience} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}
