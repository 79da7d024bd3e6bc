package azure

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

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
	w.knownAs(standin.ObjectID, c, err)
}

// knownAs is known for another user.
func (w *world) knownAs(user string, c *Connection, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	if status, answer := visit(w.t, c, http.MethodPost, `{"kind":"Job"}`); status != http.StatusOK || answer != `{"kind":"Job"}` {
		w.t.Errorf("the API server answers %d: %s", status, answer)
	}
	if c.User != user {
		w.t.Errorf("the user is %q, want %q", c.User, user)
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
	want := []string{"AKS cluster orders-aks in resource group orders-production, Kubernetes 1.34.2; its API server is asked with a token of Entra, as the user " + standin.ObjectID}
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
			if len(c.Config.CertData) == 0 || len(c.Config.KeyData) == 0 || c.Config.WrapTransport != nil || c.User != "" || c.Config.Host != w.api.URL {
				t.Errorf("it connects to %s as %q, with a token %v", c.Config.Host, c.User, c.Config.WrapTransport != nil)
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
			if c.User != standin.ObjectID || c.Config.ExecProvider != nil || c.Config.AuthProvider != nil {
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

func (*recorded) WriteHeader(int) {}
