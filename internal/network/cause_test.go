package network

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// trouble is a request that gets no answer, for real.
type trouble struct {
	options ClientOptions
	address string
	// change, if not nil, is made to the client's transport.
	change func(*http.Transport)
	want   Cause
	text   string
}

func TestCausesOfRealTrouble(t *testing.T) {
	t.Parallel()
	ok := func(http.ResponseWriter, *http.Request) {}
	good := serve(t, ok, nil)
	trusting := ClientOptions{RootCAs: trusted()}
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	hang := listen(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	absent := nobody(t)

	issued := func(c tls.Certificate, err error) *httptest.Server {
		if err != nil {
			t.Fatal(err)
		}
		return serve(t, ok, with(c))
	}
	other, err := standin.NewAuthority("Another Ltd")
	if err != nil {
		t.Fatal(err)
	}
	ancient := serve(t, ok, func(s *httptest.Server) { s.TLS.MaxVersion, s.TLS.MinVersion = tls.VersionTLS11, tls.VersionTLS10 })
	aborts := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, http1)
	resets := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil)
	silent := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil)
	large := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "12345") }, nil)
	cut := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "12345")
	}, http1)
	refuses := func(status int) ProxyFunc {
		p := proxy(t)
		p.Refuse(status)
		return through(t, p.URL)
	}
	socks := listen(t, func(conn net.Conn) {
		// "No acceptable methods" (RFC 1928).
		_, _ = io.ReadFull(conn, make([]byte, 3))
		_, _ = conn.Write([]byte{5, 0xff})
		_ = conn.Close()
	})
	names := nowhere(t)
	soon := func(t *http.Transport) {
		t.TLSHandshakeTimeout, t.ResponseHeaderTimeout = 50*time.Millisecond, 50*time.Millisecond
	}
	yesterday := func(t *http.Transport) {
		t.TLSClientConfig.Time = func() time.Time { return time.Now().Add(-24 * time.Hour) }
	}
	const issuer = "CN=Proxies Ltd"
	at := func(s *httptest.Server) string { return s.Listener.Addr().String() }

	for name, test := range map[string]trouble{
		"nobody listens":       {trusting, absent, nil, Cause{Kind: ConnectionRefused, Dialing: true, Address: loopback}, "PEER refused the connection"},
		"no such name":         {trusting, "nowhere.missing", nil, Cause{Kind: NoSuchHost, Dialing: true, Host: "nowhere.missing"}, "the name nowhere.missing does not exist"},
		"name servers fail":    {trusting, "nowhere.example", nil, Cause{Kind: LookupFailed, Dialing: true, Host: "nowhere.example"}, "the name servers could not tell the address of nowhere.example"},
		"another host":         {trusting, at(issued(authority().ServerNamed("a.example"))), nil, Cause{Kind: WrongHost, Host: "127.0.0.1", Issuer: issuer}, "PEER showed the certificate of another host"},
		"unknown authority":    {trusting, at(issued(other.Server())), nil, Cause{Kind: UntrustedCertificate, Issuer: "CN=Another Ltd"}, "PEER showed a certificate that is not trusted here"},
		"expired":              {trusting, at(issued(authority().ServerExpired())), nil, Cause{Kind: ExpiredCertificate, Issuer: issuer}, "PEER showed a certificate that has expired, or is not valid yet"},
		"not yet valid":        {trusting, at(good), yesterday, Cause{Kind: ExpiredCertificate, Issuer: issuer}, "PEER showed a certificate that has expired, or is not valid yet"},
		"no TLS":               {trusting, at(plain(t, ok)), nil, Cause{Kind: NotTLS}, "PEER does not speak TLS"},
		"old TLS":              {trusting, at(ancient), nil, Cause{Kind: HandshakeRefused}, "PEER refused the TLS handshake"},
		"cut off":              {trusting, at(aborts), nil, Cause{Kind: ConnectionLost}, "the connection to PEER was lost before the answer had come"},
		"stream reset":         {trusting, at(resets), nil, Cause{Kind: ConnectionLost}, "the connection to PEER was lost before the answer had come"},
		"body cut off":         {trusting, at(cut), nil, Cause{Kind: ConnectionLost}, "the connection to PEER was lost before the answer had come"},
		"silent":               {trusting, at(silent), soon, Cause{Kind: TimedOut}, "PEER did not answer in time"},
		"no handshake":         {trusting, hang, soon, Cause{Kind: TimedOut}, "PEER did not answer in time"},
		"too large":            {ClientOptions{RootCAs: trusted(), MaxBody: 4}, at(large), nil, Cause{Kind: TooLarge}, "the answer of PEER is too large"},
		"not asked":            {trusting, "u:" + password + "@a.example", nil, Cause{Kind: AddressRefused}, ""},
		"proxy is no address":  {ClientOptions{Proxy: func(*http.Request) (*url.URL, error) { return nil, errors.New(password) }}, "a.example", nil, Cause{Kind: ProxyAddress, Proxy: true}, ErrProxyAddress.Error()},
		"proxy asks for more":  {ClientOptions{Proxy: refuses(407)}, "a.example", nil, Cause{Kind: ProxyRefused, Proxy: true, Status: 407}, "the proxy answered HTTP 407 (Proxy Authentication Required) when asked for a connection to PEER"},
		"proxy cannot reach":   {ClientOptions{Proxy: refuses(502)}, "a.example", nil, Cause{Kind: ProxyRefused, Proxy: true, Status: 502}, "the proxy answered HTTP 502 (Bad Gateway) when asked for a connection to PEER"},
		"proxy says 599":       {ClientOptions{Proxy: refuses(599)}, "a.example", nil, Cause{Kind: ProxyRefused, Proxy: true, Status: 599}, "the proxy answered HTTP 599 when asked for a connection to PEER"},
		"proxy is not there":   {ClientOptions{Proxy: through(t, "http://"+absent)}, "a.example", nil, Cause{Kind: ConnectionRefused, Proxy: true, Dialing: true, Address: loopback}, "the proxy refused the connection"},
		"proxy has no name":    {ClientOptions{Proxy: through(t, "http://proxy.missing")}, "a.example", nil, Cause{Kind: NoSuchHost, Proxy: true, Dialing: true, Host: "proxy.missing"}, "the name of the proxy does not exist"},
		"proxy's name fails":   {ClientOptions{Proxy: through(t, "http://proxy.example")}, "a.example", nil, Cause{Kind: LookupFailed, Proxy: true, Dialing: true, Host: "proxy.example"}, "the name servers could not tell the address of the proxy"},
		"proxy with other TLS": {ClientOptions{RootCAs: other.Pool(), Proxy: through(t, good.URL)}, "a.example", nil, Cause{Kind: UntrustedCertificate, Proxy: true, Issuer: issuer}, "the proxy showed a certificate that is not trusted here"},
		"SOCKS proxy refuses":  {ClientOptions{Proxy: through(t, "socks5://"+socks)}, "a.example:443", nil, Cause{Kind: ProxyRefused, Proxy: true}, "the proxy does not connect to PEER"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t, test.options)
			c.remote.DialContext = (&net.Dialer{Resolver: names}).DialContext
			if test.change != nil {
				test.change(c.remote)
			}
			_, err := get(t, c, "https://"+test.address+"/?secret="+password)
			if err == nil {
				t.Fatal("no error")
			}
			cause := CauseOf(err)
			if diff := cmp.Diff(test.want, cause, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
				t.Errorf("%v (-want +have)\n%s", err, diff)
			}
			if have, want := cause.Text(test.address), strings.ReplaceAll(test.text, "PEER", test.address); have != want {
				t.Errorf("it is told as %q, want %q", have, want)
			}
			if strings.Contains(err.Error(), password) {
				t.Errorf("a secret is in: %v", err)
			}
		})
	}
}

func TestClientCertificateThatIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request) {}, func(s *httptest.Server) {
		// With TLS 1.3 the refusal comes after the handshake, and net/http may be
		// left with nothing but the end of the connection.
		s.TLS.ClientAuth, s.TLS.ClientCAs, s.TLS.MaxVersion = tls.RequireAndVerifyClientCert, x509.NewCertPool(), tls.VersionTLS12
	})
	transport := NewTransport(Settings{TLS: &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: trusted(), Certificates: []tls.Certificate{certificate(t)},
	}})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = transport.RoundTrip(req); CauseOf(err).Kind != ClientCertificateRefused { //nolint:bodyclose // there is no answer
		t.Errorf("%+v of %v", CauseOf(err), err)
	}
}

// What cannot be had on loopback.
func TestCausesOfOtherTrouble(t *testing.T) {
	t.Parallel()
	dial := func(err error) error {
		return fmt.Errorf("x: %w", &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.ParseIP("10.1.2.3")}, Err: err})
	}
	address := netip.AddrFrom4([4]byte{10, 1, 2, 3})
	for _, test := range []struct {
		err  error
		want Cause
	}{
		{nil, Cause{}},
		{errors.New("x"), Cause{}},
		{dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), Cause{Kind: NoRoute, Dialing: true, Address: address}},
		{dial(os.NewSyscallError("connect", syscall.ENETUNREACH)), Cause{Kind: NoRoute, Dialing: true, Address: address}},
		{dial(os.ErrDeadlineExceeded), Cause{Kind: TimedOut, Dialing: true, Address: address}},
		{dial(os.NewSyscallError("connect", syscall.ETIMEDOUT)), Cause{Kind: TimedOut, Dialing: true, Address: address}},
		{&net.DNSError{Err: "server misbehaving", Name: "a.example.", IsTemporary: true}, Cause{Kind: LookupFailed, Host: "a.example"}},
		{&net.DNSError{Err: "i/o timeout", Name: "a.example", IsTimeout: true}, Cause{Kind: TimedOut, Host: "a.example"}},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, Cause{Kind: ConnectionLost}},
		{errors.New("http2: client connection lost"), Cause{Kind: TimedOut}},
		{context.DeadlineExceeded, Cause{Kind: TimedOut}},
		{context.Canceled, Cause{}},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(40)}, Cause{Kind: HandshakeRefused}},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(116)}, Cause{Kind: ClientCertificateRefused}},
		{&tls.CertificateVerificationError{Err: x509.SystemRootsError{}}, Cause{Kind: UntrustedCertificate}},
	} {
		if diff := cmp.Diff(test.want, CauseOf(test.err), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Errorf("%v (-want +have)\n%s", test.err, diff)
		}
	}
}

