package azure

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/network"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// doing is a network of one's own.
type doing func(*http.Request) (*http.Response, error)

func (d doing) Do(req *http.Request) (*http.Response, error) { return d(req) }

func newPost(t *testing.T, address, body string) *http.Request {
	t.Helper()
	ctx, _ := withTrail(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// do sends a request and reads its answer.
func do(o *observer, req *http.Request) (string, error) {
	resp, err := o.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func TestObserverMasksBeforeItSends(t *testing.T) {
	t.Parallel()
	form := url.Values{"client_assertion": {jwtOf(`{"sub":"me"}`)}, "scope": {"a b"}}.Encode()
	var masked []string
	o := &observer{
		mask: func(secret string) { masked = append(masked, secret) },
		remote: doing(func(req *http.Request) (*http.Response, error) {
			want := []string{"basic-5678", "header-5678", "secret-5678", jwtOf(`{"sub":"me"}`)}
			if diff := cmp.Diff(want, masked); diff != "" {
				t.Errorf("before it is sent, there is masked (-want +got):\n%s", diff)
			}
			if body, err := io.ReadAll(req.Body); err != nil || string(body) != form {
				t.Errorf("it is sent %q, %v", body, err)
			}
			return &http.Response{StatusCode: http.StatusTeapot, Body: io.NopCloser(strings.NewReader("answer"))}, nil
		}),
	}
	req := newPost(t, "https://a.example/token", form)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	req.Header.Set("Authorization", "Basic basic-5678")
	req.Header.Set("X-Identity-Header", "header-5678")
	req.Header.Set("secret", "secret-5678")
	if body, err := do(o, req); err != nil || body != "answer" {
		t.Errorf("the answer is %q, %v", body, err)
	}
	s := trailOf(req.Context()).end()
	if s.claims.Subject != "me" || s.answer.host != "a.example" || s.answer.status != http.StatusTeapot || string(s.answer.body) != "answer" {
		t.Errorf("the trail is %+v", s)
	}
}

// The SDK repeats what it is not told about.
func TestObserverMarksWhatLasts(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for name, c := range map[string]struct {
		address string
		local   bool
		err     error
		lasts   bool
	}{
		"refused":               {"https://a.example", false, refused, false},
		"refused by https":      {"https://a.example", true, refused, false},
		"refused by itself":     {"http://169.254.169.254", true, refused, true},
		"cut by itself":         {"http://169.254.169.254", true, io.ErrUnexpectedEOF, false},
		"no such name":          {"https://a.example", false, &net.DNSError{IsNotFound: true}, true},
		"too large":             {"https://a.example", false, &network.TooLargeError{Limit: 1}, true},
		"a proxy that may pass": {"https://a.example", false, &network.ProxyError{Status: 503}, false},
		"a proxy that does not": {"https://a.example", false, &network.ProxyError{Status: 407}, true},
	} {
		fails := doing(func(*http.Request) (*http.Response, error) { return nil, c.err })
		o := &observer{remote: fails, mask: func(string) {}}
		if c.local {
			o.local = fails
		}
		req := newPost(t, c.address, "")
		_, err := do(o, req)
		var marked interface{ NonRetriable() }
		if !errors.Is(err, c.err) || errors.As(err, &marked) != c.lasts {
			t.Errorf("%s: %v is marked %v", name, err, errors.As(err, &marked))
		}
		if s := trailOf(req.Context()).end(); !errors.Is(s.err, c.err) || s.answer.status != 0 {
			t.Errorf("%s: the trail is %+v", name, s)
		}
	}
}

// A body that ends too early is a request that failed.
func TestObserverReadsToTheEnd(t *testing.T) {
	t.Parallel()
	o := &observer{mask: func(string) {}, remote: doing(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(io.MultiReader(strings.NewReader("{"), failingReader{}))}, nil
	})}
	req := newPost(t, "https://a.example", "")
	if _, err := do(o, req); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("it ends with %v", err)
	}
	if s := trailOf(req.Context()).end(); s.answer.status != 0 || s.err == nil {
		t.Errorf("the trail is %+v", s)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// The endpoint of a machine's own identity speaks http, and nobody else does.
func TestConnectByAMachinesOwnEndpoint(t *testing.T) {
	w := newWorld(t)
	local := httptest.NewServer(w.Entra.Server)
	defer local.Close()
	w.options.Auth, w.options.IDToken, w.options.TenantID = ManagedIdentity, nil, ""
	identity := w.Entra.NewIdentity(standin.TenantID, standin.ClientID)
	w.Entra.Change(func(o *standin.EntraOptions) { o.Lifetime = time.Minute })
	w.env = map[string]string{"IDENTITY_ENDPOINT": local.URL + "/msi/token", "IDENTITY_HEADER": identity.Header}
	w.setenv()
	w.known(w.connect())
}
