package azure

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aks-oneshot/aks-oneshot/internal/network"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// world is everything that Connect meets, with a run that is about to connect.
type world struct {
	*standin.Azure
	t       *testing.T
	api     *standin.Server
	options Options
	env     map[string]string

	mu      sync.Mutex
	masked  map[string]bool
	notices []string
}

// brisk does what is usual without the waiting.
func brisk() *pace {
	return &pace{
		limit: time.Minute,
		retries: policy.RetryOptions{
			MaxRetries: 3, RetryDelay: time.Millisecond, MaxRetryDelay: 2 * time.Second, TryTimeout: 20 * time.Second,
		},
		again:      time.Minute,
		unknownYet: []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond},
		patience:   20 * time.Second,
		az:         20 * time.Second,
	}
}

// newWorld returns one in which Connect succeeds, for a job of GitHub.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, masked: map[string]bool{}, env: map[string]string{}}
	authority, err := standin.NewAuthority("cluster")
	if err != nil {
		t.Fatal(err)
	}
	if w.api, err = standin.NewServer("api", authority, http.HandlerFunc(w.serveAPI)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.api.Close() })
	if w.Azure, err = standin.NewAzure(t.TempDir(), w.api.URL, authority.PEM); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	public, _ := CloudNamed(PublicCloud)
	w.options = Options{
		Auth: GitHub, TenantID: standin.TenantID, ClientID: standin.ClientID, IDToken: w.idToken,
		Getenv:  func(name string) string { return w.env[name] },
		Cloud:   public.With(w.Entra.AuthorityHost(), w.ARM.URL, ""),
		Cluster: Cluster{standin.SubscriptionID, standin.ResourceGroup, standin.ClusterName},
		Version: "v0.0.0-test", Mask: w.mask, Notify: w.notify,
		network: network.ClientOptions{RootCAs: w.Authority.Pool(), Proxy: noProxy, Sending: w.sending},
		pace:    brisk(),
	}
	return w
}

// hangingToTheLimit is an answer that does not come: when it is waited for, the
// time to connect in is up.
func (w *world) hangingToTheLimit() standin.Answer {
	over := make(chan struct{})
	end := sync.OnceFunc(func() { close(over) })
	w.options.pace.over = over
	return func(rw http.ResponseWriter, r *http.Request, own http.Handler) {
		end()
		standin.Hang()(rw, r, own)
	}
}

func noProxy(*http.Request) (*url.URL, error) { return nil, nil }

func (w *world) connect() (*Connection, error) { return Connect(w.t.Context(), w.options) }

func (w *world) mask(secret string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.masked[secret] = true
}

func (w *world) isMasked(secret string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.masked[secret]
}

func (w *world) notify(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notices = append(w.notices, text)
}

func (w *world) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.notices)
}

// idToken is what a host does: it asks GitHub's service, and masks.
func (w *world) idToken(ctx context.Context, audience string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.GitHub.RequestURL+"&audience="+url.QueryEscape(audience), http.NoBody)
	if err != nil {
		return "", err
	}
	w.mask(w.GitHub.RequestToken)
	req.Header.Set("Authorization", "Bearer "+w.GitHub.RequestToken)
	transport := w.Authority.Transport()
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Value string `json:"value"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return "", fmt.Errorf("GitHub answered HTTP %d: %w", resp.StatusCode, err)
	}
	w.mask(answer.Value)
	return answer.Value, nil
}

// sending is shown each request of the SDK before it is sent: whatever proves an
// identity in it must have been masked.
func (w *world) sending(req *http.Request) {
	if _, credential, ok := strings.Cut(req.Header.Get("Authorization"), " "); ok && !w.isMasked(credential) {
		w.t.Errorf("%s %s is sent with a credential that is not masked", req.Method, req.URL.Path)
	}
	if header := req.Header.Get("X-Identity-Header"); header != "" && !w.isMasked(header) {
		w.t.Errorf("%s %s is sent with an identity header that is not masked", req.Method, req.URL.Path)
	}
	if req.Body == nil || req.Method != http.MethodPost || !strings.HasSuffix(req.URL.Path, "/token") {
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		w.t.Error(err)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	if form, err := url.ParseQuery(string(body)); err != nil || form.Get("client_assertion") != "" && !w.isMasked(form.Get("client_assertion")) {
		w.t.Errorf("%s is sent an id token that is not masked (%v)", req.URL.Path, err)
	}
}

// serveAPI plays an API server that knows who has a token of the tenant, or a
// certificate.
func (w *world) serveAPI(rw http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !w.isMasked(token) {
		w.t.Errorf("%s is sent a credential that is not masked", r.URL.Path)
	}
	if _, err := w.Entra.Verify(token, standin.TenantID, standin.AKSServerID); err != nil {
		http.Error(rw, `{"kind":"Status","code":401}`, http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Error(err)
	}
	rw.Header().Set("Content-Type", "application/json")
	_, _ = rw.Write(body)
}

// scan looks for secrets in what is told.
func (w *world) scan(err error) {
	w.t.Helper()
	for _, found := range w.Ledger.Scan("the error", fmt.Appendf(nil, "%v\n%+v", err, err)) {
		w.t.Error(found)
	}
	for _, found := range w.Ledger.Scan("a notice", []byte(strings.Join(w.told(), "\n"))) {
		w.t.Error(found)
	}
}

// paths are the requests of the stand-ins, as METHOD SERVICE PATH, sorted.
func (w *world) paths() []string {
	var all []string
	for _, r := range w.Requests() {
		last := r.Path[strings.LastIndexByte(r.Path, '/')+1:]
		all = append(all, r.Method+" "+r.Service+" "+last)
	}
	slices.Sort(all)
	return all
}

// TestMain has a name server that knows nobody: names end in .missing do not
// exist, about others it cannot tell.
func TestMain(m *testing.M) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		message := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(message)
			if err != nil {
				return
			}
			// The question, made an answer (RFC 1035, section 4.1.1).
			message[2] |= 0x80
			message[3] = 0x82
			if bytes.Contains(message[:n], []byte("\x07missing\x00")) {
				message[3] = 0x83
			}
			_, _ = server.WriteTo(message[:n], from)
		}
	}()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	os.Exit(m.Run())
}
