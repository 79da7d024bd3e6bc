package github

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/network"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

const bearer = "request-token-never-shown"

// service is the runner's service for id tokens.
type service struct {
	*httptest.Server

	mu       sync.Mutex
	key      *ecdsa.PrivateKey
	issued   []string
	requests []string
}

// serve starts a service; answer misbehaves where a test wants it to, with the
// number of the request, and returns false for those to be answered well.
func serve(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request) bool) *service {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{key: key}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.RequestURI+" "+r.Header.Get("Authorization"))
		n := len(s.requests)
		s.mu.Unlock()
		if answer == nil || !answer(n, w, r) {
			_ = json.NewEncoder(w).Encode(map[string]any{"count": 1, "value": s.issue(t, r.URL.Query().Get("audience"))})
		}
	}))
	certificate, err := authority().Server()
	if err != nil {
		t.Fatal(err)
	}
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// issue makes an id token that nobody has seen before.
func (s *service) issue(t *testing.T, audience string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	part := func(claims map[string]any) string {
		data, err := json.Marshal(claims)
		if err != nil {
			t.Error(err)
		}
		return base64.RawURLEncoding.EncodeToString(data)
	}
	signed := part(map[string]any{"alg": "ES256", "typ": "JWT"}) + "." + part(map[string]any{"aud": audience, "jti": rand.Text()})
	digest := sha256.Sum256([]byte(signed))
	r, v, err := ecdsa.Sign(rand.Reader, s.key, digest[:])
	if err != nil {
		t.Error(err)
	}
	signature := append(r.FillBytes(make([]byte, 32)), v.FillBytes(make([]byte, 32))...)
	token := signed + "." + base64.RawURLEncoding.EncodeToString(signature)
	s.issued = append(s.issued, token)
	return token
}

func (s *service) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

// job is a step whose job may ask the service for id tokens.
func (s *service) job(t *testing.T, query string) (*Host, *bytes.Buffer) {
	t.Helper()
	h, stdout := step(t, map[string]string{requestURL: s.URL + query, requestToken: bearer})
	h.idTokens = newIDTokens(network.ClientOptions{RootCAs: authority().Pool()})
	h.idTokens.pause = time.Millisecond
	return h, stdout
}

// authority is the one that the service's certificate is from.
var authority = sync.OnceValue(func() *standin.Authority {
	a, err := standin.NewAuthority("GitHub")
	if err != nil {
		panic(err)
	}
	return a
})

// TestMain has a name server that knows nobody, see [standin.Names].
func TestMain(m *testing.M) {
	names, err := standin.NewNames()
	if err != nil {
		panic(err)
	}
	net.DefaultResolver = names.Resolver()
	os.Exit(m.Run())
}
