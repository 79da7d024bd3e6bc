package azure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// visit sends a request to the API server as client-go does.
func visit(t *testing.T, c *Connection, method, body string) (status int, answer string) {
	t.Helper()
	client, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), method, c.Config.Host+"/apis/batch/v1/jobs", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// known makes sure that the API server knows who connects.
func (w *world) known(c *Connection, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	if status, answer := visit(w.t, c, http.MethodPost, `{"kind":"Job"}`); status != http.StatusOK || answer != `{"kind":"Job"}` {
		w.t.Errorf("the API server answers %d: %s", status, answer)
	}
	if c.ObjectID != standin.ObjectID {
		w.t.Errorf("the object is %q", c.ObjectID)
	}
	w.scan(nil)
}

// asked compares the requests with those that are wanted, each a text and how
// often.
func (w *world) asked(want map[string]int) {
	w.t.Helper()
	got := map[string]int{}
	for _, path := range w.paths() {
		got[path]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("the requests (-want +got):\n%s", diff)
	}
}

// usualRequests are those of a job of GitHub. There is a look at Entra's
// addresses for each token.
func usualRequests() map[string]int {
	return map[string]int{
		"GET github idtoken": 2, "GET entra openid-configuration": 2, "POST entra token": 2,
		"GET arm orders-aks": 1, "POST arm listClusterUserCredential": 1,
	}
}

func TestConnectAsGitHub(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.known(w.connect())
	w.asked(usualRequests())
	want := []string{"AKS cluster orders-aks in resource group orders-production, Kubernetes 1.34.2; its API server is asked with a token of Entra, as the object " + standin.ObjectID}
	if diff := cmp.Diff(want, w.told()); diff != "" {
		t.Errorf("people are told (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{w.ARM.URL: 1, standin.AKSServerID: 1}, w.Entra.IssuedFor()); diff != "" {
		t.Errorf("the tokens (-want +got):\n%s", diff)
	}
	if repeated := w.Entra.Repeated(); len(repeated) > 0 {
		t.Errorf("id tokens are shown again: %v", repeated)
	}
}

// meeting answers nobody until so many are there.
func meeting(t *testing.T, people int) standin.Answer {
	t.Helper()
	var mu sync.Mutex
	there, all := 0, make(chan struct{})
	return func(rw http.ResponseWriter, r *http.Request, own http.Handler) {
		mu.Lock()
		if there++; there == people {
			close(all)
		}
		mu.Unlock()
		select {
		case <-all:
			own.ServeHTTP(rw, r)
		case <-time.After(30 * time.Second):
			t.Errorf("%s %s is alone", r.Method, r.URL.Path)
			panic(http.ErrAbortHandler)
		case <-r.Context().Done():
		}
	}
}

// What can happen at the same time does: of each pair none is answered before
// both are there.
func TestConnectAsksAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.GitHub.On(standin.PathEnds("/idtoken"), -1, meeting(t, 2))
	w.Entra.On(document, -1, meeting(t, 2))
	w.Entra.On(tokenRequest, -1, meeting(t, 2))
	w.ARM.On(standin.Any, -1, meeting(t, 2))
	w.known(w.connect())
	w.asked(usualRequests())
}

// The id tokens are asked for while Entra is still asked for its addresses.
func TestConnectAsksForIDTokensAhead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	together := meeting(t, 4)
	w.GitHub.On(standin.PathEnds("/idtoken"), -1, together)
	w.Entra.On(document, -1, together)
	w.known(w.connect())
	w.asked(usualRequests())
}

// The API server's token is not waited for where its certificate does.
func TestConnectDoesNotWaitForATokenThatIsNotNeeded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withCertificate(w)
	scoped := func(r *http.Request) bool {
		return tokenRequest(r) && r.ParseForm() == nil && strings.Contains(r.PostForm.Get("scope"), standin.AKSServerID)
	}
	w.Entra.On(scoped, -1, standin.Hang())
	if _, err := w.connect(); err != nil {
		t.Fatal(err)
	}
}

func withCertificate(w *world) {
	certificate, key, err := w.Authority.Client("masterclient", "system:masters")
	if err != nil {
		w.t.Fatal(err)
	}
	cluster(func(c *standin.Cluster) {
		c.User = standin.User{Certificate: certificate, Key: key, Token: "tok-never-shown-1234"}
	})(w)
}

