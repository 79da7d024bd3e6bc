package e2e

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// bearers are the tokens that a proxy saw on their way to the API server, in the
// order in which they were first used. They are kept as digests.
type bearers struct {
	mu   sync.Mutex
	seen [][sha256.Size]byte
}

// watchBearers counts the tokens that pass a proxy.
func watchBearers(p *harness.Proxy) *bearers {
	b := &bearers{}
	p.On(func(r *http.Request) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		digest := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		for _, known := range b.seen {
			if known == digest {
				return false
			}
		}
		b.seen = append(b.seen, digest)
		return false
	}, -1, nil)
	return b
}

func (b *bearers) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.seen)
}

// live makes the tokens of Entra live so long.
func (s *scene) live(lifetime time.Duration) {
	s.Azure.Entra.Change(func(o *standin.EntraOptions) { o.Lifetime = lifetime })
}

// TestOIDCTokensOfTwentySeconds: the Job runs for two minutes, each token for
// twenty seconds. Every request for a token comes with an id token of its own.
func TestOIDCTokensOfTwentySeconds(t *testing.T) {
	t.Parallel()
	s := signIn(t, harness.Template{})
	s.live(20 * time.Second)
	s.args("sleep 2m")
	s.Inputs["timeout"] = "4m"
	used := watchBearers(s.behind())
	s.expect(s.run(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
	s.expectKnownAs(s.Azure.ObjectID)
	issued, shown := s.Azure.GitHub.Issued(), s.Azure.Entra.Assertions()
	if len(s.Azure.Entra.Repeated()) != 0 || len(shown) != len(issued) || len(shown) != len(s.Azure.Entra.Issued()) {
		t.Errorf("%d id tokens were issued, %d shown, %d of them more than once, for %d tokens",
			len(issued), len(shown), len(s.Azure.Entra.Repeated()), len(s.Azure.Entra.Issued()))
	}
	if used.count() < 3 {
		t.Errorf("%d tokens were used in two minutes", used.count())
	}
	figure("tokens of 20 s, a Job of 2 min", "%d id tokens, %d requests to Entra, %d id tokens shown twice, %d tokens used at the API server",
		len(issued), len(shown), len(s.Azure.Entra.Repeated()), used.count())
}

// TestOIDCTokenIsRenewedAfter401: an API server that does not know a token any
// more gets another one, once, and has done nothing about the first request.
func TestOIDCTokenIsRenewedAfter401(t *testing.T) {
	t.Parallel()
	for name, match := range map[string]func(*http.Request) bool{
		"template": harness.IsTemplate, "read": harness.IsRead, "create": harness.IsCreate, "watch": harness.IsWatch,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := signIn(t, harness.Template{})
			p := s.behind()
			used := watchBearers(p)
			rejected := p.On(match, 1, harness.Answer(http.StatusUnauthorized, "Unauthorized", "Unauthorized"))
			run := s.start()
			run.seen(rejected)
			s.expect(run.wait(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
			if n := s.attempts(); n != 1 {
				t.Errorf("%d creates reached the API server", n)
			}
			if n := s.issuedFor(standin.AKSServerID); n != 2 || used.count() != 2 {
				t.Errorf("%d tokens were issued, and %d used, after one was rejected", n, used.count())
			}
			s.expectNoIDTokenTwice()
		})
	}
}

// TestOIDCTokenThatIsNeverTaken: a second refusal is not asked about again.
func TestOIDCTokenThatIsNeverTaken(t *testing.T) {
	t.Parallel()
	s := signIn(t, harness.Template{})
	p := s.behind()
	p.On(harness.IsTemplate, -1, harness.Answer(http.StatusUnauthorized, "Unauthorized", "Unauthorized"))
	s.expect(s.run(), want{outcome: "refused", reason: "permission-denied", says: []string{"HTTP 401"}})
	if n := s.issuedFor(standin.AKSServerID); n > 2 {
		t.Errorf("%d tokens were asked for", n)
	}
}

// TestOIDCEntraIsDownForAWhile: while the Job runs, tokens run out, and Entra
// first answers 503 and then hangs up. The run goes on when it is back.
func TestOIDCEntraIsDownForAWhile(t *testing.T) {
	t.Parallel()
	s := signIn(t, harness.Template{})
	s.live(5 * time.Second)
	s.args("sleep 60s")
	p := s.behind()
	run := s.start()
	run.until("waiting for Job")
	asked := func() int { return len(s.Azure.Entra.Requests()) }
	for _, trouble := range []standin.Answer{standin.HTML(http.StatusServiceUnavailable), standin.Drop()} {
		s.Azure.Entra.Reset()
		s.Azure.Entra.On(standin.Any, -1, trouble)
		before := asked()
		// What needs a token is a new watch: the one there is goes on with the old.
		s.cutWatches(p, run, func() bool { return asked() >= before+2 })
	}
	s.Azure.Entra.Reset()
	s.expect(run.wait(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
	s.expectNoIDTokenTwice()
}

// cutWatches ends the connections to the API server, again and again, until
// something holds.
func (s *scene) cutWatches(p *harness.Proxy, run *running, until func() bool) {
	s.t.Helper()
	s.eventually("the run asks for what it needs", func() bool {
		p.CutAll()
		if !run.Running() {
			s.t.Fatalf("the run ended:\n%s", run.Log())
		}
		time.Sleep(time.Second / 2)
		return until()
	})
}

// TestOIDCCredentialIsRemovedWhileWaiting: nobody knows the job any more. The
// Job goes on, and a re-run sees its end.
func TestOIDCCredentialIsRemovedWhileWaiting(t *testing.T) {
	t.Parallel()
	s := signIn(t, harness.Template{})
	s.live(5 * time.Second)
	s.args("sleep 80s")
	p := s.behind()
	run := s.start()
	job := run.job()
	run.until("waiting for Job")
	var credentials []standin.FederatedCredential
	s.Azure.Entra.ChangeApp(harness.TenantID, standin.ClientID, func(app *standin.App) {
		credentials, app.Credentials = app.Credentials, []standin.FederatedCredential{{
			Issuer: s.Azure.GitHub.Issuer(), Subject: "repo:acme/another:environment:production", Audience: standin.TokenAudience,
		}}
	})
	refused := func() bool {
		return slices.ContainsFunc(s.Azure.Entra.Assertions(), func(a standin.Assertion) bool { return a.Code != 0 })
	}
	s.cutWatches(p, run, refused)
	s.expect(run.wait(), want{
		outcome: "unknown", reason: "credential-failed", dispatched: true, records: asDispatched, created: 1,
		says: []string{"AADSTS700213", s.Azure.GitHub.Subject(), "az identity federated-credential create"},
	})
	if object := s.until(harness.JobPath(job), "the Job is there", func(o harness.Object) bool { return o != nil }); condition(object, "Failed") != nil {
		t.Errorf("the Job does not go on: %v", object["status"])
	}
	s.Azure.Entra.ChangeApp(harness.TenantID, standin.ClientID, func(app *standin.App) { app.Credentials = credentials })
	s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1})
	s.expectNoIDTokenTwice()
}

// TestOIDCNewCredential: a federated credential that was just made is not known
// everywhere at once.
func TestOIDCNewCredential(t *testing.T) {
	t.Parallel()
	s := signIn(t, harness.Template{})
	s.Azure.Entra.ChangeApp(harness.TenantID, standin.ClientID, func(app *standin.App) { app.NotYet = 2 })
	e := s.run()
	s.expect(e, want{
		outcome: "succeeded", dispatched: true, records: asTerminal, created: 1,
		says: []string{"AADSTS700213", "one that was just made takes a while"},
	})
	if refused := strings.Count(e.Stdout, "AADSTS700213"); refused != 1 {
		t.Errorf("it is told %d times that Entra waits", refused)
	}
	s.expectNoIDTokenTwice()
}
