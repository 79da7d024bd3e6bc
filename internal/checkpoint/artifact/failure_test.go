package artifact

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{})
	const runner = "The runner sets it: run this as an action of a workflow on GitHub, or use checkpoint-stores: cluster"
	for says, change := range map[string]func(*Options){
		"there is no ACTIONS_RESULTS_URL, which says where the results service is":              func(o *Options) { o.ResultsURL = "" },
		"there is no ACTIONS_RUNTIME_TOKEN, which says what the results service is asked with":  func(o *Options) { o.RuntimeToken = "" },
		"ACTIONS_RESULTS_URL is not an https URL":                                               func(o *Options) { o.ResultsURL = "results" },
		"cannot be asked: ACTIONS_RESULTS_URL is not an https":                                  func(o *Options) { o.ResultsURL = "https://u:p@a.example" },
		"ACTIONS_RESULTS_URL is not an https URL. The":                                          func(o *Options) { o.ResultsURL = "ftp://a.example" },
		"ACTIONS_RUNTIME_TOKEN says of no run and job that it is for (claim scp, Actions.Resul": func(o *Options) { o.RuntimeToken = "e30.e30.e30" },
		"GITHUB_REPOSITORY is not of the form OWNER/NAME":                                       func(o *Options) { o.Repository = "orders" },
		"GITHUB_API_URL is not an https URL":                                                    func(o *Options) { o.APIURL = "api" },
	} {
		o := w.options(w.Attempt())
		change(&o)
		s, err := Open(t.Context(), o)
		if s != nil {
			t.Errorf("%s: a store", says)
		}
		wantFailure(t, err, failure.CheckpointStoreFailed, says, runner)
		w.checkSecrets(err.Error())
	}
	if n := w.Count(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// What the services refuse is told with what can be done about it.
func TestRefusedWrites(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		operation string
		answer    standin.Answer
		says      []string
	}{
		"the token has ended": {"CreateArtifact", standin.TwirpError("unauthenticated", "token has expired"),
			[]string{"creating the artifact " + execution + ".dispatch-intent.1: the results service (127.0.0.1:", "answered HTTP 401 (Unauthorized): unauthenticated: token has expired", "ACTIONS_RUNTIME_TOKEN"}},
		"not allowed": {"CreateArtifact", standin.TwirpError("permission_denied", "no"),
			[]string{"HTTP 403 (Forbidden): permission_denied: no", "Use checkpoint-stores: cluster"}},
		"no room": {"CreateArtifact", standin.TwirpError("permission_denied", "Artifact storage quota has been hit. Unable to upload any new artifacts."),
			[]string{"Artifact storage quota has been hit", "Delete artifacts that nobody needs"}},
		"no room, in other words": {"CreateArtifact", standin.TwirpError("resource_exhausted", "insufficient usage to create artifact"),
			[]string{"HTTP 429", "insufficient usage", "Delete artifacts that nobody needs"}},
		"too often": {"CreateArtifact", standin.TwirpError("resource_exhausted", "slow down"),
			[]string{"HTTP 429 (Too Many Requests): resource_exhausted: slow down, at the last of 5 tries", "That a job has at most 500 artifacts"}},
		"not well": {"FinalizeArtifact", standin.HTML(http.StatusServiceUnavailable),
			[]string{"finalizing the artifact", "HTTP 503 (Service Unavailable)", "at the last of 5 tries", "https://www.githubstatus.com"}},
		"an Enterprise Server": {"CreateArtifact", standin.Status(http.StatusNotFound, "404 page not found"),
			[]string{"HTTP 404 (Not Found): 404 page not found", "GitHub Enterprise Server has none", "checkpoint-stores: cluster"}},
		"somebody else answers": {"CreateArtifact", standin.HTML(http.StatusOK),
			[]string{"what the results service (127.0.0.1:", "cannot be used: it is not the JSON that was expected", "Check whether a proxy answers"}},
		"no address": {"CreateArtifact", standin.Status(http.StatusOK, `{"ok":true}`),
			[]string{"it has no address to upload to"}},
		"not done": {"FinalizeArtifact", standin.Status(http.StatusOK, `{"ok":false}`),
			[]string{"it does not say that it was done"}},
		"an address that is none": {"CreateArtifact", standin.Status(http.StatusOK, `{"ok":true,"signed_upload_url":"blob"}`),
			[]string{"uploading the artifact", "the address of the content is no URL"}},
		"an address without TLS": {"CreateArtifact", standin.Status(http.StatusOK, `{"ok":true,"signed_upload_url":"http://blobs.example/a?sig=c2lnbmF0dXJl"}`),
			[]string{"uploading the artifact", "the address of the content is not an https URL"}},
		"the storage refuses": {"PutBlock", standin.Status(http.StatusForbidden, "", "X-Ms-Error-Code", "AuthenticationFailed"),
			[]string{"uploading the artifact", "the storage (127.0.0.1:", "HTTP 403 (Forbidden): AuthenticationFailed"}},
		"the storage is not one": {"PutBlockList", standin.HTML(http.StatusOK),
			[]string{"what the storage (127.0.0.1:", "cannot be used: it is HTTP 200", "Check whether a proxy answers in the place of the storage"}},
		"the connection is lost": {"PutBlock", standin.Abort(),
			[]string{"the connection to 127.0.0.1:", "was lost before the answer had come, at the last of 5 tries", "Check that this runner's network lets it reach 127.0.0.1:"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, standin.StoresOptions{})
			s := w.open()
			w.on(c.operation, -1, fault{answer: c.answer})
			err := s.Write(t.Context(), execution, intent("1")...)
			wantFailure(t, err, failure.CheckpointStoreFailed, c.says...)
			w.checkSecrets(err.Error())
		})
	}
}

