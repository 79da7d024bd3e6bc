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
)

// trouble is a request that gets no answer, for real.
type trouble struct {
	options ClientOptions
	address string
	want    Cause
}

func TestCausesOfRealTrouble(t *testing.T) {
	t.Parallel()
	ok := func(http.ResponseWriter, *http.Request) {}
	good := serve(t, ok, nil)
	trusting := ClientOptions{RootCAs: pool(good)}
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	hang := listen(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	closed := plain(t, ok)
	closed.Close()

	self := issue(t, -time.Hour, time.Hour)
	trust := func(c tls.Certificate) ClientOptions {
		certs := x509.NewCertPool()
		certs.AddCert(c.Leaf)
		return ClientOptions{RootCAs: certs}
	}
	old, early := issue(t, -2*time.Hour, -time.Hour), issue(t, time.Hour, 2*time.Hour)
	ancient := serve(t, ok, func(s *httptest.Server) {
		s.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	})
	aborts := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, http1)
	silent := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil)
	large := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "12345") }, nil)
	cut := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "12345")
	}, http1)
	refuses := func(status int) ProxyFunc {
		return through(t, plain(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }).URL)
	}
	socks := listen(t, func(conn net.Conn) {
		// "No acceptable methods" (RFC 1928).
		_, _ = io.ReadFull(conn, make([]byte, 3))
		_, _ = conn.Write([]byte{5, 0xff})
		_ = conn.Close()
	})
	names := nowhere(t)
	port := func(address string) string { return address[strings.LastIndexByte(address, ':'):] }

	for name, test := range map[string]trouble{
		"nobody listens":       {trusting, closed.Listener.Addr().String(), Cause{Kind: ConnectionRefused, Dialing: true, Address: loopback}},
		"no such name":         {trusting, "nowhere.invalid", Cause{Kind: NoSuchHost, Dialing: true, Host: "nowhere.invalid"}},
		"another host":         {trusting, "localhost" + port(good.Listener.Addr().String()), Cause{Kind: WrongHost, Host: "localhost", Issuer: "O=Acme Co"}},
		"unknown authority":    {trusting, serve(t, ok, with(self)).Listener.Addr().String(), Cause{Kind: UntrustedCertificate, Issuer: "CN=test,O=Proxies Ltd"}},
		"expired":              {trust(old), serve(t, ok, with(old)).Listener.Addr().String(), Cause{Kind: ExpiredCertificate, Issuer: "CN=test,O=Proxies Ltd"}},
		"not yet valid":        {trust(early), serve(t, ok, with(early)).Listener.Addr().String(), Cause{Kind: ExpiredCertificate, Issuer: "CN=test,O=Proxies Ltd"}},
		"no TLS":               {trusting, plain(t, ok).Listener.Addr().String(), Cause{Kind: NotTLS}},
		"old TLS":              {ClientOptions{RootCAs: pool(ancient)}, ancient.Listener.Addr().String(), Cause{Kind: HandshakeRefused}},
		"cut off":              {ClientOptions{RootCAs: pool(aborts)}, aborts.Listener.Addr().String(), Cause{Kind: ConnectionLost}},
		"body cut off":         {ClientOptions{RootCAs: pool(cut)}, cut.Listener.Addr().String(), Cause{Kind: ConnectionLost}},
		"silent":               {ClientOptions{RootCAs: pool(silent), Header: 50 * time.Millisecond}, silent.Listener.Addr().String(), Cause{Kind: TimedOut}},
		"no handshake":         {ClientOptions{Handshake: 50 * time.Millisecond}, hang, Cause{Kind: TimedOut}},
		"too large":            {ClientOptions{RootCAs: pool(large), MaxBody: 4}, large.Listener.Addr().String(), Cause{Kind: TooLarge}},
		"proxy is no address":  {ClientOptions{Proxy: func(*http.Request) (*url.URL, error) { return nil, errors.New(password) }}, "a.example", Cause{Kind: ProxyAddress, Proxy: true}},
		"proxy asks for more":  {ClientOptions{Proxy: refuses(407)}, "a.example", Cause{Kind: ProxyRefused, Proxy: true, Status: 407}},
		"proxy cannot reach":   {ClientOptions{Proxy: refuses(502)}, "a.example", Cause{Kind: ProxyRefused, Proxy: true, Status: 502}},
		"proxy is not there":   {ClientOptions{Proxy: through(t, closed.URL)}, "a.example", Cause{Kind: ConnectionRefused, Proxy: true, Dialing: true, Address: loopback}},
		"proxy has no name":    {ClientOptions{Proxy: through(t, "http://proxy.invalid")}, "a.example", Cause{Kind: NoSuchHost, Proxy: true, Dialing: true, Host: "proxy.invalid"}},
		"proxy with other TLS": {ClientOptions{Proxy: through(t, good.URL)}, "a.example", Cause{Kind: UntrustedCertificate, Proxy: true, Issuer: "O=Acme Co"}},
		"SOCKS proxy refuses":  {ClientOptions{Proxy: through(t, "socks5://"+socks)}, "a.example:443", Cause{Kind: ProxyRefused, Proxy: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t, test.options)
			c.remote.DialContext = (&net.Dialer{Resolver: names}).DialContext
			_, err := get(t, c, "https://"+test.address+"/?secret="+password)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, CauseOf(err), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
				t.Errorf("%v (-want +have)\n%s", err, diff)
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
		s.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool(), MaxVersion: tls.VersionTLS12}
	})
	transport := NewTransport(Settings{TLS: &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: pool(s), Certificates: []tls.Certificate{issue(t, -time.Hour, time.Hour)},
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

func TestTemporaryCauses(t *testing.T) {
	t.Parallel()
	for cause, want := range map[Cause]bool{
		{}: true, {Kind: LookupFailed}: true, {Kind: ConnectionRefused}: true, {Kind: NoRoute}: true, {Kind: TimedOut}: true, {Kind: ConnectionLost}: true,
		{Kind: ProxyRefused, Status: 502}: true, {Kind: ProxyRefused, Status: 407}: false, {Kind: ProxyRefused}: false,
		{Kind: NoSuchHost}: false, {Kind: ProxyAddress}: false, {Kind: WrongHost}: false, {Kind: ExpiredCertificate}: false, {Kind: UntrustedCertificate}: false,
		{Kind: NotTLS}: false, {Kind: ClientCertificateRefused}: false, {Kind: HandshakeRefused}: false, {Kind: TooLarge}: false,
	} {
		if cause.Temporary() != want {
			t.Errorf("%+v is temporary: %t", cause, !want)
		}
	}
}
