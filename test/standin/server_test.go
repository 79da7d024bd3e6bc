package standin_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

func authority(t *testing.T) *standin.Authority {
	t.Helper()
	a, err := standin.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// hello starts a server that says hello.
func hello(t *testing.T, a *standin.Authority) *standin.Server {
	t.Helper()
	s, err := standin.NewServer("hello", a, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "hello over "+r.Proto)
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// clients speak HTTP/1.1 and HTTP/2.
func clients(t *testing.T, a *standin.Authority) map[string]*http.Client {
	t.Helper()
	first := a.Transport()
	first.ForceAttemptHTTP2, first.TLSNextProto = false, map[string]func(string, *tls.Conn) http.RoundTripper{}
	second := a.Transport()
	t.Cleanup(first.CloseIdleConnections)
	t.Cleanup(second.CloseIdleConnections)
	return map[string]*http.Client{"HTTP/1.1": {Transport: first}, "HTTP/2.0": {Transport: second}}
}

// try sends a GET and reads the answer, as far as there is one.
func try(t *testing.T, c *http.Client, address string) (answer, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	return answer{Status: response.StatusCode, Header: response.Header, Body: b}, err
}

func TestFaults(t *testing.T) {
	t.Parallel()
	a := authority(t)
	for proto, c := range clients(t, a) {
		s := hello(t, a)
		for name, tt := range map[string]struct {
			fault standin.Answer
			good  func(answer, error) bool
		}{
			"status": {standin.Status(429, "slow", "Retry-After", "9"), func(a answer, err error) bool {
				return err == nil && a.Status == 429 && a.Header.Get("Retry-After") == "9" && string(a.Body) == "slow"
			}},
			"HTML": {standin.HTML(503), func(a answer, err error) bool {
				return err == nil && a.Status == 503 && strings.HasPrefix(string(a.Body), "<!DOCTYPE")
			}},
			"empty": {standin.Empty(), func(a answer, err error) bool { return err == nil && a.Status == 200 && len(a.Body) == 0 }},
			"JSON": {standin.BadJSON(), func(a answer, err error) bool {
				return err == nil && a.Status == 200 && strings.HasSuffix(string(a.Body), "[")
			}},
			"huge": {standin.Huge(3 << 20), func(a answer, err error) bool {
				return err == nil && len(a.Body) > 3<<20 && strings.HasSuffix(string(a.Body), `"}`)
			}},
			"drop":       {standin.Drop(), func(_ answer, err error) bool { return err != nil }},
			"cut":        {standin.CutBody(), func(a answer, err error) bool { return err != nil && a.Status == 200 }},
			"abort":      {standin.Abort(), func(_ answer, err error) bool { return err != nil }},
			"abort body": {standin.AbortBody(), func(a answer, err error) bool { return err != nil && a.Status == 200 }},
			"slow":       {standin.Slow(time.Millisecond), func(a answer, err error) bool { return err == nil && string(a.Body) == "hello over "+proto }},
		} {
			// A transport repeats a GET by itself when a connection breaks.
			s.On(standin.PathEnds("/IT"), -1, tt.fault)
			if got, err := try(t, c, s.URL+"/other"); err != nil || string(got.Body) != "hello over "+proto {
				t.Errorf("%s, %s: another path meets %d %q, %v", proto, name, got.Status, got.Body, err)
			}
			if got, err := try(t, c, s.URL+"/it"); !tt.good(got, err) {
				t.Errorf("%s, %s: %d %d bytes, %v", proto, name, got.Status, len(got.Body), err)
			}
			s.Reset()
			if got, err := try(t, c, s.URL+"/it"); err != nil || string(got.Body) != "hello over "+proto {
				t.Errorf("%s, %s: afterwards %d %q, %v", proto, name, got.Status, got.Body, err)
			}
		}
	}
}

// Drop ends what is beside it on an HTTP/2 connection, Abort does not.
func TestFaultsBesideARequest(t *testing.T) {
	t.Parallel()
	a := authority(t)
	for name, tt := range map[string]struct {
		fault standin.Answer
		alone bool
	}{
		"drop": {standin.Drop(), false}, "cut body": {standin.CutBody(), false},
		"abort": {standin.Abort(), true}, "abort body": {standin.AbortBody(), true},
	} {
		s, c := hello(t, a), clients(t, a)["HTTP/2.0"]
		release, beside := make(chan struct{}), make(chan error)
		s.On(standin.PathEnds("/beside"), -1, func(w http.ResponseWriter, r *http.Request, own http.Handler) {
			select {
			case <-release:
				own.ServeHTTP(w, r)
			case <-r.Context().Done():
			}
		})
		s.On(standin.PathEnds("/it"), -1, tt.fault)
		if _, err := try(t, c, s.URL); err != nil { // There is a connection now.
			t.Fatal(err)
		}
		go func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/beside", strings.NewReader("once"))
			if err == nil {
				var response *http.Response
				if response, err = c.Do(r); err == nil {
					err = response.Body.Close()
				}
			}
			beside <- err
		}()
		for len(s.Requests()) < 2 {
			time.Sleep(time.Millisecond)
		}
		if _, err := try(t, c, s.URL+"/it"); err == nil {
			t.Errorf("%s: no error", name)
		}
		if tt.alone {
			close(release)
		}
		if err := <-beside; (err == nil) != tt.alone {
			t.Errorf("%s: the request beside it: %v", name, err)
		}
	}
}

func TestFaultsQueue(t *testing.T) {
	t.Parallel()
	a := authority(t)
	s := hello(t, a)
	c := clients(t, a)["HTTP/2.0"]
	s.On(standin.Any, 2, standin.Status(500, ""))
	s.On(standin.Any, 1, standin.Status(501, ""))
	s.On(standin.Any, -1, standin.Status(502, ""))
	for i, want := range []int{500, 500, 501, 502, 502} {
		if got, err := try(t, c, s.URL); err != nil || got.Status != want {
			t.Errorf("request %d: %d, %v", i, got.Status, err)
		}
	}
	s.Reset()
	if got, err := try(t, c, s.URL); err != nil || got.Status != 200 {
		t.Errorf("after Reset: %d, %v", got.Status, err)
	}
}

func TestServerLogsRequests(t *testing.T) {
	t.Parallel()
	a := authority(t)
	s := hello(t, a)
	do(t, clients(t, a)["HTTP/2.0"], http.MethodPost, s.URL+"/a/b?token=s3cret", "s3cret", "Authorization", "Bearer s3cret")
	got := s.Requests()
	if len(got) != 1 || got[0].Service != "hello" || got[0].Method != http.MethodPost || got[0].Path != "/a/b" || got[0].Internal || time.Since(got[0].Time) > time.Minute {
		t.Errorf("got %+v", got)
	}
}

// Close ends what hangs, and nothing is left behind.
func TestCloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	a, err := standin.NewAzure(t.TempDir(), "https://127.0.0.1:6443", nil)
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := standin.NewProxy(a.Ledger, "", "")
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	waiting := 0
	all := clients(t, a.Authority)
	all["by proxy"] = through(t, a.Authority, proxy.URL)
	for _, c := range all {
		if got := askTokenBy(t, c, a); got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		a.ARM.On(standin.Any, 2, standin.Hang())
		for range 2 {
			waiting++
			go func() {
				_, err := try(t, c, a.ARM.URL)
				errs <- err
			}()
		}
	}
	for len(a.ARM.Requests()) < waiting {
		time.Sleep(time.Millisecond)
	}
	if err := errors.Join(proxy.Close(), a.Close()); err != nil {
		t.Error(err)
	}
	for range waiting {
		if err := <-errs; err == nil {
			t.Error("a request that hung had an answer")
		}
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines before, %d now:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
		}
	}
}

func askTokenBy(t *testing.T, c *http.Client, a *standin.Azure) answer {
	t.Helper()
	return do(t, c, http.MethodPost, a.Entra.AuthorityHost()+standin.TenantID+"/oauth2/v2.0/token", tokenForm(idToken(t, a)).Encode(),
		"Content-Type", "application/x-www-form-urlencoded")
}

func TestAuthorityNamesServers(t *testing.T) {
	t.Parallel()
	a := authority(t)
	serve := func(certificate tls.Certificate, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		s, err := standin.NewServerWith("x", certificate, http.NotFoundHandler())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s.URL
	}
	c := clients(t, a)["HTTP/2.0"]
	for name, tt := range map[string]struct{ address, fails string }{
		"address":     {serve(a.Server()), ""},
		"localhost":   {strings.Replace(serve(a.Server()), "127.0.0.1", "localhost", 1), ""},
		"other name":  {serve(a.ServerNamed("elsewhere.test")), "127.0.0.1"},
		"expired":     {serve(a.ServerExpired()), "expired"},
		"not trusted": {serve(authority(t).Server()), "unknown authority"},
	} {
		_, err := try(t, c, tt.address)
		if tt.fails == "" && err != nil || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