func TestConnectTakesTheKubeconfigsCredential(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world){
		"user": withCertificate,
		"admin": func(w *world) {
			certificate, key, err := w.Authority.Client("masterclient", "system:masters")
			if err != nil {
				w.t.Fatal(err)
			}
			asAdmin(w)
			cluster(func(c *standin.Cluster) { c.Admin = standin.User{Certificate: certificate, Key: key} })(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			change(w)
			c, err := w.connect()
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Config.CertData) == 0 || len(c.Config.KeyData) == 0 || c.Config.WrapTransport != nil || c.ObjectID != "" || c.Config.Host != w.api.URL {
				t.Errorf("it connects to %s as %q, with a token %v", c.Config.Host, c.ObjectID, c.Config.WrapTransport != nil)
			}
			w.scan(nil)
			want := []string{"AKS cluster orders-aks in resource group orders-production, Kubernetes 1.34.2; its kubeconfig has a credential of its own, so the API server is not asked with a token of Entra"}
			if diff := cmp.Diff(want, w.told()); diff != "" {
				t.Errorf("people are told (-want +got):\n%s", diff)
			}
			if name == "admin" {
				w.asked(map[string]int{
					"GET github idtoken": 1, "GET entra openid-configuration": 1, "POST entra token": 1,
					"GET arm orders-aks": 1, "POST arm listClusterAdminCredential": 1,
				})
			}
		})
	}
}

// The administrator's kubeconfig may be one with a plugin too.
func TestConnectAsAdministratorByEntra(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asAdmin(w)
	w.known(w.connect())
}

func TestConnectForAnotherServerApplication(t *testing.T) {
	t.Parallel()
	const id = "11111111-2222-3333-4444-555555555555"
	for name, raw := range map[string]map[string]any{
		"exec": {"exec": map[string]any{
			"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "kubelogin", "interactiveMode": "Never",
			"args": []string{"get-token", "--server-id", id}, "env": []any{map[string]any{"name": "LD_PRELOAD", "value": "/evil.so"}},
		}},
		"auth-provider": {"auth-provider": map[string]any{"name": "azure", "config": map[string]any{"apiserver-id": id}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Entra.Change(func(o *standin.EntraOptions) { o.Resources = append(o.Resources, id) })
			user(raw)(w)
			c, err := w.connect()
			if err != nil {
				t.Fatal(err)
			}
			if c.ObjectID != standin.ObjectID || c.Config.ExecProvider != nil || c.Config.AuthProvider != nil {
				t.Errorf("it connects as %+v", c)
			}
			if n := w.Entra.IssuedFor()[id]; n != 1 {
				t.Errorf("%d tokens are issued for the application", n)
			}
		})
	}
}

func TestConnectToTheNameThatIsWanted(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	names := func(c *standin.Cluster) {
		c.Private = true
		c.Server, c.PublicServer = "https://from-aks.example:443", "https://public.example:443"
	}
	for name, c := range map[string]struct {
		private *bool
		want    string
	}{
		"what AKS hands out": {nil, "https://from-aks.example:443"},
		"the public one":     {&no, "https://public.example:443"},
		"the private one":    {&yes, "https://orders-aks-dns-4c1e0b7a.7b6a4f7e-0f1c-4a6f-9f0e-3f1d2c5b6a79.privatelink.westeurope.azmk8s.io:443"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			cluster(names)(w)
			w.options.PrivateFQDN = c.private
			got, err := w.connect()
			if err != nil {
				t.Fatal(err)
			}
			if got.Config.Host != c.want {
				t.Errorf("it connects to %s", got.Config.Host)
			}
		})
	}
}

func TestConnectToAClusterInTrouble(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cluster(func(c *standin.Cluster) { c.State, c.AzureRBAC = "Failed", true })(w)
	c, err := w.connect()
	w.known(c, err)
	if !c.AzureRBAC {
		t.Error("Azure is not asked who may do what")
	}
	if told := strings.Join(w.told(), "\n"); !strings.Contains(told, "is in the state Failed") {
		t.Errorf("people are told %s", told)
	}
}

