package standin_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

func TestGitHubIssues(t *testing.T) {
	t.Parallel()
	a := start(t)
	c := client(t, a)
	ask := func() map[string]any {
		got := do(t, c, http.MethodGet, a.GitHub.RequestURL+"&audience=api%3A%2F%2FAzureADTokenExchange", "", "Authorization", "bearer "+a.GitHub.RequestToken)
		if got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		return got.object(t)
	}
	first, second := ask(), ask()
	token, _ := first["value"].(string)
	if first["count"] != float64(len(token)) {
		t.Errorf("count is %v, the token has %d", first["count"], len(token))
	}
	claims := claimsOf(t, token)
	for name, want := range map[string]any{
		"iss": a.GitHub.URL, "aud": standin.TokenAudience, "sub": "repo:acme/orders:environment:production", "environment": "production",
		"repository": "acme/orders", "repository_id": "517421", "repository_owner_id": "9919", "ref": "refs/heads/main", "ref_type": "branch",
		"job_workflow_ref": "acme/orders/.github/workflows/migrate.yml@refs/heads/main", "run_id": "15402213877", "run_attempt": "1",
	} {
		if claims[name] != want {
			t.Errorf("%s is %v, want %v", name, claims[name], want)
		}
	}
	expires, err := claims.GetExpirationTime()
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(expires.Time); left > 5*time.Minute || left < 4*time.Minute {
		t.Errorf("it lives for %s", left)
	}
	if first["value"] == second["value"] {
		t.Error("the same token twice")
	}
	issued := a.GitHub.Issued()
	if len(issued) != 2 || issued[0].ID == issued[1].ID || issued[0].ID != claims["jti"] || issued[0].Audience != standin.TokenAudience {
		t.Errorf("issued %+v", issued)
	}
}

func TestGitHubRefuses(t *testing.T) {
	t.Parallel()
	a := start(t)
	c := client(t, a)
	plain, _, _ := strings.Cut(a.GitHub.RequestURL, "?")
	for name, tt := range map[string]struct {
		method, address, token string
		want                   int
	}{
		"no token":       {http.MethodGet, a.GitHub.RequestURL, "", 401},
		"wrong token":    {http.MethodGet, a.GitHub.RequestURL, "Bearer x", 401},
		"another scheme": {http.MethodGet, a.GitHub.RequestURL, "token " + a.GitHub.RequestToken, 401},
		"no version":     {http.MethodGet, plain, "Bearer " + a.GitHub.RequestToken, 400},
		"method":         {http.MethodPost, a.GitHub.RequestURL, "Bearer " + a.GitHub.RequestToken, 405},
		"path":           {http.MethodGet, a.GitHub.URL + "/idtoken", "Bearer " + a.GitHub.RequestToken, 404},
	} {
		if got := do(t, c, tt.method, tt.address, "", "Authorization", tt.token); got.Status != tt.want {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	if issued := a.GitHub.Issued(); issued != nil {
		t.Errorf("issued %+v", issued)
	}
}

// https://docs.github.com/en/actions/reference/security/oidc#example-subject-claims
func TestGitHubSubjects(t *testing.T) {
	t.Parallel()
	a := start(t)
	for _, tt := range []struct {
		job  standin.Job
		want string
	}{
		{standin.Job{Owner: "o", Repository: "r", Environment: "e"}, "repo:o/r:environment:e"},
		{standin.Job{Owner: "o", Repository: "r", Environment: "a:b"}, "repo:o/r:environment:a%3Ab"},
		{standin.Job{Owner: "o", Repository: "r", EventName: "pull_request", Ref: "refs/pull/7/merge"}, "repo:o/r:pull_request"},
		{standin.Job{Owner: "o", Repository: "r", EventName: "push", Ref: "refs/heads/b"}, "repo:o/r:ref:refs/heads/b"},
		{standin.Job{Owner: "o", Repository: "r", EventName: "push", Ref: "refs/tags/t"}, "repo:o/r:ref:refs/tags/t"},
		{standin.Job{Owner: "o", Repository: "r", OwnerID: "1", RepositoryID: "2", Immutable: true, Environment: "e"}, "repo:o@1/r@2:environment:e"},
		{standin.Job{Owner: "o", Repository: "r", Subject: "system:serviceaccount:n:s"}, "system:serviceaccount:n:s"},
	} {
		a.GitHub.Change(func(j *standin.Job) { *j = tt.job })
		token, err := a.GitHub.Token("")
		if err != nil {
			t.Fatal(err)
		}
		claims := claimsOf(t, token)
		if claims["sub"] != tt.want || a.GitHub.Subject() != tt.want {
			t.Errorf("%+v has the subject %v", tt.job, claims["sub"])
		}
		if claims["aud"] != "https://github.com/o" {
			t.Errorf("the audience is %v", claims["aud"])
		}
	}
	a.GitHub.Change(func(j *standin.Job) { *j = standin.Job{Claims: map[string]any{"sub": nil, "x": 1.0}} })
	claims := claimsOf(t, idToken(t, a))
	if _, there := claims["sub"]; there || claims["x"] != 1.0 {
		t.Errorf("claims %v", claims)
	}
}

func TestIssuersPublishTheirKeys(t *testing.T) {
	t.Parallel()
	a := start(t)
	c := client(t, a)
	keys := map[string]string{}
	for issuer, wants := range map[string]string{
		a.GitHub.Issuer(): a.GitHub.URL, a.Pipelines.Issuer(): a.Pipelines.URL,
		a.Entra.Issuer(standin.TenantID): a.Entra.URL, strings.TrimSuffix(a.Entra.AccessTokenIssuer(standin.TenantID), "/"): a.Entra.URL,
	} {
		document := do(t, c, http.MethodGet, issuer+"/.well-known/openid-configuration", "").object(t)
		if got, _ := document["issuer"].(string); strings.TrimSuffix(got, "/") != issuer {
			t.Errorf("the document of %s is about %v", issuer, got)
		}
		address, _ := document["jwks_uri"].(string)
		set := do(t, c, http.MethodGet, address, "").object(t)
		list, _ := set["keys"].([]any)
		if len(list) != 1 {
			t.Fatalf("%s has the keys %v", issuer, set)
		}
		key, _ := list[0].(map[string]any)
		id, _ := key["kid"].(string)
		if key["kty"] != "RSA" || key["d"] != nil || id == "" || keys[id] != "" && keys[id] != wants {
			t.Errorf("%s has the key %v", issuer, key)
		}
		keys[id] = wants
	}
	if len(keys) != 3 {
		t.Errorf("keys are shared: %v", cmp.Diff(keys, nil))
	}
}
