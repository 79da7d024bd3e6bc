package e2e

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

var update = flag.Bool("update", false, "write the golden files of messages anew")

// failure is something that people meet on the way to the API server.
type failure struct {
	// spoil makes it happen.
	spoil           func(s *scene) error
	outcome, reason string
	// reaches says that the way ends at the API server, not before it.
	reaches bool
}

var failures = map[string]failure{
	"no-id-token-permission": {
		spoil: func(s *scene) error {
			delete(s.Env, "ACTIONS_ID_TOKEN_REQUEST_URL")
			delete(s.Env, "ACTIONS_ID_TOKEN_REQUEST_TOKEN")
			return nil
		},
		outcome: "refused", reason: "credential-failed",
	},
	"no-federated-credential": {
		spoil: func(s *scene) error {
			s.Azure.GitHub.Change(func(j *standin.Job) { j.Immutable = true })
			return nil
		},
		outcome: "refused", reason: "credential-failed",
	},
	"tenant-not-found": {
		spoil: func(s *scene) error {
			s.Azure.Entra.On(standin.PathEnds("/openid-configuration"), -1, s.Azure.Entra.Error(90002))
			return nil
		},
		outcome: "refused", reason: "credential-failed",
	},
	"system-access-token-missing": {
		spoil: func(s *scene) error {
			s.Azure.FromPipelines()
			delete(s.Env, "SYSTEM_ACCESSTOKEN")
			return nil
		},
		outcome: "refused", reason: "credential-failed",
	},
	"azure-role-missing": {
		spoil:   func(s *scene) error { s.Azure.ARM.Forbid(s.Azure.ObjectID); return nil },
		outcome: "refused", reason: "permission-denied",
	},
	"cluster-not-found": {
		spoil: func(s *scene) error {
			s.Azure.ARM.Allow(s.Azure.ObjectID, standin.RoleClusterUser...) // in the whole subscription
			s.Inputs["cluster-name"] = "orders-asks"
			return nil
		},
		outcome: "refused", reason: "cluster-unreachable",
	},
	"cluster-not-seen": {
		// Who has a role on one cluster alone is told as little of one that is not
		// there as of one that is another's.
		spoil:   func(s *scene) error { s.Inputs["cluster-name"] = "orders-asks"; return nil },
		outcome: "refused", reason: "permission-denied",
	},
	"cluster-stopped": {
		spoil: func(s *scene) error {
			return s.Azure.ChangeCluster(func(c *standin.Cluster) { c.Power = "Stopped" })
		},
		outcome: "refused", reason: "cluster-unreachable",
	},
	"local-accounts-disabled": {
		spoil: func(s *scene) error {
			s.Inputs["admin"] = "true"
			s.Azure.ARM.AllowAt(s.Azure.ObjectID, s.Azure.ClusterID(), standin.RoleClusterAdmin...)
			return s.Azure.ChangeCluster(func(c *standin.Cluster) { c.NoLocalAccounts = true })
		},
		outcome: "refused", reason: "credential-failed",
	},
	"private-name": {
		spoil: func(s *scene) error {
			s.Inputs["timeout"] = "3s"
			return s.Azure.ChangeCluster(func(c *standin.Cluster) { c.Private, c.Server = true, "https://"+nowhere+":443" })
		},
		outcome: "refused", reason: "cluster-unreachable", reaches: true,
	},
	"token-not-taken": {
		spoil: func(s *scene) error {
			// An API server whose Entra application is another one.
			const application = "11111111-aaaa-4bbb-8ccc-222222222222"
			s.Azure.Entra.Change(func(o *standin.EntraOptions) { o.Resources = append(o.Resources, application) })
			return s.Azure.ChangeCluster(func(c *standin.Cluster) { c.User.ServerID = application })
		},
		outcome: "refused", reason: "permission-denied", reaches: true,
	},
	"server-of-another-tenant": {
		spoil: func(s *scene) error {
			s.Azure.Entra.Change(func(o *standin.EntraOptions) { o.TokenIssuer = "https://sts.example.com" })
			return nil
		},
		outcome: "refused", reason: "permission-denied", reaches: true,
	},
	"kubernetes-role-missing": {
		spoil: func(s *scene) error { return s.Azure.Unbind(s.t.Context()) }, reaches: true,
		outcome: "refused", reason: "permission-denied",
	},
	"proxy-wants-a-password": {
		spoil: func(s *scene) error {
			proxy := s.publicCloud()
			s.Env["HTTPS_PROXY"] = strings.Replace(proxy.URL, "://ci:", "://somebody:", 1)
			return nil
		},
		outcome: "refused", reason: "credential-failed",
	},
	"certificate-not-trusted": {
		spoil: func(s *scene) error {
			other, err := standin.NewAuthority("another")
			if err != nil {
				return err
			}
			s.Env["SSL_CERT_FILE"] = filepath.Join(s.Dir, "ca.pem")
			return os.WriteFile(s.Env["SSL_CERT_FILE"], other.PEM, 0o600)
		},
		outcome: "refused", reason: "credential-failed",
	},
	"entra-is-down": {
		spoil: func(s *scene) error {
			s.Azure.Entra.On(standin.Any, -1, standin.HTML(http.StatusServiceUnavailable))
			return nil
		},
		outcome: "refused", reason: "credential-failed",
	},
	"azure-is-down": {
		spoil: func(s *scene) error {
			s.Azure.ARM.On(standin.Any, -1, standin.ARMError(http.StatusServiceUnavailable, "ServerTimeout", "The server is not available."))
			return nil
		},
		outcome: "refused", reason: "cluster-unreachable",
	},
}

