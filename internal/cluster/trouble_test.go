package cluster

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
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// trouble is a way in which an API server cannot be asked, made by real servers on
// the loopback.
type trouble struct {
	name, host string
	// make changes the connection to the server of this host.
	make func(*rest.Config)
	// hurry, if not nil, shortens what would have to be waited for.
	hurry func(*times)
}

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// leadsTo has every name stand for an address of the loopback.
func leadsTo(address string) dialer {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
}

// nobodyAt has every name stand for an address that does not answer in time; nothing
// is sent there.
func nobodyAt(address string) dialer {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: time.Nanosecond}).DialContext(ctx, network, address)
	}
}

// silence takes connections and says nothing.
func silence(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
	return listener.Addr().String()
}

// names is a name server that knows of no API server of AKS. With failing it knows
// nothing at all.
func names(t *testing.T, failing bool) dialer {
	t.Helper()
	missing := []string{publicName, privateName, customName}
	if failing {
		missing = nil
	}
	n, err := standin.NewNames(missing...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return (&net.Dialer{Resolver: n.Resolver()}).DialContext
}

const customName = "prod.0f1e2d3c.private.westeurope.azmk8s.io"

func troubles(t *testing.T) []trouble {
	t.Helper()
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	good := serve(t, ok, nil)
	dial := func(d dialer) func(*rest.Config) { return func(cfg *rest.Config) { cfg.Dial = d } }
	server := func(handler http.Handler, change func(*httptest.Server)) func(*rest.Config) {
		return dial(leadsTo(serve(t, handler, change).Listener.Addr().String()))
	}
	shows := func(c tls.Certificate, err error) func(*rest.Config) {
		if err != nil {
			t.Fatal(err)
		}
		return server(ok, func(s *httptest.Server) { s.TLS.Certificates = []tls.Certificate{c} })
	}
	other, err := standin.NewAuthority("Corp\x1b[31m CA " + testToken)
	if err != nil {
		t.Fatal(err)
	}
	absent := nobody(t)
	plain := httptest.NewServer(ok)
	t.Cleanup(plain.Close)
	refused := leadsTo(absent)
	aks, failing, silent := names(t, false), names(t, true), silence(t)
	by := func(address string) func(*rest.Config) {
		return func(cfg *rest.Config) { cfg.Proxy, cfg.Dial = through(t, address), aks }
	}
	refuses := func(status int) func(*rest.Config) {
		p := proxy(t)
		p.Refuse(status)
		return by(p.URL)
	}
	both := func(changes ...func(*rest.Config)) func(*rest.Config) {
		return func(cfg *rest.Config) {
			for _, change := range changes {
				change(cfg)
			}
		}
	}
	certified := func(cfg *rest.Config) {
		var err error
		if cfg.CertData, cfg.KeyData, err = authority().Client("runner"); err != nil {
			t.Error(err)
		}
	}
	hangs := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	aborts := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	cuts := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "{")
	})

	return []trouble{
		{"private name that does not resolve", privateName, dial(aks), nil},
		{"private name in a zone of one's own", customName, dial(aks), nil},
		{"public name that does not resolve", publicName, dial(aks), nil},
		{"name servers that fail", publicName, dial(failing), nil},
		{"name servers that fail for a private name", privateName, dial(failing), nil},
		{"private address that does not answer", privateName, dial(nobodyAt("10.224.0.4:443")), nil},
		{"public name with a private address", publicName, dial(nobodyAt("10.224.0.4:443")), nil},
		{"public address that does not answer", publicName, dial(nobodyAt("20.1.2.3:443")), nil},
		{"address that refuses", publicName, dial(refused), nil},
		{"handshake that does not end", publicName, dial(leadsTo(silent)), func(t *times) { t.handshake = 200 * time.Millisecond }},
		{"server that does not answer", publicName, server(hangs, nil), func(t *times) { t.request = 3 * time.Second }},
		{"server that hangs up", publicName, server(aborts, http1), nil},
		{"answer that is cut off", publicName, server(cuts, http1), nil},
		{"proxy without a password", publicName, func(cfg *rest.Config) {
			address := proxy(t).URL
			cfg.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: address[strings.LastIndexByte(address, '@')+1:]})
		}, nil},
		{"proxy that forbids", publicName, refuses(http.StatusForbidden), nil},
		{"proxy that fails", publicName, refuses(http.StatusBadGateway), nil},
		{"proxy that answers something else", publicName, refuses(599), nil},
		{"proxy that refuses connections", publicName, both(by("http://"+absent), dial(refused)), nil},
		{"proxy that says nothing", publicName, by("http://" + silent), func(t *times) { t.request = time.Second }},
		{"proxy's name that does not resolve", publicName, by("http://proxy.missing:3128"), nil},
		{"proxy's name that the name servers cannot tell", publicName, by("http://proxy.example:3128"), nil},
		{"proxy that is spoken to over TLS", publicName, func(cfg *rest.Config) {
			by(good.URL)(cfg)
			cfg.CAData = other.PEM
		}, nil},
		{"proxy without an address", publicName, func(cfg *rest.Config) {
			cfg.Proxy = func(*http.Request) (*url.URL, error) {
				return nil, errors.New("invalid proxy address " + testPassword)
			}
		}, nil},
		{"certificate of another host", publicName, shows(authority().ServerNamed("proxy.example")), nil},
		{"certificate that has expired", publicName, shows(authority().ServerExpired()), nil},
		{"certificate of another authority", publicName, shows(other.Server(publicName)), nil},
		{"no TLS", publicName, dial(leadsTo(plain.Listener.Addr().String())), nil},
		{"old TLS", publicName, server(ok, func(s *httptest.Server) { s.TLS.MinVersion, s.TLS.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }), nil},
		{"client certificate refused", publicName, both(certified, server(ok, func(s *httptest.Server) {
			// With TLS 1.3 the refusal comes after the handshake, and net/http may be
			// left with nothing but the end of the connection.
			s.TLS.ClientAuth, s.TLS.ClientCAs, s.TLS.MaxVersion = tls.RequireAndVerifyClientCert, x509.NewCertPool(), tls.VersionTLS12
		})), nil},
	}
}

// What people read when there is no answer, for each origin that a connection can
// have, and whether it is tried again while a Job is waited for.
func TestTextsOnConnections(t *testing.T) {
	t.Parallel()
	golden(t, "connections", func(t *testing.T, option Option) string {
		all := troubles(t)
		texts := make([]string, len(all))
		var done sync.WaitGroup
		for i, s := range all {
			done.Go(func() {
				cfg := &rest.Config{Host: "https://" + s.host + ":443", BearerToken: testToken, TLSClientConfig: rest.TLSClientConfig{CAData: authority().PEM}}
				s.make(cfg)
				c := connect(t, cfg, option, func(c *Client, _ *rest.Config) {
					if s.hurry != nil {
						s.hurry(&c.times)
					}
				})
				_, err := c.Job(t.Context(), "fdai-runtime", "x")
				call, ok := errors.AsType[*oneshot.CallError](err)
				if !ok {
					t.Errorf("%s: %v", s.name, err)
					return
				}
				outcome := "ends the run"
				if call.Temporary() {
					outcome = "is tried again"
				}
				texts[i] = fmt.Sprintf("# %s: %s\n%s\n%s\n\n", s.name, outcome, err, call.Fix)
			})
		}
		done.Wait()
		return strings.Join(texts, "")
	})
}
