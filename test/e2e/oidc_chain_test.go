package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// chain runs a Job through the whole chain and once more, and checks that the
// API server knew the job of the workflow by its Entra object.
func (s *scene) chain(says ...string) harness.Ended {
	s.t.Helper()
	e := s.run()
	s.expect(e, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, says: says})
	s.expectKnownAs(s.User)
	s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1, says: says})
	return e
}

// expectKnownAs checks in the audit log that one user alone asked for what the
// scenario is about, and created its Job.
func (s *scene) expectKnownAs(user string) {
	s.t.Helper()
	creates, err := s.Creates(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, create := range creates {
		if create.User != user {
			s.t.Errorf("the Job was created by %q, want %q", create.User, user)
		}
	}
	if len(creates) != 1 || len(s.requests()) < 5 {
		s.t.Errorf("%d creates, %d requests as %s", len(creates), len(s.requests()), user)
	}
}

// TestOIDCChain: id token, Entra, Azure Resource Manager, a token that the API
// server itself checks, and the Job.
func TestOIDCChain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// as makes the step what it is about, says is the way of signing in.
		as   func(s *scene) error
		says string
	}{
		"github": {func(*scene) error { return nil }, "signing in to Entra by github: this is a job of a GitHub workflow"},
		"azure-pipelines": {
			func(s *scene) error { s.Azure.FromPipelines(); return nil },
			"signing in to Entra by azure-pipelines: this is a job of Azure Pipelines",
		},
		"azure-pipelines-task": {
			func(s *scene) error {
				s.Azure.FromPipelines()
				// A task AzureCLI@2 says as whom it is logged in.
				s.Env["AZURESUBSCRIPTION_CLIENT_ID"], s.Env["AZURESUBSCRIPTION_TENANT_ID"] = standin.ClientID, harness.TenantID
				s.Env["AZURESUBSCRIPTION_SERVICE_CONNECTION_ID"] = s.Inputs["service-connection"]
				delete(s.Inputs, "client-id")
				delete(s.Inputs, "service-connection")
				return nil
			},
			"signing in to Entra by azure-pipelines: this is a job of Azure Pipelines",
		},
		"workload-identity": {
			func(s *scene) error { return s.Azure.FromPod() },
			"signing in to Entra by workload-identity: AZURE_FEDERATED_TOKEN_FILE is set",
		},
		"managed-identity": {
			func(s *scene) error { s.Azure.FromAppService(); return nil },
			"signing in to Entra by managed-identity: it is the input auth",
		},
		"azure-cli": {
			func(s *scene) error {
				if err := s.Azure.FromTerminal(); err != nil {
					return err
				}
				return s.Azure.Bind(s.t.Context())
			},
			"signing in to Entra by azure-cli: it is the input auth",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := signIn(t, harness.Template{})
			if err := c.as(s); err != nil {
				t.Fatal(err)
			}
			s.chain(c.says, s.User, "AKS cluster "+standin.ClusterName)
			s.expectNoIDTokenTwice()
		})
	}
}

// TestOIDCTokensAreHiddenByTheRunner: before it uses a token, the action tells
// the runner to hide it.
func TestOIDCTokensAreHiddenByTheRunner(t *testing.T) {
	t.Parallel()
	s := signIn(t, harness.Template{})
	e := s.run()
	s.expect(e, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
	_, masks := harness.SplitMasks(e.Stdout)
	hidden := strings.Join(s.Azure.Ledger.Scan("the masks", []byte(masks)), "\n")
	for _, kind := range []string{
		"an id token of GitHub", "the request token of GitHub",
		"an access token for " + standin.AKSServerID, "an access token for " + s.Azure.ARM.URL,
	} {
		if !strings.Contains(hidden, kind) {
			t.Errorf("the runner is not told to hide %s, only of:\n%s", kind, hidden)
		}
	}
}

// TestOIDCClientCertificate: a cluster with local accounts hands out a client
// certificate, and no token is asked for in its stead.
func TestOIDCClientCertificate(t *testing.T) {
	t.Parallel()
	for name, admin := range map[string]bool{"user": false, "admin": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := signInUnbound(t, harness.Template{})
			s.User = "masterclient:" + s.Name
			certificate, key, err := clients.Client(s.User, "system:serviceaccounts:"+harness.RunnersNamespace)
			if err != nil {
				t.Fatal(err)
			}
			s.Azure.ARM.AllowAt(s.Azure.ObjectID, s.Azure.ClusterID(), standin.RoleClusterAdmin...)
			if err := s.Azure.ChangeCluster(func(c *standin.Cluster) {
				c.NoEntra = true
				if admin {
					c.Admin = standin.User{Certificate: certificate, Key: key}
				} else {
					c.User = standin.User{Certificate: certificate, Key: key}
				}
			}); err != nil {
				t.Fatal(err)
			}
			if admin {
				s.Inputs["admin"] = "true"
			}
			s.chain("signing in to Entra by github", "has a credential of its own")
			s.expectNoIDTokenTwice()
			if n := s.issuedFor(standin.AKSServerID); admin && n != 0 {
				t.Errorf("%d tokens for the API server were issued", n)
			}
		})
	}
}