// nowhere is a name of a private zone that no resolver is ever asked for: its
// first label is longer than a label can be (RFC 1035, 2.3.4). The built program
// asks the name servers of /etc/resolv.conf, and there is no variable that gives it
// others: only a mount namespace of its own could, which needs root. So what a real
// NXDOMAIN of a name server leads to is shown where the resolver is a field: in
// internal/azure and internal/cluster.
var nowhere = strings.Repeat("orders-", 10) + ".privatelink.westeurope.azmk8s.io"

// TestOIDCFailures: each says what was being done, what came back and what to do,
// once, and nothing was dispatched.
func TestOIDCFailures(t *testing.T) {
	t.Parallel()
	for name, f := range failures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := signIn(t, harness.Template{})
			if err := f.spoil(s); err != nil {
				t.Fatal(err)
			}
			e := s.run()
			s.expect(e, want{outcome: f.outcome, reason: f.reason})
			if n := s.attempts(); n != 0 {
				t.Errorf("%d creates were sent", n)
			}
			s.expectNoRecords()
			if !f.reaches {
				s.expectUntouched()
			}
			message := strings.Join(e.Annotations("error"), "\n")
			if e.System != harness.GitHub {
				_, message, _ = strings.Cut("\n"+e.Stderr, "\nerror: ")
				message, _, _ = strings.Cut(message, "\n")
			}
			s.golden(name, message+"\n")
		})
	}
}

// expectNoRecords fails when there is a record of anything.
func (s *scene) expectNoRecords() {
	s.t.Helper()
	records, err := s.Records()
	if err != nil {
		s.t.Fatal(err)
	}
	for name := range records {
		if strings.HasSuffix(name, ".json") {
			s.t.Errorf("there is a record %s", name)
		}
	}
}

// golden compares a message with the one that is kept, but for what is another
// one each time.
func (s *scene) golden(name, message string) {
	s.t.Helper()
	path := filepath.Join("testdata", "oidc", name+".txt")
	message = s.constant(message)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(message), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if string(b) != message {
		s.t.Errorf("the message is\n%s\nwant\n%s", message, b)
	}
}

var correlation = regexp.MustCompile(`correlation id [0-9a-f-]{36}`)

// constant puts words in the place of addresses and ids.
func (s *scene) constant(message string) string {
	host := func(address string) string { return strings.TrimPrefix(address, "https://") }
	message = strings.NewReplacer(
		host(s.Azure.GitHub.URL), "GITHUB", host(s.Azure.Entra.URL), "ENTRA", host(s.Azure.ARM.URL), "ARM",
		host(s.Azure.Pipelines.URL), "PIPELINES", host(s.World.Cluster.Server()), "APISERVER",
		s.Azure.ObjectID, "OBJECT-ID", s.Name, "TEMPLATE",
	).Replace(message)
	return correlation.ReplaceAllString(message, "correlation id CORRELATION-ID")
}

// documentedGrant is the Role and the RoleBinding of the documentation, for the
// scenario's job.
func (s *scene) documentedGrant() string {
	s.t.Helper()
	root, err := harness.Root(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(root, "docs", "setup", "namespace.yaml"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "OBJECT_ID", s.User)
}

// TestOIDCPrintedGrant applies the Role and the RoleBinding as they are printed
// to somebody whom the API server knows and allows nothing, which is as the
// documentation has them. That is enough.
func TestOIDCPrintedGrant(t *testing.T) {
	t.Parallel()
	for name, as := range map[string]func(*harness.Azure) error{
		"a job":    func(*harness.Azure) error { return nil },
		"a person": (*harness.Azure).FromTerminal,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := signInUnbound(t, harness.Template{})
			if err := as(s.Azure); err != nil {
				t.Fatal(err)
			}
			e := s.run()
			s.expect(e, want{outcome: "refused", reason: "permission-denied", says: []string{s.User, "HTTP 403"}})
			printed := printedRole(t, e)
			if documented := s.documentedGrant(); printed != documented {
				t.Errorf("what is printed is\n%s\nthe documentation has\n%s", printed, documented)
			}
			if err := s.World.Cluster.Apply(t.Context(), printed); err != nil {
				t.Fatal(err)
			}
			s.eventually("the Role counts", func() bool {
				e = s.run()
				return e.Outputs["reason"] != "permission-denied"
			})
			s.expect(e, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
			s.expectKnownAs(s.User)
		})
	}
}
