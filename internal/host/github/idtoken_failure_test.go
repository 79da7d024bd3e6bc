package github

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// Connections that cannot be had, made by real servers, each told with what can be
// done about it.
func TestServiceThatCannotBeReached(t *testing.T) {
	t.Parallel()
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("asked") })
	server := func(c tls.Certificate, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		s, err := standin.NewServerWith("an impostor", c, ok)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s.URL
	}
	other, err := standin.NewAuthority("Corp\x1b[31m Proxy " + bearer)
	if err != nil {
		t.Fatal(err)
	}
	plain := httptest.NewServer(ok)
	t.Cleanup(plain.Close)
	absent, err := standin.NewNobody()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = absent.Close() })
	old := httptest.NewUnstartedServer(ok)
	certificate, err := authority().Server()
	if err != nil {
		t.Fatal(err)
	}
	old.Config.ErrorLog = log.New(io.Discard, "", 0)
	old.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	old.StartTLS()
	t.Cleanup(old.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			_, _ = io.ReadFull(conn, make([]byte, 1))
			_ = conn.Close()
		}
	}()
	refuses := func(status int) string {
		p, err := standin.NewProxy(standin.NewLedger(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		p.Refuse(status)
		return p.URL
	}
	const internet = "https://token.example"
	const checkPlace = "Check HTTPS_PROXY, and whether something on the way answers in the place of SERVICE"
	for name, test := range map[string]struct {
		service, proxy string
		again          bool
		want           string
	}{
		"no such name": {"https://token.missing", "", false,
			"the name token.missing does not exist. Check that names on the internet resolve on this runner, or set HTTPS_PROXY where only a proxy gets there"},
		"name servers that fail": {internet, "", true,
			"the name servers could not tell the address of token.example. TRIED Check that names on the internet resolve on this runner, or set HTTPS_PROXY where only a proxy gets there"},
		"a proxy without a name": {internet, "http://proxy.missing:3128", false,
			"the name of the proxy does not exist. Check HTTPS_PROXY, and this runner's name servers"},
		"a proxy without an address": {internet, "http://ci:a/" + bearer + "@proxy.example", false,
			network.ErrProxyAddress.Error() + ". Correct HTTPS_PROXY"},
		"a proxy that wants a password": {internet, refuses(407), false,
			"the proxy answered HTTP 407 (Proxy Authentication Required) when asked for a connection to SERVICE. HTTPS_PROXY needs a user and password that the proxy accepts"},
		"a proxy that forbids": {internet, refuses(403), false,
			"the proxy answered HTTP 403 (Forbidden) when asked for a connection to SERVICE. Have the proxy (HTTPS_PROXY) allow connections to SERVICE, or take it out with NO_PROXY"},
		"a proxy that fails": {internet, refuses(502), true,
			"the proxy answered HTTP 502 (Bad Gateway) when asked for a connection to SERVICE. TRIED The proxy (HTTPS_PROXY) cannot reach it: let it, or take it out with NO_PROXY"},
		"a proxy that is not there": {internet, "http://" + absent.Address, true,
			"the proxy refused the connection. TRIED Check that the proxy (HTTPS_PROXY) works and can be reached from this runner"},
		"nobody there": {"https://" + absent.Address, "", true,
			"SERVICE refused the connection. TRIED Check that this runner's network lets it reach SERVICE on port 443"},
		"a connection that is cut": {"https://" + listener.Addr().String(), "", true,
			"the connection to SERVICE was lost before the answer had come. TRIED Check that this runner's network lets it reach SERVICE on port 443"},
		"an expired certificate": {server(authority().ServerExpired()), "", false,
			"SERVICE showed a certificate that has expired, or is not valid yet. Check the clock of this runner"},
		"another host's certificate": {server(authority().ServerNamed("proxy.example")), "", false,
			"SERVICE showed the certificate of another host. " + checkPlace + `; the certificate is from "CN=GitHub"`},
		"a certificate of another authority": {server(other.Server()), "", false,
			"SERVICE showed a certificate that is not trusted here. Something on the way may open the connection. " +
				`If that is your own network's doing, name the file with its CA in SSL_CERT_FILE; the certificate is from "CN=Corp [31m Proxy ***"`},
		"no TLS":  {strings.Replace(plain.URL, "http:", "https:", 1), "", false, "SERVICE does not speak TLS. " + checkPlace},
		"old TLS": {old.URL, "", false, "SERVICE refused the TLS handshake. " + checkPlace},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, stdout := step(t, map[string]string{requestURL: test.service + "/?x=" + bearer, requestToken: bearer})
			proxy := func(*http.Request) (*url.URL, error) { return nil, nil }
			if test.proxy != "" {
				proxy = func(*http.Request) (*url.URL, error) { return url.Parse(test.proxy) }
			}
			h.idTokens = newIDTokens(network.ClientOptions{RootCAs: authority().Pool(), Proxy: proxy})
			h.idTokens.pause = time.Millisecond
			_, err := h.IDToken(t.Context(), "a")
			want := strings.ReplaceAll(strings.ReplaceAll(test.want, "SERVICE", strings.TrimPrefix(test.service, "https://")), "TRIED", "It was tried 3 times.")
			if failure.CodeOf(err) != failure.CredentialFailed || err.Error() != "credential-failed: could not get an id token of this job: "+want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if _, again := errors.AsType[*temporaryError](err); again != test.again {
				t.Errorf("%v is tried again: %t", err, again)
			}
			if strings.Contains(strings.ReplaceAll(stdout.String(), "::add-mask::"+bearer, ""), bearer) {
				t.Errorf("a secret is in the log:\n%s", stdout)
			}
		})
	}
}

// By default the system's authorities count, to which the service here is unknown.
func TestTheSystemsAuthoritiesCount(t *testing.T) {
	t.Parallel()
	if _, err := x509.SystemCertPool(); err != nil {
		t.Fatal(err)
	}
	s := serve(t, nil)
	h, _ := s.job(t, "/")
	h.idTokens = newIDTokens(network.ClientOptions{})
	_, err := h.IDToken(t.Context(), "a")
	if err == nil || !strings.Contains(err.Error(), `SSL_CERT_FILE; the certificate is from "CN=GitHub"`) || len(s.asked()) > 0 {
		t.Errorf("%v, asked %q", err, s.asked())
	}
}
