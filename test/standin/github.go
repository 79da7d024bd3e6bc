package standin

import (
	"crypto/rand"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

// GitHub plays the endpoint that gives a workflow's job its id tokens, and is
// their issuer with its discovery document and key set.
// https://docs.github.com/en/actions/reference/security/oidc
type GitHub struct {
	*Server
	// RequestURL and RequestToken are what a job with `id-token: write` finds in
	// ACTIONS_ID_TOKEN_REQUEST_URL and ACTIONS_ID_TOKEN_REQUEST_TOKEN.
	RequestURL, RequestToken string

	ledger *Ledger
	signer *signer

	mu     sync.Mutex
	job    Job
	issued []IDToken
}

// Job is what GitHub says of a workflow's job in its tokens. The zero value of a
// field leaves out its claim where GitHub does.
type Job struct {
	Owner, Repository            string // "acme", "orders"
	OwnerID, RepositoryID        string // numbers
	Environment                  string
	Ref, SHA, EventName, Actor   string
	Workflow, WorkflowPath       string
	RunID, RunNumber, RunAttempt string
	// Immutable has the numbers in the subject, as repositories that were made
	// after 15 July 2026 do: repo:acme@1/orders@2:environment:production.
	Immutable bool
	// Subject is the whole subject, for what is not one of the usual.
	Subject string
	// Lifetime is how long a token is good from its issue, 5 minutes when zero.
	Lifetime time.Duration
	// Shift moves all times in a token, so that it has ended already (negative) or
	// is not good yet.
	Shift time.Duration
	// Claims are set beside, or in place of, those that GitHub makes; nil leaves
	// one out.
	Claims map[string]any
}

// IDToken is an id token that was issued.
type IDToken struct {
	ID, Issuer, Subject, Audience string
	Time, Expires                 time.Time
}

// NewGitHub starts it, for a job that runs in an environment.
func NewGitHub(authority *Authority, ledger *Ledger) (*GitHub, error) {
	key, err := githubKey()
	if err != nil {
		return nil, err
	}
	g := &GitHub{ledger: ledger, signer: key, RequestToken: rand.Text() + rand.Text(), job: Job{
		Owner: "acme", Repository: "orders", OwnerID: "9919", RepositoryID: "517421",
		Environment: "production", Ref: "refs/heads/main", EventName: "workflow_dispatch", Actor: "octocat",
		SHA: "4b825dc642cb6eb9a060e54bf8d69288fbee4904", Workflow: "migrate", WorkflowPath: ".github/workflows/migrate.yml",
		RunID: "15402213877", RunNumber: "42", RunAttempt: "1",
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, discovery(g.URL, g.URL+"/.well-known/jwks"))
	})
	mux.HandleFunc("GET /.well-known/jwks", key.serveKeys)
	path := "/" + rand.Text() + "/_apis/distributedtask/hubs/Actions/plans/" + uuid.NewString() + "/jobs/" + uuid.NewString() + "/idtoken"
	mux.HandleFunc("GET "+path, g.serve)
	ledger.AddText("the request token of GitHub", g.RequestToken)
	if g.Server, err = NewServer("github", authority, mux); err != nil {
		return nil, err
	}
	g.RequestURL = g.URL + path + "?api-version=2.0"
	return g, nil
}

// Change changes the job; the next token tells of it.
func (g *GitHub) Change(change func(*Job)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change(&g.job)
}

// Issuer is the issuer of its tokens.
func (g *GitHub) Issuer() string { return g.URL }

// Subject is the subject of the next token.
func (g *GitHub) Subject() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.job.subject()
}

// Issued returns the tokens that were issued, the first one first.
func (g *GitHub) Issued() []IDToken {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.issued)
}

