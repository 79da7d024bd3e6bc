package standin_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// through is a client that uses a proxy.
func through(t *testing.T, a *standin.Authority, proxy string) *http.Client {
	t.Helper()
	u, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	transport := a.Transport()
	transport.Proxy = http.ProxyURL(u)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func newProxy(t *testing.T, user, password string) *standin.Proxy {
	t.Helper()
	p, err := standin.NewProxy(standin.NewLedger(), user, password)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestProxyTunnels(t *testing.T) {
	t.Parallel()
	a := authority(t)
	s := hello(t, a)
	p := newProxy(t, "", "")
	got, err := try(t, through(t, a, p.URL), s.URL)
	if err != nil || string(got.Body) != "hello over HTTP/2.0" {
		t.Errorf("%s, %v", got.Body, err)
	}
	named, err := a.Server("login.test")
	if err != nil {
		t.Fatal(err)
	}
	other, err := standin.NewServerWith("named", named, http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	p.Route("login.test:443", other.URL)
	if got, err := try(t, through(t, a, p.URL), "https://login.test/x"); err != nil || got.Status != http.StatusNotFound {
		t.Errorf("%d, %v", got.Status, err)
	}
	if hosts := p.Hosts(); !cmp.Equal(hosts, []string{strings.TrimPrefix(s.URL, "https://"), "login.test:443"}) {
		t.Errorf("asked for %v", hosts)
	}
}

func TestProxyRefuses(t *testing.T) {
	t.Parallel()
	a := authority(t)
	s := hello(t, a)
	p := newProxy(t, "user", "pass-word")
	for name, tt := range map[string]struct {
		proxy, address string
		refusal        int
		fails          string
	}{
		"good":           {p.URL, s.URL, 0, ""},
		"no password":    {strings.Replace(p.URL, "user:pass-word@", "", 1), s.URL, 0, "Proxy Authentication Required"},
		"wrong password": {strings.Replace(p.URL, "pass-word", "other", 1), s.URL, 0, "Proxy Authentication Required"},
		"403":            {p.URL, s.URL, 403, "Forbidden"},
		"502":            {p.URL, s.URL, 502, "Bad Gateway"},
		"407":            {p.URL, s.URL, 407, "Proxy Authentication Required"},
		"far away":       {p.URL, "https://192.0.2.1", 0, "Forbidden"},
		"a name":         {p.URL, "https://login.test", 0, "Forbidden"},
		"nobody there":   {p.URL, "https://127.0.0.1:1", 0, "Bad Gateway"},
		"plain HTTP":     {p.URL, "http://127.0.0.1:1", 0, "405"},
	} {
		p.Refuse(tt.refusal)
		got, err := try(t, through(t, a, tt.proxy), tt.address)
		switch {
		case tt.fails == "405":
			if err != nil || got.Status != http.StatusMethodNotAllowed {
				t.Errorf("%s: %d, %v", name, got.Status, err)
			}
		case tt.fails == "" && err != nil, tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)):
			t.Errorf("%s: %v", name, err)
		}
	}
}
