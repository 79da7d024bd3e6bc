package network

// Advice says, as a sentence without its end, what can be done on this machine about a
// service on the internet that gave no answer, by the name or address it was asked at.
// What is about the service and how it was named is the adapters' own to tell.
func (c Cause) Advice(asked string) string {
	switch c.Kind {
	case NoSuchHost, LookupFailed:
		if c.Proxy {
			return "Check HTTPS_PROXY, and this runner's name servers"
		}
		return "Check that names on the internet resolve on this runner, or set HTTPS_PROXY where only a proxy gets there"
	case ProxyAddress:
		return "Correct HTTPS_PROXY"
	case ProxyRefused:
		return "Have the proxy (HTTPS_PROXY) allow connections to " + asked + ", or take it out with NO_PROXY"
	case ExpiredCertificate:
		return "Check the clock of this runner"
	case UntrustedCertificate:
		return "Something on the way may open the connection. If that is your own network's doing, name the file with its CA in SSL_CERT_FILE"
	case WrongHost, NotTLS, HandshakeRefused, ClientCertificateRefused:
		return "Check HTTPS_PROXY, and whether something on the way answers in the place of " + asked
	}
	if c.Proxy {
		return "Check that the proxy (HTTPS_PROXY) works and can be reached from this runner"
	}
	return "Check that this runner's network lets it reach " + asked
}