// serve answers as the runner's service does. An audience that is not given is
// the owner's page.
func (g *GitHub) serve(w http.ResponseWriter, r *http.Request) {
	if bearer(r) != g.RequestToken {
		w.Header().Set("WWW-Authenticate", "Bearer")
		writeJSON(w, http.StatusUnauthorized, map[string]any{"message": "TF400813: The user '' is not authorized to access this resource."})
		return
	}
	if r.URL.Query().Get("api-version") == "" {
		writeJSON(w, http.StatusBadRequest, map[string]any{"message": "No api-version was supplied for the request."})
		return
	}
	token, err := g.Token(r.URL.Query().Get("audience"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"count": len(token), "value": token})
}

// Token returns a token as the endpoint gives it, for a test that needs one at
// once, as in a token file.
func (g *GitHub) Token(audience string) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	claims := g.job.claims(time.Now())
	if audience == "" {
		audience = "https://github.com/" + g.job.Owner
	}
	claims["iss"], claims["aud"] = g.URL, audience
	maps.Copy(claims, g.job.Claims)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil || v == "" })
	token, err := g.signer.sign(claims)
	if err != nil {
		return "", err
	}
	g.ledger.AddToken("an id token of GitHub", token)
	g.issued = append(g.issued, issuedToken(claims))
	return token, nil
}

func (j Job) subject() string {
	switch {
	case j.Subject != "":
		return j.Subject
	case j.Environment != "":
		return j.repository() + ":environment:" + strings.ReplaceAll(j.Environment, ":", "%3A")
	case j.EventName == "pull_request":
		return j.repository() + ":pull_request"
	default:
		return j.repository() + ":ref:" + j.Ref
	}
}

func (j Job) repository() string {
	if j.Immutable {
		return "repo:" + j.Owner + "@" + j.OwnerID + "/" + j.Repository + "@" + j.RepositoryID
	}
	return "repo:" + j.Owner + "/" + j.Repository
}

// claims are those of the documentation, without issuer and audience.
func (j Job) claims(now time.Time) jwt.MapClaims {
	lifetime := j.Lifetime
	if lifetime == 0 {
		lifetime = 5 * time.Minute
	}
	issued := now.Add(j.Shift)
	full := j.Owner + "/" + j.Repository
	kind, name := "branch", strings.TrimPrefix(j.Ref, "refs/heads/")
	if tag, ok := strings.CutPrefix(j.Ref, "refs/tags/"); ok {
		kind, name = "tag", tag
	}
	claims := jwt.MapClaims{
		"jti": uuid.NewString(), "sub": j.subject(),
		"iat": issued.Unix(), "nbf": issued.Add(-5 * time.Minute).Unix(), "exp": issued.Add(lifetime).Unix(),
		"repository": full, "repository_id": j.RepositoryID, "repository_visibility": "private",
		"repository_owner": j.Owner, "repository_owner_id": j.OwnerID,
		"actor": j.Actor, "actor_id": "583231", "event_name": j.EventName,
		"ref": j.Ref, "ref_type": kind, "ref_protected": "true", "sha": j.SHA, "environment": j.Environment,
		"workflow": j.Workflow, "workflow_ref": full + "/" + j.WorkflowPath + "@" + j.Ref, "workflow_sha": j.SHA,
		"job_workflow_ref": full + "/" + j.WorkflowPath + "@" + j.Ref, "job_workflow_sha": j.SHA,
		"run_id": j.RunID, "run_number": j.RunNumber, "run_attempt": j.RunAttempt, "runner_environment": "github-hosted",
	}
	if j.Shift > 0 {
		claims["nbf"] = issued.Unix()
	}
	if j.EventName == "pull_request" {
		claims["head_ref"], claims["base_ref"] = name, "main"
	}
	return claims
}

func issuedToken(claims jwt.MapClaims) IDToken {
	text := func(name string) string { s, _ := claims[name].(string); return s }
	seconds, _ := claims["exp"].(int64)
	return IDToken{
		ID: text("jti"), Issuer: text("iss"), Subject: text("sub"), Audience: text("aud"),
		Time: time.Now(), Expires: time.Unix(seconds, 0),
	}
}
