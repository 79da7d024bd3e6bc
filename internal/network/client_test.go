package network

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

func TestClientGetsAnAnswer(t *testing.T) {
	t.Parallel()
	for proto, change := range map[string]func(*httptest.Server){"HTTP/2.0": nil, "HTTP/1.1": http1} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "" {
				t.Errorf("%s is offered", r.Header.Get("Accept-Encoding"))
			}
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, r.Proto+" "+r.Header.Get("Authorization")+" "+r.URL.RawQuery)
		}, change)
		var shown []string
		c := client(t, ClientOptions{RootCAs: trusted(), Sending: func(r *http.Request) { shown = append(shown, r.Header.Get("Authorization")) }})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/?a=b", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer x")
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if closeErr := resp.Body.Close(); err != nil || closeErr != nil {
			t.Fatal(err, closeErr)
		}
		if resp.StatusCode != http.StatusTeapot || string(body) != proto+" Bearer x a=b" {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
		if len(shown) != 1 || shown[0] != "Bearer x" {
			t.Errorf("shown %q", shown)
		}
	}
}

// A redirect would hand the credential on.
func TestClientFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}, nil)
	if _, err := get(t, client(t, ClientOptions{RootCAs: trusted()}), s.URL); err != nil || requests.Load() != 1 {
		t.Errorf("%d requests, %v", requests.Load(), err)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", len(r.URL.Path)-1))
	}, nil)
	c := client(t, ClientOptions{RootCAs: trusted(), MaxBody: 10})
	for n, fits := range map[int]bool{0: true, 1: true, 9: true, 10: true, 11: false, 12: false, 500: false} {
		body, err := get(t, c, s.URL+"/"+strings.Repeat("a", n))
		var large *TooLargeError
		if fits && (err != nil || len(body) != n) || !fits && (!errors.As(err, &large) || large.Limit != 10 || len(body) != 10) {
			t.Errorf("%d bytes: %d bytes, %v", n, len(body), err)
		}
	}
}

// Whatever the sizes in which it is read, a body ends where it does or with the
// error, and never goes on after it.
func TestBoundedReads(t *testing.T) {
	t.Parallel()
	for limit := range int64(6) {
		for size := range 8 {
			for step := 1; step < 8; step++ {
				b := newBounded(io.NopCloser(strings.NewReader(strings.Repeat("x", size))), limit)
				var have int
				var err error
				for p := make([]byte, step); err == nil; {
					var n int
					n, err = b.Read(p)
					have += n
				}
				_, again := b.Read(make([]byte, 1))
				var large *TooLargeError
				tooLarge := int64(size) > limit
				if have != min(size, int(limit)) || errors.As(err, &large) != tooLarge || !tooLarge && !errors.Is(err, io.EOF) || again == nil {
					t.Errorf("%d of %d by %d: %d, %v, then %v", size, limit, step, have, err, again)
				}
			}
		}
	}
	if n, err := newBounded(io.NopCloser(strings.NewReader("x")), 0).Read(nil); n != 0 || err != nil {
		t.Errorf("reading nothing: %d, %v", n, err)
	}
}

func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	for proto, change := range map[string]func(*httptest.Server){"HTTP/2": nil, "HTTP/1.1": http1} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 2*maxHeader)) }, change)
		if _, err := get(t, client(t, ClientOptions{RootCAs: trusted()}), s.URL); err == nil {
			t.Errorf("%s: no error", proto)
		}
	}
}

func TestAddressesThatAreNotAsked(t *testing.T) {
	t.Parallel()
	s := plain(t, func(http.ResponseWriter, *http.Request) { t.Error("asked") })
	sent := func(*http.Request) { t.Error("about to be sent") }
	for address, want := range map[string]string{
		s.URL + "/?s=" + password:           "only https is allowed",
		"ftp://a.example/" + password:       "only https is allowed",
		"https://u:" + password + "@a.test": "could not reach a.test: its address holds a user",
		"https:///" + password:              "no URL with a host",
	} {
		_, err := get(t, client(t, ClientOptions{Sending: sent}), address)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), password) {
			t.Errorf("%s: %v", address, err)
		}
		if cause := CauseOf(err); cause.Kind != AddressRefused || cause.Temporary() {
			t.Errorf("%s: %+v", address, cause)
		}
	}
	closed := &closing{Reader: strings.NewReader("x")}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, closed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client(t, ClientOptions{}).Do(req); err == nil || !closed.closed { //nolint:bodyclose // there is no answer
		t.Errorf("%v, closed %t", err, closed.closed)
	}
	req.URL = &url.URL{}
	if _, err := client(t, ClientOptions{Local: true}).Do(req); err == nil { //nolint:bodyclose // there is no answer
		t.Error("no error")
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

// A machine's own identity is had over http, and not by way of a proxy.
func TestLocalAddresses(t *testing.T) {
	t.Parallel()
	s := plain(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })
	proxied := func(*http.Request) (*url.URL, error) { return nil, errors.New("a proxy is asked for") }
	c := client(t, ClientOptions{Local: true, Proxy: proxied})
	if body, err := get(t, c, s.URL); body != "here" || err != nil {
		t.Errorf("%q, %v", body, err)
	}
	if _, err := get(t, c, "https://a.example"); CauseOf(err).Kind != ProxyAddress {
		t.Errorf("%v", err)
	}
	if _, err := get(t, c, "http://a.example"); err == nil || !strings.Contains(err.Error(), "only https") {
		t.Errorf("%v", err)
	}
	for host, want := range map[string]bool{
		"169.254.169.254": true, "127.0.0.1": true, "::1": true, "fe80::1": true, "::ffff:127.0.0.1": true, "LocalHost": true,
		"10.0.0.1": false, "20.1.2.3": false, "localhost.example": false, "": false, "0.0.0.0": false,
	} {
		if isLocal(host) != want {
			t.Errorf("%s is local: %t", host, !want)
		}
	}
}