// Reading the cluster only explains: without it, or without an answer to it, one
// connects all the same.
func TestConnectWithoutTheClustersProperties(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(*world){
		"forbidden": func(w *world) {
			w.ARM.Forbid(standin.ObjectID)
			w.ARM.Allow(standin.ObjectID, standin.ActionListUser)
		},
		"hanging": func(w *world) {
			w.options.pace.patience = 50 * time.Millisecond
			w.ARM.On(reading, -1, standin.Hang())
		},
		"without properties": func(w *world) {
			w.ARM.On(reading, -1, standin.Status(http.StatusOK, `{"properties":null}`, "Content-Type", "application/json"))
		},
		"rubbish": func(w *world) { w.ARM.On(reading, -1, standin.HTML(http.StatusOK)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			arrange(w)
			w.known(w.connect())
			told := strings.Join(w.told(), "\n")
			if strings.Contains(told, "could not be read") != (name != "without properties") {
				t.Errorf("people are told %s", told)
			}
		})
	}
}

// Of several kubeconfigs the first one counts that is there.
func TestConnectWithSeveralKubeconfigs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ARM.On(listing, 1, func(rw http.ResponseWriter, r *http.Request, own http.Handler) {
		recorder := &recorded{ResponseWriter: rw}
		own.ServeHTTP(recorder, r)
		body := strings.Replace(string(recorder.body), `{"kubeconfigs":[`, `{"kubeconfigs":[null,{"name":"empty"},`, 1)
		body = strings.TrimSuffix(body, "]}") + `,{"name":"other","value":"AAAA"}]}`
		rw.Header().Del("Content-Length")
		_, _ = io.WriteString(rw, body)
	})
	w.known(w.connect())
}

type recorded struct {
	http.ResponseWriter
	body []byte
}

func (r *recorded) Write(p []byte) (int, error) { r.body = append(r.body, p...); return len(p), nil }
func (*recorded) WriteHeader(int)               {}

// A federated credential that was just made is not known everywhere: it is asked
// again, and told once though two tokens are asked for.
func TestConnectAsksAgainForANewCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Entra.ChangeApp(standin.TenantID, standin.ClientID, func(a *standin.App) { a.NotYet = 4 })
	w.known(w.connect())
	told := w.told()
	if len(told) != 2 || !strings.Contains(told[0], "AADSTS700213") {
		t.Errorf("people are told %q", told)
	}
	w.asked(map[string]int{
		"GET github idtoken": 6, "GET entra openid-configuration": 6, "POST entra token": 6,
		"GET arm orders-aks": 1, "POST arm listClusterUserCredential": 1,
	})
	if repeated := w.Entra.Repeated(); len(repeated) > 0 {
		t.Errorf("id tokens are shown again: %v", repeated)
	}
}

// What a network or a busy service spoils is repeated: once each.
func TestConnectRepeatsWhatMayPass(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(w *world){
		"503":      func(w *world) { w.Entra.On(tokenRequest, 1, standin.HTML(http.StatusServiceUnavailable)) },
		"429":      func(w *world) { w.Entra.On(tokenRequest, 1, w.Entra.Error(90055, "Retry-After", "1")) },
		"dropped":  func(w *world) { w.Entra.On(tokenRequest, 1, standin.Abort()) },
		"cut":      func(w *world) { w.Entra.On(tokenRequest, 1, standin.AbortBody()) },
		"document": func(w *world) { w.Entra.On(document, 1, standin.HTML(http.StatusBadGateway)) },
		"arm 503":  func(w *world) { w.ARM.On(listing, 1, standin.HTML(http.StatusServiceUnavailable)) },
		"arm 429": func(w *world) {
			w.ARM.On(listing, 1, standin.ARMError(http.StatusTooManyRequests, "TooManyRequests", "x", "Retry-After", "1"))
		},
		"arm cut":      func(w *world) { w.ARM.On(listing, 1, standin.AbortBody()) },
		"arm read cut": func(w *world) { w.ARM.On(reading, 1, standin.AbortBody()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			arrange(w)
			w.known(w.connect())
			if more := len(w.paths()) - len(asList(usualRequests())); more != 1 {
				t.Errorf("there are %d requests more than usual: %v", more, w.paths())
			}
		})
	}
}

func asList(counts map[string]int) []string {
	var all []string
	for path, n := range counts {
		all = append(all, slices.Repeat([]string{path}, n)...)
	}
	return all
}

