package network

// Kind is one of the reasons for which a request gets no answer. Its value is for
// logs and tests.
type Kind string

// The kinds.
const (
	// Unknown is anything that is none of the others.
	Unknown Kind = ""
	// AddressRefused is an address that is not asked at all, [*AddressError].
	AddressRefused Kind = "address refused"
	// NoSuchHost is a name that the name servers say does not exist.
	NoSuchHost Kind = "no such host"
	// ProxyAddress is [ErrProxyAddress].
	ProxyAddress Kind = "proxy address"
	// ProxyRefused is a [*ProxyError], or a SOCKS proxy's refusal. Those with a
	// status of 5xx may pass.
	ProxyRefused Kind = "proxy refused"
	// WrongHost is a certificate that is another host's.
	WrongHost Kind = "wrong host"
	// ExpiredCertificate is one that is no longer, or not yet, valid.
	ExpiredCertificate Kind = "expired certificate"
	// UntrustedCertificate is one that cannot be verified for any other reason.
	UntrustedCertificate Kind = "untrusted certificate"
	// NotTLS is a peer that speaks something else.
	NotTLS Kind = "not TLS"
	// ClientCertificateRefused is the peer's word on the certificate it was shown,
	// or was not shown.
	ClientCertificateRefused Kind = "client certificate refused"
	// HandshakeRefused is any other alert of the peer's: no common version of
	// TLS, a name that it does not serve.
	HandshakeRefused Kind = "handshake refused"

	// LookupFailed is a name that the name servers could not tell about.
	LookupFailed Kind = "lookup failed"
	// ConnectionRefused is a port on which nobody listens.
	ConnectionRefused Kind = "connection refused"
	// NoRoute is a host or network that cannot be reached from here.
	NoRoute Kind = "no route"
	// TimedOut is a peer that did not answer in time, at whichever stage.
	TimedOut Kind = "timed out"
	// ConnectionLost is a connection that ended before the answer did.
	ConnectionLost Kind = "connection lost"
	// TooLarge is an answer of which more came than is taken, [*TooLargeError].
	TooLarge Kind = "too large"
)
