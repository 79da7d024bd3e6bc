package e2e

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// The names under which the public cloud is known, and those of a runner's
// service and of an API server.
const (
	entraName  = "login.microsoftonline.com"
	armName    = "management.azure.com"
	githubName = "run-actions-1-azure-eastus.actions.githubusercontent.com"
	apiName    = "orders-aks-dns-4c1e0b7a.hcp.westeurope.azmk8s.io"
)

// publicCloud puts the stand-ins under the names of the public cloud, which a
// proxy alone can reach, and makes the step use it with a user and a password.
func (s *scene) publicCloud() *standin.Proxy {
	s.t.Helper()
	closing := func(c interface{ Close() error }) {
		s.t.Cleanup(func() {
			if err := c.Close(); err != nil {
				s.t.Error(err)
			}
		})
	}
	proxy, err := standin.NewProxy(s.Azure.Ledger, "ci", "a-password-of-the-proxy-4711")
	if err != nil {
		s.t.Fatal(err)
	}
	closing(proxy)
	for name, server := range map[string]http.Handler{
		entraName: s.Azure.Entra.Server, armName: s.Azure.ARM.Server, githubName: s.Azure.GitHub.Server,
	} {
		certificate, err := s.Azure.Authority.Server(name)
		if err != nil {
			s.t.Fatal(err)
		}
		front, err := standin.NewServerWith(name, certificate, server)
		if err != nil {
			s.t.Fatal(err)
		}
		closing(front)
		proxy.Route(name+":443", front.URL)
	}
	api, err := harness.NewProxy(s.World.Cluster, apiName)
	if err != nil {
		s.t.Fatal(err)
	}
	closing(api)
	proxy.Route(apiName+":443", api.URL)
	if err := s.ConnectTo("https://"+apiName+":443", api.CA); err != nil {
		s.t.Fatal(err)
	}
	// What Entra says of itself has its name in it, and the SDK checks that.
	s.Azure.Entra.URL = "https://" + entraName
	delete(s.Inputs, "authority-host")
	delete(s.Inputs, "resource-manager-endpoint")
	address, err := url.Parse(s.Env["ACTIONS_ID_TOKEN_REQUEST_URL"])
	if err != nil {
		s.t.Fatal(err)
	}
	address.Host = githubName
	s.Env["ACTIONS_ID_TOKEN_REQUEST_URL"] = address.String()
	s.Env["HTTPS_PROXY"] = proxy.URL
	return proxy
}

// TestOIDCThroughAProxy: the public cloud by its own names, reached through a
// company's proxy alone.
func TestOIDCThroughAProxy(t *testing.T) {
	t.Parallel()
	s := signIn(t, harness.Template{})
	proxy := s.publicCloud()
	s.chain()
	hosts := slices.Sorted(slices.Values(proxy.Hosts()))
	if have, want := strings.Join(slices.Compact(hosts), " "), strings.Join([]string{
		entraName + ":443", armName + ":443", apiName + ":443", githubName + ":443",
	}, " "); have != want {
		t.Errorf("the proxy was asked for %s, want %s", have, want)
	}
}

// TestOIDCNoProxy: what NO_PROXY names is asked directly, and is not there.
func TestOIDCNoProxy(t *testing.T) {
	t.Parallel()
	s := signIn(t, harness.Template{})
	proxy := s.publicCloud()
	s.Env["NO_PROXY"] = ".azmk8s.io"
	s.Inputs["timeout"] = "3s"
	// A name that is never looked up, since it cannot be one.
	if err := s.Azure.ChangeCluster(func(c *standin.Cluster) { c.Server = "https://" + nowhere + ":443" }); err != nil {
		t.Fatal(err)
	}
	s.expect(s.run(), want{outcome: "refused", reason: "cluster-unreachable", says: []string{nowhere}})
	for _, host := range proxy.Hosts() {
		if strings.Contains(host, "azmk8s.io") {
			t.Errorf("the proxy was asked for %s", host)
		}
	}
	if len(proxy.Hosts()) == 0 {
		t.Error("the proxy was asked for nothing")
	}
}

// TestOIDCSignals: while signing in hangs, a signal ends the run, and nothing was
// done that has to be taken up again.
func TestOIDCSignals(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"term": syscall.SIGTERM, "int": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := signIn(t, harness.Template{})
			s.Azure.Entra.On(standin.Any, -1, standin.Hang())
			run := s.start()
			s.eventually("Entra is asked", func() bool { return len(s.Azure.Entra.Requests()) > 0 })
			run.signal(signal)
			s.expect(run.wait(), want{outcome: "cancelled", reason: "cancelled", says: []string{"before anything was dispatched"}})
			s.expectUntouched()
			s.Azure.Entra.Reset()
			s.expect(s.run(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
		})
	}
}

// TestOIDCKilledWhileSigningIn: a re-run begins anew.
func TestOIDCKilledWhileSigningIn(t *testing.T) {
	t.Parallel()
	s := signIn(t, harness.Template{})
	s.Azure.ARM.On(standin.Any, -1, standin.Hang())
	run := s.start()
	s.eventually("Azure Resource Manager is asked", func() bool { return len(s.Azure.ARM.Requests()) > 0 })
	run.kill()
	s.Azure.ARM.Reset()
	s.expect(s.run(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
}

// TestOIDCEntraNeverAnswers: signing in has a limit of its own.
func TestOIDCEntraNeverAnswers(t *testing.T) {
	t.Parallel()
	s := signIn(t, harness.Template{})
	s.Azure.Entra.On(standin.Any, -1, standin.Hang())
	e := s.run()
	s.expect(e, want{outcome: "refused", reason: "credential-failed", says: []string{strings.TrimPrefix(s.Azure.Entra.URL, "https://")}})
	s.expectUntouched()
}