// The ways to local and to other addresses are first used at the same time.
func TestBothWaysAtOnce(t *testing.T) {
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request) {}, nil)
	p := proxy(t)
	for range 10 {
		c := client(t, ClientOptions{Local: true, RootCAs: trusted(), Proxy: through(t, p.URL)})
		var wg sync.WaitGroup
		for _, address := range []string{s.URL, "https://a.missing"} {
			wg.Go(func() {
				if _, err := get(t, c, address); (err == nil) != (address == s.URL) {
					t.Errorf("%s: %v", address, err)
				}
			})
		}
		wg.Wait()
	}
}

func TestClientGoesThroughTheProxy(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }, nil)
	p := proxy(t)
	c := client(t, ClientOptions{RootCAs: trusted(), Proxy: through(t, p.URL)})
	for range 2 {
		if body, err := get(t, c, s.URL); body != "HTTP/2.0" || err != nil {
			t.Errorf("%q, %v", body, err)
		}
	}
	if hosts := p.Hosts(); len(hosts) != 1 || hosts[0] != s.Listener.Addr().String() {
		t.Errorf("tunnels to %q", hosts)
	}
}

// A password that is not written as in a URL has its address cut up, so that a
// part of it would be looked up as the proxy's name.
func TestProxiesWhosePasswordsAreCutUp(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"/", "?", "#"} {
		for _, at := range []string{"a" + c + "b", "a@b" + c + "d", "a" + c + "b@d", "a@1" + c + "d"} {
			u, err := url.Parse("http://ci:" + at + "@proxy.example:3128")
			if err != nil {
				continue // It is told by whoever parses it.
			}
			if u, err := Proxy(http.ProxyURL(u))(nil); !errors.Is(err, ErrProxyAddress) || u != nil {
				t.Errorf("%s: %v, %v", at, u, err)
			}
		}
	}
	for _, address := range []string{"http://proxy.example:3128", "https://ci:a%2Fb@proxy.example/", "socks5://[::1]:1080"} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if u, err := Proxy(http.ProxyURL(u))(nil); err != nil || u.String() != address {
			t.Errorf("%s: %v, %v", address, u, err)
		}
	}
}

// The environment is read once in a process, so it takes one of its own.
func TestTheEnvironmentCounts(t *testing.T) {
	if address := os.Getenv("ONESHOT_TEST_ADDRESS"); address != "" {
		_, err := get(t, NewClient(ClientOptions{}), address)
		if want := os.Getenv("ONESHOT_TEST_WANT"); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
		if err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("a secret is in: %v", err)
		}
		return
	}
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request) {}, nil)
	p, err := standin.NewProxy(standin.NewLedger(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	p.Refuse(http.StatusForbidden)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, authority().PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		address, want string
		env           []string
	}{
		"a certificate authority":          {s.URL, "", []string{"SSL_CERT_FILE=" + file}},
		"no certificate authority":         {s.URL, "unknown authority", nil},
		"a proxy that refuses":             {"https://b.example", "the proxy answered HTTP 403 (Forbidden)", []string{"HTTPS_PROXY=" + p.URL}},
		"a proxy whose password is cut up": {"https://b.example", "HTTPS_PROXY) is not a URL", []string{"HTTPS_PROXY=http://u:a@" + password + "/b@proxy.example"}},
		"a proxy that cannot be read":      {"https://b.example", "HTTPS_PROXY) is not a URL", []string{"https_proxy=http://u:" + password + "%zz@proxy.example:3128"}},
		"a proxy for no such host":         {s.URL, "", []string{"HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=127.0.0.1", "SSL_CERT_FILE=" + file}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestTheEnvironmentCounts$", "-test.count=1")
			cmd.Env = append([]string{"ONESHOT_TEST_ADDRESS=" + test.address, "ONESHOT_TEST_WANT=" + test.want, "PATH=" + os.Getenv("PATH")}, test.env...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// A server of yesterday is refused by us, one of today taken.
func TestTLSVersions(t *testing.T) {
	t.Parallel()
	for version, taken := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		s := serve(t, func(http.ResponseWriter, *http.Request) {}, func(s *httptest.Server) {
			s.TLS.MinVersion, s.TLS.MaxVersion = version, version
		})
		if _, err := get(t, client(t, ClientOptions{RootCAs: trusted()}), s.URL); (err == nil) != taken {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 0, "17": 17 * time.Second, " 1 ": time.Second, "-5": 0, "soon": 0, "86400": time.Minute, "99999999999999999999": 0,
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): 0,
		time.Now().Add(time.Hour).UTC().Format(http.TimeFormat):  time.Minute,
	} {
		if have := RetryAfter(http.Header{"Retry-After": {text}}, time.Minute); have != want {
			t.Errorf("%q: %s, want %s", text, have, want)
		}
	}
	if have := RetryAfter(nil, time.Minute); have != 0 {
		t.Errorf("no header: %s", have)
	}
}
