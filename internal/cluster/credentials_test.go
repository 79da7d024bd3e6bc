package cluster

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

func TestCredentialsInEachForm(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIODg\nAoGCCqGSM49\n-----END EC PRIVATE KEY-----\n"
	cfg := &rest.Config{BearerToken: "bearer", Password: "pass", Username: "user"}
	cfg.KeyData, cfg.CertData, cfg.CAData = []byte(key), []byte("cert"), []byte("ca")
	cfg.Proxy = http.ProxyURL(&url.URL{Scheme: "http", User: url.UserPassword("proxyuser", "proxy/pass"), Host: "127.0.0.1:3128"})
	base := &url.URL{Scheme: "https", Host: "api.example"}
	have := credentials(cfg, base)
	for _, want := range []string{
		"bearer", "pass", "MHcCAQEEIODg", "AoGCCqGSM49", base64.StdEncoding.EncodeToString([]byte(key)),
		base64.StdEncoding.EncodeToString([]byte("user:pass")),
		"proxy%2Fpass", "proxy/pass", base64.StdEncoding.EncodeToString([]byte("proxyuser:proxy/pass")),
	} {
		if !slices.Contains(have, want) {
			t.Errorf("%q is not hidden", want)
		}
	}
	for _, s := range have {
		if strings.Contains(s, "-----") || slices.Contains([]string{"user", "proxyuser", "cert", "ca", ""}, s) {
			t.Errorf("%q is hidden", s)
		}
	}
	none := &rest.Config{}
	none.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	if hidden := credentials(none, base); len(hidden) > 0 {
		t.Errorf("of nothing, %q is hidden", hidden)
	}
}

// A server may repeat a credential in what it says, wherever that is shortened.
func TestACredentialIsTakenOutBeforeATextIsShortened(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("eyJhbGciOiJSUzI1NiIsImtpZCI6", 30)
	pad := func(n int) string { return strings.Repeat("x", n-5) + " " }
	for name, handler := range map[string]http.HandlerFunc{
		"a message": refuse(400, "BadRequest", pad(maxMessage)+long),
		"a message longer than is looked at": refuse(400, "BadRequest",
			strings.Repeat(" ", 8*maxMessage-10)+long),
		"a reason": refuse(400, pad(maxForeign)+long, ""),
		"a text of something else": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = fmt.Fprint(w, pad(maxForeign)+long)
		},
		"a page of something else": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = fmt.Fprint(w, "<html><body>"+pad(maxForeign)+long)
		},
		"a page instead of an object": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, "<html><body>"+pad(maxForeign)+long)
		},
		"a redirect": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://"+strings.Repeat("x", maxForeign-5)+"."+long+"/")
			w.WriteHeader(http.StatusFound)
		},
		"a warning": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Warning", `299 - "`+pad(maxMessage)+long+`"`)
			refuse(400, "BadRequest", "no")(w, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := serve(t, handler, nil).config()
			cfg.BearerToken = long
			var told []string
			client := connect(t, cfg, WithNotify(func(text string) { told = append(told, text) }))
			_, err := client.Job(t.Context(), testNamespace, testName)
			if err == nil {
				t.Fatal("no error")
			}
			if all := err.Error() + strings.Join(told, "\n"); strings.Contains(all, long[:4]) {
				t.Errorf("a part of the token is in: %s", all)
			}
		})
	}
}

// The end of a watch says something too.
func TestACredentialIsTakenOutOfAnErrorEvent(t *testing.T) {
	t.Parallel()
	c := &Client{}
	long := strings.Repeat("0123456789abcdef", 60)
	c.learn(long)
	body := statusBody(400, "BadRequest", strings.Repeat("x", maxMessage-5)+long)
	if err := c.frameError(call{verb: "watch", resource: jobs}, body); strings.Contains(err.Error(), "0123") || !strings.Contains(err.Error(), "x***") {
		t.Errorf("%v", err)
	}
}

// A token file holds another token after a while, and whatever made the first
// one is not asked about the next.
func TestEachCredentialIsToldBeforeItIsSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "token")
		write := func(token string) {
			if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("first-token")
		var masked, sent []string
		cfg := &rest.Config{Host: "https://api.example", BearerToken: "first-token", BearerTokenFile: file}
		c, err := New(cfg, WithMask(func(s string) { masked = append(masked, s) }))
		if err != nil {
			t.Fatal(err)
		}
		c.conns.make = func() transport {
			return memory{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
				if sent = append(sent, token); !slices.Contains(masked, token) {
					t.Errorf("%q is sent and not masked", token)
				}
				refuse(400, "BadRequest", strings.Repeat("x", maxMessage-5)+token)(w, r)
			}), new(atomic.Int32)}
		}
		c.conns.renew()
		for _, token := range []string{"first-token", "second-token"} {
			write(token)
			time.Sleep(2 * time.Minute) // Tokens are kept for one.
			if _, err := c.Job(t.Context(), testNamespace, testName); err == nil || strings.Contains(err.Error(), token[:3]) {
				t.Errorf("%v", err)
			}
		}
		if !slices.Equal(sent, []string{"first-token", "second-token"}) {
			t.Errorf("sent %q", sent)
		}
	})
}

func TestAPasswordIsLearntFromWhatIsSent(t *testing.T) {
	t.Parallel()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("user", "hunter2")
	c := &Client{}
	c.learnSent(req)
	if text := c.clean("hunter2 dXNlcjpodW50ZXIy", maxMessage); text != "*** ***" {
		t.Errorf("%s", text)
	}
}
