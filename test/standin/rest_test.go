package standin_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v88/github"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// octocat is go-github's client with a token.
func (s *stores) octocat(token string) *github.Client {
	s.t.Helper()
	address := s.Attempt().Env()["GITHUB_API_URL"]
	c, err := github.NewClient(github.WithHTTPClient(s.client), github.WithURLs(&address, nil), github.WithAuthToken(token))
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// go-github lists all pages, fetches, and deletes.
func TestRESTWithGoGitHub(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{Actions: standin.ActionsWrite})
	var last standin.Artifact
	for i := range 7 {
		a := s.Attempt()
		if i == 4 {
			a = s.NextAttempt(standin.RerunAll)
		}
		made, err := s.ForgeArtifact(a, fmt.Sprintf("a%d", i), []byte("content"))
		if err != nil {
			t.Fatal(err)
		}
		last = made
	}
	c := s.octocat(s.Attempt().Token)
	var all []string
	options := &github.ListOptions{PerPage: 3}
	for pages := 1; ; pages++ {
		list, response, err := c.Actions.ListWorkflowRunArtifacts(t.Context(), "acme", "orders", last.RunID, options)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range list.Artifacts {
			all = append(all, a.GetName())
		}
		if list.GetTotalCount() != 7 || response.FirstPage > 1 || response.NextPage != 0 && response.LastPage != 3 {
			t.Errorf("page %d: %d rows of all, pages %+v", pages, list.GetTotalCount(), response)
		}
		if response.NextPage == 0 {
			break
		}
		options.Page = response.NextPage
	}
	if got := strings.Join(all, " "); got != "a6 a5 a4 a3 a2 a1 a0" {
		t.Errorf("%s", got)
	}
	if got := s.Count("ListRunArtifacts"); got != 3 {
		t.Errorf("%d pages", got)
	}
	list, _, err := c.Actions.ListArtifacts(t.Context(), "acme", "orders", &github.ListArtifactsOptions{Name: github.Ptr("a6")})
	if err != nil || len(list.Artifacts) != 1 || list.Artifacts[0].GetID() != last.ID || list.Artifacts[0].GetDigest() != last.Digest ||
		list.Artifacts[0].GetWorkflowRun().GetID() != last.RunID || list.Artifacts[0].GetExpiresAt().Before(time.Now()) {
		t.Fatalf("%v, %v", list, err)
	}
	address, _, err := c.Actions.DownloadArtifact(t.Context(), "acme", "orders", last.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := do(t, s.client, http.MethodGet, address.String(), ""); !bytes.Equal(got.Body, []byte("content")) {
		t.Errorf("%d: %s", got.Status, got.Body)
	}
	if got, _, err := c.Actions.GetArtifact(t.Context(), "acme", "orders", last.ID); err != nil || got.GetName() != "a6" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := c.Actions.DeleteArtifact(t.Context(), "acme", "orders", last.ID); err != nil {
		t.Error(err)
	}
	if _, response, err := c.Actions.GetArtifact(t.Context(), "acme", "orders", last.ID); err == nil || response.StatusCode != http.StatusNotFound {
		t.Errorf("it is still there: %v", err)
	}
}

// Who may not do something is told so in GitHub's words.
func TestRESTPermissions(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	a := s.Attempt()
	id := s.store(a, "a", []byte("content"))
	ended := s.GitHubToken(standin.ActionsWrite)
	s.EndToken(ended)
	list := fmt.Sprintf("/repos/acme/orders/actions/runs/%d/artifacts", a.RunID)
	one := fmt.Sprintf("/repos/acme/orders/actions/artifacts/%d", id)
	const forbidden = "Resource not accessible by integration"
	for name, c := range map[string]struct {
		method, token, path string
		status              int
		message             string
	}{
		"no permission":             {http.MethodGet, s.GitHubToken(standin.ActionsNone), list, 403, forbidden},
		"no permission to fetch":    {http.MethodGet, s.GitHubToken(standin.ActionsNone), one + "/zip", 403, forbidden},
		"not even seen":             {http.MethodGet, s.GitHubToken(standin.ActionsUnseen), list, 404, "Not Found"},
		"read only":                 {http.MethodDelete, a.Token, one, 403, forbidden},
		"ended":                     {http.MethodGet, ended, list, 401, "Bad credentials"},
		"made up":                   {http.MethodGet, "ghs_x", list, 401, "Bad credentials"},
		"a runtime token":           {http.MethodGet, a.RuntimeToken, list, 401, "Bad credentials"},
		"another repository":        {http.MethodGet, a.Token, strings.Replace(list, "orders", "other", 1), 404, "Not Found"},
		"another run":               {http.MethodGet, a.Token, "/repos/acme/orders/actions/runs/1/artifacts", 404, "Not Found"},
		"no such artifact":          {http.MethodGet, a.Token, "/repos/acme/orders/actions/artifacts/1/zip", 404, "Not Found"},
		"another format":            {http.MethodGet, a.Token, one + "/tar", 404, "Not Found"},
		"something else altogether": {http.MethodGet, a.Token, "/user", 404, "Not Found"},
	} {
		got := s.rest(c.method, c.token, c.path)
		if got.Status != c.status || got.text(t, "message") != c.message || got.text(t, "status") != strconv.Itoa(c.status) || got.text(t, "documentation_url") == "" {
			t.Errorf("%s: %d: %s", name, got.Status, got.Body)
		}
		if got.Header.Get("X-GitHub-Request-Id") == "" {
			t.Errorf("%s: %v", name, got.Header)
		}
	}
	if got := s.rest(http.MethodGet, s.GitHubToken(standin.ActionsNone), list).Header.Get("X-Accepted-GitHub-Permissions"); got != "actions=read" {
		t.Errorf("X-Accepted-GitHub-Permissions: %s", got)
	}
	if got := do(t, s.client, http.MethodGet, s.REST.URL+list, ""); got.Status != http.StatusNotFound {
		t.Errorf("without a token: %d: %s", got.Status, got.Body)
	}
	if got := do(t, s.client, http.MethodGet, s.REST.URL+list, "", "Authorization", "token "+a.Token); got.Status != http.StatusOK {
		t.Errorf("the other scheme: %d: %s", got.Status, got.Body)
	}
	if got := do(t, s.client, http.MethodGet, s.REST.URL+list, "", "Authorization", "Bearer "+a.Token, "User-Agent", ""); got.Status != http.StatusForbidden {
		t.Errorf("nobody's request: %d: %s", got.Status, got.Body)
	}
	if got := s.rest(http.MethodGet, a.Token, list+"?page=9"); len(rows(t, got)) != 0 || !strings.Contains(got.Header.Get("Link"), `rel="first"`) {
		t.Errorf("a page that is not there: %v: %s", got.Header, got.Body)
	}
}

// go-github knows both kinds of limits by the answers.
func TestRESTRateLimits(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	reset := time.Now().Add(time.Hour).Truncate(time.Second)
	ask := func() error {
		_, _, err := s.octocat(s.Attempt().Token).Actions.ListWorkflowRunArtifacts(t.Context(), "acme", "orders", s.Attempt().RunID, nil)
		return err
	}
	s.REST.On(standin.Operation("ListRunArtifacts"), 1, standin.RateLimited(reset))
	var primary *github.RateLimitError
	if err := ask(); !errors.As(err, &primary) || !primary.Rate.Reset.Equal(github.Timestamp{Time: reset}) {
		t.Errorf("%v", err)
	}
	s.REST.On(standin.Operation("ListRunArtifacts"), 1, standin.SecondaryRateLimited(7*time.Second))
	var secondary *github.AbuseRateLimitError
	if err := ask(); !errors.As(err, &secondary) || secondary.GetRetryAfter() != 7*time.Second {
		t.Errorf("%v", err)
	}
	if err := ask(); err != nil {
		t.Error(err)
	}
}