// Where nothing is reached, the cause is told as everywhere.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{})
	for says, change := range map[string]func(*Options){
		"showed a certificate that is not trusted here. Something on the way may open the connection": func(o *Options) { o.RootCAs = nil },
		"the proxy refused the connection, at the last of 5 tries. Check that the proxy (HTTPS_PROXY) works": func(o *Options) {
			o.ResultsURL, o.Proxy = "https://results.example", http.ProxyURL(&url.URL{Scheme: "http", Host: "127.0.0.1:1"})
		},
		"127.0.0.1:1 refused the connection, at the last of 5 tries. Check that this runner's network lets it reach 127.0.0.1:1. Run again then; it resumes": func(o *Options) { o.ResultsURL = "https://127.0.0.1:1" },
		"only https is allowed. The runner sets it": func(o *Options) { o.ResultsURL = "http://results.example" },
	} {
		s := w.open(change)
		err := s.Write(t.Context(), execution, intent("1")...)
		wantFailure(t, err, failure.CheckpointStoreFailed, says)
		w.checkSecrets(err.Error())
	}
}

// Without the REST API the artifacts of earlier attempts cannot be looked for.
func TestBlind(t *testing.T) {
	t.Parallel()
	const grant = "Give the job `permissions: actions: read` and leave github-token at its default"
	for name, c := range map[string]struct {
		change func(*world, *Options)
		code   failure.Code
		says   []string
	}{
		"no token": {func(_ *world, o *Options) { o.Token = "" }, failure.PermissionDenied,
			[]string{"there is no github-token", grant}},
		"no permission": {func(w *world, o *Options) { o.Token = w.GitHubToken(standin.ActionsNone) }, failure.PermissionDenied,
			[]string{"the REST API (127.0.0.1:", "answered HTTP 403 (Forbidden): Resource not accessible by integration", grant}},
		"not even to see it": {func(w *world, o *Options) { o.Token = w.GitHubToken(standin.ActionsUnseen) }, failure.PermissionDenied,
			[]string{"HTTP 404 (Not Found)", grant}},
		"a token that has ended": {func(w *world, o *Options) { w.EndToken(o.Token) }, failure.PermissionDenied,
			[]string{"HTTP 401 (Unauthorized)", grant}},
		"too many requests": {func(w *world, _ *Options) {
			w.on("ListRunArtifacts", -1, fault{answer: standin.RateLimited(time.Now().Add(time.Hour))})
		}, failure.CheckpointStoreFailed, []string{"rate limit", "run again later"}},
		"too many at once": {func(w *world, _ *Options) {
			w.on("ListRunArtifacts", -1, fault{answer: standin.SecondaryRateLimited(time.Hour)})
		}, failure.CheckpointStoreFailed, []string{"rate limit", "asks for a pause of 1h0m0s", "run again later"}},
		"not well": {func(w *world, _ *Options) {
			w.on("ListRunArtifacts", -1, fault{answer: standin.Status(http.StatusBadGateway, "")})
		}, failure.CheckpointStoreFailed, []string{"HTTP 502 (Bad Gateway), at the last of 5 tries", "https://www.githubstatus.com"}},
		"somebody else": {func(w *world, _ *Options) { w.on("ListRunArtifacts", -1, fault{answer: standin.HTML(http.StatusOK)}) },
			failure.CheckpointStoreFailed, []string{"what the REST API (127.0.0.1:", "it is not the JSON that was expected"}},
		"elsewhere": {func(w *world, _ *Options) {
			w.on("ListRunArtifacts", -1, fault{answer: standin.Status(http.StatusFound, "", "Location", "https://other.example/")})
		}, failure.CheckpointStoreFailed, []string{"HTTP 302 (Found)"}},
		"not there": {func(_ *world, o *Options) { o.APIURL = "https://127.0.0.1:1" }, failure.CheckpointStoreFailed,
			[]string{"127.0.0.1:1 refused the connection"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, standin.StoresOptions{})
			first := w.open(func(o *Options) { c.change(w, o) })
			if found := mustRead(t, first); !found.Complete || found.Blind != nil {
				t.Errorf("the first attempt hides nothing: %+v", found)
			}
			if c.code == failure.PermissionDenied {
				w.await(func() bool { return len(w.notices) > 0 })
			}
			warned := len(w.notices) == 1 && strings.Contains(w.notices[0], "a later attempt of this run may not") && strings.Contains(w.notices[0], grant)
			if warned != (c.code == failure.PermissionDenied) {
				t.Errorf("notices %q", w.notices)
			}
			mustWrite(t, first, intent("1")...)
			mustRead(t, first)
			if len(w.notices) > 1 {
				t.Errorf("notices %q", w.notices)
			}
			for _, how := range []standin.Rerun{standin.RerunAll, standin.RerunFailed} {
				s := w.next(how, func(o *Options) { c.change(w, o) })
				found := mustRead(t, s)
				want := intent("1")
				if how == standin.RerunAll {
					want = nil
				}
				wantGood(t, found, want...)
				if found.Complete {
					t.Error("it is said to be complete")
				}
				wantFailure(t, found.Blind, c.code, append(c.says, "records that earlier attempts of this run stored as artifacts may be there and cannot be looked for: ")...)
				w.checkSecrets(found.Blind.Error())
			}
		})
	}
}