// A name that stands for an address is told with it, and a proxy's address is not.
func TestTextsWithAddresses(t *testing.T) {
	t.Parallel()
	address := netip.AddrFrom4([4]byte{10, 1, 2, 3})
	for _, test := range []struct {
		cause      Cause
		host, want string
	}{
		{Cause{Kind: TimedOut, Dialing: true, Address: address}, "a.example:443", "a.example:443 (10.1.2.3) did not take a connection in time"},
		{Cause{Kind: TimedOut, Dialing: true, Address: address}, "10.1.2.3:443", "10.1.2.3:443 did not take a connection in time"},
		{Cause{Kind: NoRoute, Dialing: true, Address: address, Proxy: true}, "a.example:443", "there is no route to the proxy"},
		{Cause{Kind: ClientCertificateRefused}, "a.example", "a.example does not accept the client certificate, or wants one"},
		{Cause{Kind: NoSuchHost}, "a.example", "the name a.example does not exist"},
		{Cause{}, "a.example", ""},
	} {
		if have := test.cause.Text(test.host); have != test.want {
			t.Errorf("%+v is told as %q, want %q", test.cause, have, test.want)
		}
	}
}

func TestTemporaryCauses(t *testing.T) {
	t.Parallel()
	for cause, want := range map[Cause]bool{
		{}: true, {Kind: LookupFailed}: true, {Kind: ConnectionRefused}: true, {Kind: NoRoute}: true, {Kind: TimedOut}: true, {Kind: ConnectionLost}: true,
		{Kind: ProxyRefused, Status: 502}: true, {Kind: ProxyRefused, Status: 407}: false, {Kind: ProxyRefused}: false,
		{Kind: AddressRefused}: false, {Kind: NoSuchHost}: false, {Kind: ProxyAddress}: false, {Kind: WrongHost}: false, {Kind: ExpiredCertificate}: false, {Kind: UntrustedCertificate}: false,
		{Kind: NotTLS}: false, {Kind: ClientCertificateRefused}: false, {Kind: HandshakeRefused}: false, {Kind: TooLarge}: false,
	} {
		if cause.Temporary() != want {
			t.Errorf("%+v is temporary: %t", cause, !want)
		}
	}
}
