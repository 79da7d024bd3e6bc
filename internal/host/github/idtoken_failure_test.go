package github

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// Connections that cannot be had, each told with what can be done about it.
func TestServiceThatCannotBeReached(t *testing.T) {
	t.Parallel()
	inProxy := func(err error) error { return &net.OpError{Op: "proxyconnect", Net: "tcp", Err: err} }
	certificate := &tls.CertificateVerificationError{
		Err:                    x509.UnknownAuthorityError{},
		UnverifiedCertificates: []*x509.Certificate{{Issuer: pkix.Name{CommonName: "Corp\x1b[31m Proxy"}}},
	}
	for _, test := range []struct {
		err   error
		again bool
		want  string
	}{
		{&net.DNSError{Err: "no such host", Name: "token.example", IsNotFound: true}, false,
			"lookup token.example: no such host. Check that names on the internet resolve on this runner, or set HTTPS_PROXY where only a proxy gets there"},
		{inProxy(&net.DNSError{Err: "no such host", Name: "proxy.example", IsNotFound: true}), false,
			"proxyconnect tcp: lookup proxy.example: no such host. Check HTTPS_PROXY: the proxy's name does not exist"},
		{network.ErrProxyAddress, false,
			network.ErrProxyAddress.Error() + ". Correct HTTPS_PROXY"},
		{&network.ProxyError{Status: 407}, false,
			"the proxy answered Proxy Authentication Required when asked for a connection. HTTPS_PROXY needs a user and password that the proxy accepts"},
		{&network.ProxyError{Status: 403}, false,
			"the proxy answered Forbidden when asked for a connection. Have the proxy (HTTPS_PROXY) allow connections to token.example, or take it out with NO_PROXY"},
		{&network.ProxyError{Status: 502}, true,
			"the proxy answered Bad Gateway when asked for a connection. Have the proxy (HTTPS_PROXY) allow connections to token.example, or take it out with NO_PROXY"},
		{inProxy(syscall.ECONNREFUSED), true,
			"proxyconnect tcp: connection refused. Check that the proxy (HTTPS_PROXY) works and can be reached from this runner"},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Cert: &x509.Certificate{}, Reason: x509.Expired}}, false,
			"tls: failed to verify certificate: x509: certificate has expired or is not yet valid: . Check the clock of this runner"},
		{certificate, false,
			"tls: failed to verify certificate: x509: certificate signed by unknown authority. Something on the way may open the connection. " +
				"If that is your own network's doing, name the file with its CA in SSL_CERT_FILE; the certificate is from \"CN=Corp\\\\x1b[31m Proxy\""},
		{http.ErrSchemeMismatch, false,
			"http: server gave HTTP response to HTTPS client. Check HTTPS_PROXY, and whether something on the way answers in the place of token.example"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}, true,
			"dial tcp: connection refused. Check that this runner's network lets it reach token.example on port 443"},
	} {
		err := unanswered("token.example", test.err)
		if have := strings.TrimPrefix(err.Error(), "credential-failed: could not get an id token of this job: "); have != test.want {
			t.Errorf("got  %s\nwant %s", have, test.want)
		}
		if _, again := errors.AsType[*temporaryError](err); again != test.again {
			t.Errorf("%v is tried again: %t", err, again)
		}
	}
	// One of them for real: a service that this runner has no reason to trust.
	s := serve(t, nil)
	h, _ := s.job(t, "/")
	h.idTokens.client = network.NewClient(network.ClientOptions{})
	_, err := h.IDToken(t.Context(), "a")
	if err == nil || !strings.Contains(err.Error(), `SSL_CERT_FILE; the certificate is from "O=Acme Co"`) || len(s.asked()) > 0 {
		t.Errorf("%v, asked %q", err, s.asked())
	}
}