// When neither service shows anything, there is nothing to go by.
func TestNothingCanBeListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{})
	w.on("ListArtifacts", -1, fault{answer: standin.Status(http.StatusInternalServerError, "")})
	_, err := w.open(func(o *Options) { o.Token = "" }).Read(t.Context(), execution)
	wantFailure(t, err, failure.CheckpointStoreFailed, "listing the artifacts of the run: the results service", "HTTP 500")

	w.NextAttempt(standin.RerunFailed)
	found := mustRead(t, w.open())
	if found.Complete {
		t.Error("it is said to be complete")
	}
	wantFailure(t, found.Blind, failure.CheckpointStoreFailed, "artifacts that this attempt of the run stored may be there and not be known yet: ", "HTTP 500")
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{})
	s := w.open()
	mustRead(t, s)
	// Those of the results service and the storage: the REST API is asked meanwhile.
	asked := []string{"CreateArtifact", "FinalizeArtifact", "ListArtifacts", "GetSignedArtifactURL", "PutBlock", "PutBlockList"}
	before := w.Count(asked...)
	large := document(checkpoint.Terminal, strings.Repeat("x", 1<<20))
	for says, do := range map[string]func() error{
		"storing a record of e as an artifact: there is none": func() error { return s.Write(t.Context(), "e") },
		"it cannot be named e.manifest.1":                     func() error { return s.Write(t.Context(), "e", document(checkpoint.Manifest, "")) },
		"it cannot be named ../e.terminal.1":                  func() error { return s.Write(t.Context(), "../e", document(checkpoint.Terminal, "")) },
		"bytes, at most 1048576 are allowed":                  func() error { return s.Write(t.Context(), "e", large) },
		"the step terminal is there twice": func() error {
			return s.Write(t.Context(), "e", document(checkpoint.Terminal, ""), document(checkpoint.Terminal, ""))
		},
	} {
		wantFailure(t, do(), failure.CheckpointStoreFailed, says)
	}
	s.Reserve(t.Context(), "../e", checkpoint.Intent)
	if n := w.Count(asked...); n != before {
		t.Errorf("%d requests", n-before)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	if err := s.Write(ctx, execution, intent("1")...); !errors.Is(err, errStop) || failure.CodeOf(err) != "" {
		t.Errorf("%v", err)
	}
	if _, err := s.Read(ctx, execution); !errors.Is(err, errStop) || failure.CodeOf(err) != "" {
		t.Errorf("%v", err)
	}
}
