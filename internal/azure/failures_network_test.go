package azure

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// unlike has Entra at a server with another certificate.
func unlike(certificate func(*standin.Authority) (tls.Certificate, error)) func(*world) {
	return func(w *world) {
		c, err := certificate(w.Authority)
		if err != nil {
			w.t.Fatal(err)
		}
		s, err := standin.NewServerWith("entra", c, http.NotFoundHandler())
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { _ = s.Close() })
		w.options.Cloud.Authority = s.URL + "/"
	}
}

// speaking has Entra at a port where something else is.
func speaking(do func(net.Conn)) func(*world) {
	return func(w *world) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { _ = listener.Close() })
		w.options.Cloud.Authority = "https://" + listener.Addr().String() + "/"
		if do == nil {
			_ = listener.Close()
			return
		}
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				go do(conn)
			}
		}()
	}
}

// proxied goes through a proxy that refuses, 0 for not at all.
func proxied(refusal int, change func(w *world, proxy string) string) func(*world) {
	return func(w *world) {
		p, err := standin.NewProxy(w.Ledger, "ci", "hunter2-never-shown")
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { _ = p.Close() })
		if refusal != 0 {
			p.Refuse(refusal)
		}
		address := p.URL
		if change != nil {
			address = change(w, address)
		}
		w.options.network.Proxy = by(address)
	}
}

// networkFailures are those on the way to Entra.
var networkFailures = []failing{
	{"network-no-such-name", func(w *world) { w.options.Cloud.Authority = "https://login.missing/" }},
	{"network-lookup-failed", func(w *world) { w.options.Cloud.Authority = "https://login.broken/" }},
	{"network-refused", speaking(nil)},
	{"network-not-tls", speaking(func(c net.Conn) {
		_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.9\r\n")
		_ = c.Close()
	})},
	{"network-http", speaking(func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
		_ = c.Close()
	})},
	{"network-not-trusted", func(w *world) { w.options.network.RootCAs = x509.NewCertPool() }},
	{"network-wrong-host", unlike(func(a *standin.Authority) (tls.Certificate, error) { return a.ServerNamed("login.example") })},
	{"network-expired", unlike((*standin.Authority).ServerExpired)},
	{"network-proxy-407", proxied(http.StatusProxyAuthRequired, nil)},
	{"network-proxy-403", proxied(http.StatusForbidden, nil)},
	{"network-proxy-502", proxied(http.StatusBadGateway, nil)},
	{"network-proxy-no-such-name", proxied(0, func(*world, string) string { return "http://ci:hunter2-never-shown@proxy.missing:3128" })},
	{"network-proxy-refused", proxied(0, func(w *world, _ string) string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			w.t.Fatal(err)
		}
		_ = listener.Close()
		return "http://ci:hunter2-never-shown@" + listener.Addr().String()
	})},
	{"network-proxy-malformed", func(w *world) {
		w.Ledger.AddText("the password of a proxy", "hunter2-never-shown")
		w.options.network.Proxy = func(*http.Request) (*url.URL, error) {
			return nil, errors.New(`invalid proxy address "http://ci:hunter2-never-shown@:x": parse error`)
		}
	}},
	{"network-proxy-to-arm-403", func(w *world) {
		proxied(http.StatusForbidden, nil)(w)
		refusing := w.options.network.Proxy
		w.options.network.Proxy = func(r *http.Request) (*url.URL, error) {
			if r.URL.Host == hostOf(w.ARM.URL) {
				return refusing(r)
			}
			return noProxy(r)
		}
	}},
}