// A failure that lasts is asked for as often as it takes, and no more: no retry is
// within another.
func TestConnectDoesNotMultiplyRetries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		arrange func(w *world)
		want    map[string]int
	}{
		"Entra is away": {
			func(w *world) { w.Entra.On(document, -1, standin.HTML(http.StatusServiceUnavailable)) },
			map[string]int{"GET github idtoken": 2, "GET entra openid-configuration": 8},
		},
		"the token is refused": {
			func(w *world) { w.Entra.On(tokenRequest, -1, w.Entra.Error(53003)) },
			map[string]int{"GET github idtoken": 2, "GET entra openid-configuration": 2, "POST entra token": 2},
		},
		"Azure Resource Manager is away": {
			func(w *world) { w.ARM.On(standin.Any, -1, standin.HTML(http.StatusServiceUnavailable)) },
			map[string]int{
				"GET github idtoken": 2, "GET entra openid-configuration": 2, "POST entra token": 2,
				"GET arm orders-aks": 4, "POST arm listClusterUserCredential": 4,
			},
		},
		"Azure Resource Manager does not know the token": {
			func(w *world) {
				w.ARM.On(standin.Any, -1, standin.ARMError(http.StatusUnauthorized, "InvalidAuthenticationToken", "The access token is invalid."))
			},
			map[string]int{
				"GET github idtoken": 2, "GET entra openid-configuration": 2, "POST entra token": 2,
				"GET arm orders-aks": 1, "POST arm listClusterUserCredential": 1,
			},
		},
		"the answer is too large": {
			func(w *world) { w.ARM.On(standin.Any, -1, standin.Huge(8<<20)) },
			map[string]int{
				"GET github idtoken": 2, "GET entra openid-configuration": 2, "POST entra token": 2,
				"GET arm orders-aks": 1, "POST arm listClusterUserCredential": 1,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.arrange(w)
			if _, err := w.connect(); err == nil {
				t.Fatal("it connects")
			}
			// The token of the API server may still be on its way.
			for range 100 {
				if len(w.paths()) >= len(asList(c.want)) {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			got := map[string]int{}
			for _, path := range w.paths() {
				got[path]++
			}
			for path, n := range got {
				if n > c.want[path] {
					t.Errorf("%s is sent %d times, want %d", path, n, c.want[path])
				}
			}
		})
	}
}

// A service may want a token for what it says (continuous access evaluation).
func TestConnectAnswersAClaimsChallenge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	challenge := `Bearer realm="", error="insufficient_claims", claims="eyJhY2Nlc3NfdG9rZW4iOnt9fQ=="`
	w.ARM.On(listing, 1, standin.Status(http.StatusUnauthorized, "{}", "WWW-Authenticate", challenge))
	w.known(w.connect())
	if n := w.Entra.IssuedFor()[w.ARM.URL]; n != 2 {
		t.Errorf("%d tokens are issued for Azure Resource Manager", n)
	}
}

func TestConnectEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(w *world, arrived standin.Answer){
		"at GitHub": func(w *world, a standin.Answer) { w.GitHub.On(standin.Any, -1, a) },
		"at Entra":  func(w *world, a standin.Answer) { w.Entra.On(standin.Any, -1, a) },
		"at ARM":    func(w *world, a standin.Answer) { w.ARM.On(standin.Any, -1, a) },
		"between tries": func(w *world, a standin.Answer) {
			w.options.pace.unknownYet = []time.Duration{time.Hour}
			w.Entra.On(tokenRequest, -1, func(rw http.ResponseWriter, r *http.Request, _ http.Handler) {
				w.Entra.Error(700213)(rw, r, nil)
				go a(rw, r, nil)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			stop := errors.New("told to stop")
			ctx, cancel := context.WithCancelCause(t.Context())
			arrange(w, func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
				cancel(stop)
				<-r.Context().Done()
			})
			_, err := Connect(ctx, w.options)
			if failure.CodeOf(err) != failure.Cancelled || !errors.Is(err, stop) {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

// Renewing in a pod reads the file again.
func TestConnectFromAPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inPod(w)
	c, err := w.connect()
	w.known(c, err)
	w.asked(map[string]int{"GET entra openid-configuration": 2, "POST entra token": 2, "GET arm orders-aks": 1, "POST arm listClusterUserCredential": 1})
	second, err := w.GitHub.Token(standin.TokenAudience)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.env["AZURE_FEDERATED_TOKEN_FILE"], []byte(second+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.api.On(standin.Any, 1, standin.Status(http.StatusUnauthorized, "{}"))
	w.known(c, nil)
	ids := map[string]bool{}
	for _, shown := range w.Entra.Assertions() {
		ids[shown.ID] = true
	}
	if len(ids) != 2 {
		t.Errorf("%d id tokens are shown", len(ids))
	}
}

// TestConnectByTheEnvironment is about those ways for which the SDK reads the
// environment of the process. What it could read in place of the inputs is there
// too, and does not count.
func TestConnectByTheEnvironment(t *testing.T) {
	decoys := map[string]string{
		"AZURE_AUTHORITY_HOST": "https://login.missing/", "AZURE_TENANT_ID": "00000000-0000-0000-0000-00000000dead",
		"AZURE_CLIENT_ID": "00000000-0000-0000-0000-00000000dead", "AZURE_CLIENT_SECRET": "never-shown-5678", "AZURE_FEDERATED_TOKEN_FILE": "/nowhere",
		"AZURE_TOKEN_CREDENTIALS": "prod",
	}
	t.Run("github", func(t *testing.T) {
		w := newWorld(t)
		w.env = decoys
		w.setenv()
		w.known(w.connect())
		w.asked(usualRequests())
	})
	t.Run("azure-pipelines", func(t *testing.T) {
		w := newWorld(t)
		onPipelines(w)
		for name, value := range decoys {
			w.env[name] = value
		}
		w.setenv()
		w.known(w.connect())
		w.asked(map[string]int{
			"POST azure-pipelines oidctoken": 2, "GET entra openid-configuration": 2, "POST entra token": 2,
			"GET arm orders-aks": 1, "POST arm listClusterUserCredential": 1,
		})
		if repeated := w.Entra.Repeated(); len(repeated) > 0 {
			t.Errorf("id tokens are shown again: %v", repeated)
		}
	})
	for _, id := range []string{"", standin.ClientID} {
		t.Run("managed-identity "+id, func(t *testing.T) {
			w := newWorld(t)
			w.options.Auth, w.options.IDToken, w.options.TenantID, w.options.ClientID = ManagedIdentity, nil, "", id
			identity := w.Entra.NewIdentity(standin.TenantID, standin.ClientID)
			w.env = map[string]string{"IDENTITY_ENDPOINT": identity.Endpoint, "IDENTITY_HEADER": identity.Header}
			w.setenv()
			// All such credentials of a process share a cache, by audience.
			w.Entra.Change(func(o *standin.EntraOptions) { o.Lifetime = time.Minute })
			w.known(w.connect())
			w.asked(map[string]int{"GET entra token": 2, "GET arm orders-aks": 1, "POST arm listClusterUserCredential": 1})
		})
	}
	t.Run("azure-cli", func(t *testing.T) {
		w := newWorld(t)
		w.options.Auth, w.options.IDToken, w.options.ClientID = CLI, nil, ""
		calls := filepath.Join(t.TempDir(), "calls")
		var script strings.Builder
		fmt.Fprintf(&script, "echo \"$*\" >> %s\ncase \"$*\" in\n", shell(calls))
		script.WriteString("*--tenant*--subscription*) echo ERROR: Please specify only one of subscription and tenant, not both >&2; exit 1;;\n")
		for _, audience := range []string{w.ARM.URL, standin.AKSServerID} {
			fmt.Fprintf(&script, "*--resource\\ %s*) cat <<'END'\n%s\nEND\n;;\n", audience, w.azPrints(audience))
		}
		script.WriteString("*) echo ERROR: what is this >&2; exit 2;;\nesac\n")
		w.env = map[string]string{"PATH": fakeAz(t, script.String())}
		w.setenv()
		w.known(w.connect())
		data, err := os.ReadFile(calls)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSpace(string(data)), "\n")
		slices.Sort(got)
		want := []string{
			"account get-access-token -o json --resource " + standin.AKSServerID + " --subscription " + standin.SubscriptionID,
			"account get-access-token -o json --resource " + w.ARM.URL + " --subscription " + standin.SubscriptionID,
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("az is run as (-want +got):\n%s", diff)
		}
	})
	t.Run("a region", func(t *testing.T) {
		w := newWorld(t)
		w.env = map[string]string{"AZURE_REGIONAL_AUTHORITY_NAME": "westeurope"}
		w.setenv()
		if _, err := w.connect(); err == nil {
			t.Fatal("it connects to a region that is not there")
		}
		if told := w.told(); len(told) == 0 || !strings.HasPrefix(told[0], "AZURE_REGIONAL_AUTHORITY_NAME is set") {
			t.Errorf("people are told %q", told)
		}
	})
}