// TestOIDCPluginIsNotRun: the kubeconfig that Azure hands out names a program,
// which the container lacks. It is never run where it is there, either.
func TestOIDCPluginIsNotRun(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"", "11111111-aaaa-4bbb-8ccc-222222222222"} {
		t.Run(label("server "+server), func(t *testing.T) {
			t.Parallel()
			s := signIn(t, harness.Template{})
			bin := t.TempDir()
			mark := filepath.Join(bin, "was-run")
			for _, program := range []string{"kubelogin", "kubectl", "az"} {
				if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\ntouch "+mark+"\nexit 1\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			s.Env["PATH"] = bin + ":/usr/bin:/bin"
			w := want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1}
			if server != "" {
				// The API server of the test is not that application, and says so.
				s.Azure.Entra.Change(func(o *standin.EntraOptions) { o.Resources = append(o.Resources, server) })
				if err := s.Azure.ChangeCluster(func(c *standin.Cluster) { c.User.ServerID = server }); err != nil {
					t.Fatal(err)
				}
				w = want{outcome: "refused", reason: "permission-denied", says: []string{"HTTP 401"}}
			}
			s.expect(s.run(), w)
			if _, err := os.Stat(mark); !os.IsNotExist(err) {
				t.Errorf("a program that the kubeconfig names was run: %v", err)
			}
			if server != "" && s.issuedFor(server) == 0 {
				t.Errorf("tokens were issued for %v, none for %s", s.Azure.Entra.IssuedFor(), server)
			}
		})
	}
}

// expectNoIDTokenTwice checks that every request for a token of Entra came with
// an id token that was shown to nobody before.
func (s *scene) expectNoIDTokenTwice() {
	s.t.Helper()
	if again := s.Azure.Entra.Repeated(); s.System != harness.Shell && len(again) > 0 {
		s.t.Errorf("%d id tokens were shown more than once", len(again))
	}
}

// TestOIDCClusterID: one input in the place of three.
func TestOIDCClusterID(t *testing.T) {
	t.Parallel()
	s := signIn(t, harness.Template{})
	for _, input := range []string{"resource-group", "cluster-name", "subscription-id", "tenant-id"} {
		delete(s.Inputs, input)
	}
	// Azure itself writes the fixed parts in several cases.
	s.Inputs["cluster-id"] = strings.Replace(s.Azure.ClusterID(), "resourceGroups", "resourcegroups", 1)
	s.chain("AKS cluster " + standin.ClusterName)
}

// TestOIDCContextOfAnotherTenant: the review was of another place. Nobody is
// asked for anything.
func TestOIDCContextOfAnotherTenant(t *testing.T) {
	t.Parallel()
	const other = "99999999-8888-4777-8666-555555555555"
	for input, says := range map[string][]string{
		"tenant-id":       {"tenant-id: is " + other, "they must be the same"},
		"subscription-id": {"subscription-id: is " + other, "they must be the same"},
		"cluster-id":      {"cluster-id: is in subscription " + other, "they must be the same"},
	} {
		t.Run(input, func(t *testing.T) {
			t.Parallel()
			s := signIn(t, harness.Template{})
			for _, input := range []string{"tenant-id", "subscription-id"} {
				delete(s.Inputs, input) // The context has them.
			}
			s.Inputs[input] = other
			if input == "cluster-id" {
				delete(s.Inputs, "resource-group")
				delete(s.Inputs, "cluster-name")
				s.Inputs[input] = strings.Replace(s.Azure.ClusterID(), standin.SubscriptionID, other, 1)
			}
			s.expect(s.run(), want{outcome: "invalid", reason: "config-invalid", says: says})
			s.expectUntouched()
			s.expectNobodyAsked()
		})
	}
}

// TestOIDCAndKubeconfig: two ways in are one too many.
func TestOIDCAndKubeconfig(t *testing.T) {
	t.Parallel()
	s := signIn(t, harness.Template{})
	s.Inputs["kubeconfig"] = filepath.Join(s.Dir, "kubeconfig")
	s.expect(s.run(), want{outcome: "invalid", reason: "config-invalid", says: []string{"kubeconfig"}})
	s.expectUntouched()
	s.expectNobodyAsked()
}

func (s *scene) expectNobodyAsked() {
	s.t.Helper()
	if asked := s.Azure.Requests(); len(asked) > 0 {
		s.t.Errorf("requests were sent to Azure: %+v", asked)
	}
}
