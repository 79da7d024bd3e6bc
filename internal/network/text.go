package network

import (
	"fmt"
	"net/http"
	"strings"
)

// Text says what became of a connection to host, a name or address with or without
// a port, as the part of a sentence: "HOST refused the connection". It is one line
// without anything that the peer wrote, and never has the address of a proxy. It is
// "" where the error itself is all that there is to tell.
func (c Cause) Text(host string) string {
	asked, peer := host, c.peer(host)
	switch c.Kind {
	case NoSuchHost:
		if c.Proxy {
			return "the name of the proxy does not exist"
		}
		return "the name " + c.name(host) + " does not exist"
	case LookupFailed:
		if c.Proxy {
			return "the name servers could not tell the address of the proxy"
		}
		return "the name servers could not tell the address of " + c.name(host)
	case ProxyAddress:
		return ErrProxyAddress.Error()
	case ProxyRefused:
		if c.Status == 0 {
			return "the proxy does not connect to " + asked
		}
		return fmt.Sprintf("the proxy answered %s when asked for a connection to %s", statusText(c.Status), asked)
	case WrongHost:
		return peer + " showed the certificate of another host"
	case ExpiredCertificate:
		return peer + " showed a certificate that has expired, or is not valid yet"
	case UntrustedCertificate:
		return peer + " showed a certificate that is not trusted here"
	case NotTLS:
		return peer + " does not speak TLS"
	case ClientCertificateRefused:
		return peer + " does not accept the client certificate, or wants one"
	case HandshakeRefused:
		return peer + " refused the TLS handshake"
	case ConnectionRefused:
		return peer + " refused the connection"
	case NoRoute:
		return "there is no route to " + peer
	case TimedOut:
		if c.Dialing {
			return peer + " did not take a connection in time"
		}
		return peer + " did not answer in time"
	case ConnectionLost:
		return "the connection to " + peer + " was lost before the answer had come"
	case TooLarge:
		return "the answer of " + peer + " is too large"
	}
	return ""
}

// name is what was looked up.
func (c Cause) name(host string) string {
	if c.Host != "" {
		return c.Host
	}
	return host
}

// peer is who did not do what was expected, with the address that its name stands
// for where that is known.
func (c Cause) peer(host string) string {
	switch {
	case c.Proxy:
		return "the proxy"
	case c.Address.IsValid() && !strings.Contains(host, c.Address.String()):
		return host + " (" + c.Address.String() + ")"
	}
	return host
}

// statusText is a status with its name, where it has one.
func statusText(status int) string {
	if name := http.StatusText(status); name != "" {
		return fmt.Sprintf("HTTP %d (%s)", status, name)
	}
	return fmt.Sprintf("HTTP %d", status)
}
