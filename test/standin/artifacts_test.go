package standin_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// What is wrong with a request is said with Twirp's codes, and has no effect.
func TestArtifactRequestsAreChecked(t *testing.T) {
	t.Parallel()
	later := func(days int) string { return time.Now().AddDate(0, 0, days).UTC().Format(time.RFC3339) }
	for name, c := range map[string]struct {
		method string
		fields map[string]any
		status int
		code   string
	}{
		"no name":            {"CreateArtifact", map[string]any{"version": 4}, 400, "invalid_argument"},
		"a slash":            {"CreateArtifact", map[string]any{"name": "a/b", "version": 4}, 400, "invalid_argument"},
		"a colon":            {"CreateArtifact", map[string]any{"name": "a:b", "version": 4}, 400, "invalid_argument"},
		"a line break":       {"CreateArtifact", map[string]any{"name": "a\nb", "version": 4}, 400, "invalid_argument"},
		"no version":         {"CreateArtifact", map[string]any{"name": "a"}, 400, "invalid_argument"},
		"version 5":          {"CreateArtifact", map[string]any{"name": "a", "version": 5}, 400, "invalid_argument"},
		"too long":           {"CreateArtifact", map[string]any{"name": "a", "version": 4, "expires_at": later(91)}, 400, "invalid_argument"},
		"in the past":        {"CreateArtifact", map[string]any{"name": "a", "version": 4, "expires_at": later(-1)}, 400, "invalid_argument"},
		"no time":            {"CreateArtifact", map[string]any{"name": "a", "version": 4, "expires_at": "soon"}, 400, "malformed"},
		"a type that is not": {"CreateArtifact", map[string]any{"name": "a", "version": 7, "mime_type": "zip?"}, 400, "invalid_argument"},
		"an unknown field":   {"CreateArtifact", map[string]any{"name": "a", "version": 4, "expiresat": later(1)}, 400, "malformed"},
		"another run":        {"CreateArtifact", map[string]any{"name": "a", "version": 4, "workflow_run_backend_id": "other"}, 403, "permission_denied"},
		"another job":        {"ListArtifacts", map[string]any{"workflow_job_run_backend_id": "other"}, 403, "permission_denied"},
		"no run":             {"ListArtifacts", map[string]any{"workflow_run_backend_id": ""}, 400, "invalid_argument"},
		"an id that is none": {"ListArtifacts", map[string]any{"id_filter": "x"}, 400, "malformed"},
		"finalize nothing":   {"FinalizeArtifact", map[string]any{"name": "missing", "size": "1"}, 404, "not_found"},
		"sign nothing":       {"GetSignedArtifactURL", map[string]any{"name": "missing"}, 404, "not_found"},
		"sign a reserved":    {"GetSignedArtifactURL", map[string]any{"name": "reserved"}, 404, "not_found"},
		"delete nothing":     {"DeleteArtifact", map[string]any{"name": "missing"}, 404, "not_found"},
		"no upload":          {"FinalizeArtifact", map[string]any{"name": "reserved", "size": "1"}, 412, "failed_precondition"},
		"no such method":     {"RenameArtifact", map[string]any{"name": "a"}, 404, "bad_route"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStores(t, standin.StoresOptions{})
			s.ReserveArtifact(s.Attempt(), "reserved")
			got := s.call(s.Attempt(), c.method, c.fields)
			if got.Status != c.status || got.code(t) != c.code || got.text(t, "msg") == "" {
				t.Errorf("%d: %s", got.Status, got.Body)
			}
			if all := s.Artifacts(); len(all) != 1 {
				t.Errorf("%v", all)
			}
		})
	}
}

// A request without a good token is 401, whatever is wrong with it.
func TestRuntimeTokensAreChecked(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	forged, err := standin.Forge(s.Attempt().RuntimeToken)
	if err != nil {
		t.Fatal(err)
	}
	ended := s.NextJob()
	s.EndToken(ended.RuntimeToken)
	s.Change(func(o *standin.StoresOptions) { o.TokenLifetime = -time.Minute })
	old := s.NextJob()
	s.Change(func(o *standin.StoresOptions) { o.TokenLifetime = 0 })
	address := s.Attempt().Env()["ACTIONS_RESULTS_URL"] + "twirp/github.actions.results.api.v1.ArtifactService/ListArtifacts"
	for name, header := range map[string]string{
		"none": "", "another scheme": "Basic " + s.Attempt().RuntimeToken, "not a token": "Bearer x", "github's": "Bearer " + s.Attempt().Token,
		"forged": "Bearer " + forged, "ended": "Bearer " + ended.RuntimeToken, "too old": "Bearer " + old.RuntimeToken,
	} {
		got := do(t, s.client, http.MethodPost, address, "{}", "Authorization", header, "Content-Type", "application/json")
		if got.Status != http.StatusUnauthorized || got.code(t) != "unauthenticated" {
			t.Errorf("%s: %d: %s", name, got.Status, got.Body)
		}
	}
	for kind, body := range map[string]string{"text/plain": "{}", "application/json": "{"} {
		got := do(t, s.client, http.MethodPost, address, body, "Authorization", "Bearer "+s.NextJob().RuntimeToken, "Content-Type", kind)
		if code := got.code(t); code != "bad_route" && code != "malformed" {
			t.Errorf("%s: %d: %s", kind, got.Status, got.Body)
		}
	}
}

// The claims are what the official client and go-actions-cache read.
func TestRuntimeTokenClaims(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{Ref: "refs/pull/7/merge", CacheMode: "read", CacheV1: true, RetentionDays: 5})
	a := s.Attempt()
	run, job := backendIDs(t, a.RuntimeToken)
	if run != a.RunBackendID || job != a.JobBackendID {
		t.Errorf("%s %s, not those of %+v", run, job, a)
	}
	claims := claimsOf(t, a.RuntimeToken)
	if claims["ac"] != `[{"Scope":"refs/pull/7/merge","Permission":3},{"Scope":"refs/heads/main","Permission":1}]` {
		t.Errorf("ac: %v", claims["ac"])
	}
	env := a.Env()
	for name, want := range map[string]string{
		"GITHUB_RUN_ID": strconv.FormatInt(a.RunID, 10), "GITHUB_RUN_ATTEMPT": "1", "GITHUB_REPOSITORY": "acme/orders", "GITHUB_API_URL": s.REST.URL,
		"GITHUB_SERVER_URL": "https://github.com", "GITHUB_RETENTION_DAYS": "5", "GITHUB_REF": "refs/pull/7/merge", "ACTIONS_CACHE_MODE": "read",
		"ACTIONS_RUNTIME_TOKEN": a.RuntimeToken, "ACTIONS_RESULTS_URL": s.Results.URL + "/",
	} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
	if !strings.HasPrefix(env["ACTIONS_CACHE_URL"], s.Results.URL) || !strings.HasSuffix(env["ACTIONS_CACHE_URL"], "/") {
		t.Errorf("ACTIONS_CACHE_URL is %q", env["ACTIONS_CACHE_URL"])
	}
	for name, value := range env {
		if value == a.Token {
			t.Errorf("%s is the github token", name)
		}
	}
	s.Change(func(o *standin.StoresOptions) { o.NoResults, o.CacheV1, o.CacheMode = true, false, "" })
	next := s.NextAttempt(standin.RerunFailed).Env()
	for _, name := range []string{"ACTIONS_RESULTS_URL", "ACTIONS_CACHE_URL", "ACTIONS_CACHE_MODE"} {
		if _, ok := next[name]; ok {
			t.Errorf("%s is there", name)
		}
	}
	if next["GITHUB_RUN_ATTEMPT"] != "2" || next["GITHUB_RUN_ID"] != env["GITHUB_RUN_ID"] {
		t.Errorf("%v", next)
	}
}

// A name is good once in an attempt, also when it was only reserved, and for all
// of the attempt's jobs; the next attempt may have it again.
func TestArtifactNamesAreTaken(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{MaxArtifacts: 3})
	first := s.Attempt()
	s.store(first, "a", []byte("one"))
	s.call(first, "CreateArtifact", map[string]any{"name": "reserved", "version": 4})
	for _, a := range []standin.Attempt{first, s.NextJob()} {
		for _, name := range []string{"a", "reserved"} {
			got := s.call(a, "CreateArtifact", map[string]any{"name": name, "version": 4})
			if got.Status != http.StatusConflict || got.text(t, "msg") != "an artifact with this name already exists on the workflow run" {
				t.Errorf("%s: %d: %s", name, got.Status, got.Body)
			}
		}
	}
	s.store(first, "b", []byte("two"))
	if got := s.call(first, "CreateArtifact", map[string]any{"name": "c", "version": 4}); got.code(t) != "resource_exhausted" {
		t.Errorf("%d: %s", got.Status, got.Body)
	}
	if got := s.call(first, "DeleteArtifact", map[string]any{"name": "a"}); got.Status != http.StatusOK {
		t.Errorf("%d: %s", got.Status, got.Body)
	}
	s.store(first, "a", []byte("again")) // The name is free.
	s.store(s.NextAttempt(standin.RerunFailed), "a", []byte("later"))
}

// Finalize compares what it is told with what was uploaded.
func TestFinalizeComparesTheUpload(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	a, data := s.Attempt(), []byte("content")
	s.upload(s.call(a, "CreateArtifact", map[string]any{"name": "a", "version": 4}).text(t, "signed_upload_url"), data)
	for name, change := range map[string]map[string]any{
		"size": {"size": "6"}, "no size": {"size": nil}, "hash": {"hash": "sha256:" + strings.Repeat("0", 64)}, "form of the hash": {"hash": "x"},
	} {
		fields := finalizeFields("a", data)
		for key, value := range change {
			fields[key] = value
		}
		if got := s.call(a, "FinalizeArtifact", fields); got.Status != http.StatusBadRequest {
			t.Errorf("%s: %d: %s", name, got.Status, got.Body)
		}
	}
	if got := s.list(a, nil); len(got) != 0 {
		t.Errorf("%v", got)
	}
	fields := finalizeFields("a", data)
	id := s.call(a, "FinalizeArtifact", fields).text(t, "artifact_id")
	if got := s.call(a, "FinalizeArtifact", fields); got.code(t) != "not_found" {
		t.Errorf("a second time: %d: %s", got.Status, got.Body)
	}
	s.Change(func(o *standin.StoresOptions) { o.FinalizeTwice = true })
	if got := s.call(a, "FinalizeArtifact", fields); got.text(t, "artifact_id") != id {
		t.Errorf("a second time: %d: %s", got.Status, got.Body)
	}
}

// What an attempt sees of the earlier ones is a mode of its own.
func TestEarlierAttempts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		how      standin.Rerun
		options  standin.StoresOptions
		listed   string
		fetched  bool
		sameRun  bool
		ascended bool
	}{
		"failed jobs":               {standin.RerunFailed, standin.StoresOptions{}, "second first", true, true, false},
		"failed jobs, not fetched":  {standin.RerunFailed, standin.StoresOptions{UnsignedEarlier: true}, "second first", false, true, false},
		"failed jobs, other run id": {standin.RerunFailed, standin.StoresOptions{RunBackendPerAttempt: true}, "second first", true, false, false},
		"all jobs":                  {standin.RerunAll, standin.StoresOptions{}, "second", false, true, false},
		"ids that rise":             {standin.RerunAll, standin.StoresOptions{AscendingIDs: true, Order: standin.OrderOldest}, "second", false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStores(t, c.options)
			old := s.Attempt()
			first := s.store(old, "first", []byte("one"))
			a := s.NextAttempt(c.how)
			second := s.store(a, "second", []byte("two"))
			if a.Number != 2 || a.JobBackendID == old.JobBackendID || (a.RunBackendID == old.RunBackendID) != c.sameRun {
				t.Errorf("%+v after %+v", a, old)
			}
			if (second > first) != c.ascended {
				t.Errorf("the ids are %d and then %d", first, second)
			}
			if got := names(s.list(a, nil)); got != c.listed {
				t.Errorf("listed: %s", got)
			}
			got := s.call(a, "GetSignedArtifactURL", map[string]any{
				"workflow_run_backend_id": old.RunBackendID, "workflow_job_run_backend_id": old.JobBackendID, "name": "first",
			})
			if (got.Status == http.StatusOK) != c.fetched || !c.fetched && got.code(t) != "not_found" {
				t.Errorf("%d: %s", got.Status, got.Body)
			}
			// REST has them all, and the earlier token is still good.
			if got := len(rows(t, s.rest(http.MethodGet, old.Token, fmt.Sprintf("/repos/acme/orders/actions/runs/%d/artifacts", a.RunID)))); got != 2 {
				t.Errorf("REST lists %d", got)
			}
			s.store(old, "late", []byte("three"))
			if got := s.Artifacts()[2]; got.Attempt != 1 || !got.Finalized {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Another run sees nothing of it, but the repository's list does.
func TestAnotherRun(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	old := s.Attempt()
	s.store(old, "same", []byte("one"))
	a := s.NextRun()
	if got := s.list(a, nil); len(got) != 0 || a.RunID == old.RunID || a.Number != 1 {
		t.Errorf("%+v: %v", a, got)
	}
	s.store(a, "same", []byte("two"))
	if got := rows(t, s.rest(http.MethodGet, a.Token, "/repos/acme/orders/actions/artifacts?name=same")); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// Rows come late, and in an order that stays.
func TestListsAreStaleAndInAnyOrder(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{Stale: 2})
	a := s.Attempt()
	s.store(a, "a", []byte("one"))
	path := fmt.Sprintf("/repos/acme/orders/actions/runs/%d/artifacts", a.RunID)
	for i, want := range []int{0, 0, 1, 1} {
		if got := len(s.list(a, nil)); got != want {
			t.Errorf("list %d has %d", i+1, got)
		}
		if got := len(rows(t, s.rest(http.MethodGet, a.Token, path))); got != want {
			t.Errorf("REST's list %d has %d", i+1, got)
		}
	}
	s.Change(func(o *standin.StoresOptions) { o.Stale = 0 })
	for _, name := range []string{"b", "c", "d", "e", "f", "g", "h"} {
		s.store(a, name, []byte(name))
	}
	if got := names(s.list(a, map[string]any{"name_filter": "d"})); got != "d" {
		t.Errorf("of one name: %s", got)
	}
	if got := names(s.list(a, nil)); got != "h g f e d c b a" {
		t.Errorf("newest first: %s", got)
	}
	s.Change(func(o *standin.StoresOptions) { o.Order = standin.OrderOldest })
	if got := names(rows(t, s.rest(http.MethodGet, a.Token, path))); got != "a b c d e f g h" {
		t.Errorf("oldest first: %s", got)
	}
	s.Change(func(o *standin.StoresOptions) { o.Order = standin.OrderShuffled })
	shuffled := strings.Fields(names(s.list(a, nil)))
	if again := strings.Fields(names(s.list(a, nil))); !slices.Equal(again, shuffled) {
		t.Errorf("%v and then %v", shuffled, again)
	}
	reversed := slices.Clone(shuffled)
	slices.Reverse(reversed)
	if slices.IsSorted(shuffled) || slices.IsSorted(reversed) || len(shuffled) != 8 {
		t.Errorf("%v is in an order", shuffled)
	}
}

// Other implementations answer in camelCase and leave out what is empty; requests
// may be in it anyway.
func TestCamelCase(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{CamelCase: true})
	a := s.Attempt()
	if got := s.call(a, "ListArtifacts", nil); string(got.Body) != "{}" {
		t.Errorf("%s", got.Body)
	}
	created := s.call(a, "CreateArtifact", map[string]any{"name": "a", "version": 4, "mimeType": "text/plain"})
	s.upload(created.text(t, "signedUploadUrl"), []byte("x"))
	id := s.call(a, "FinalizeArtifact", map[string]any{"name": "a", "size": 1}).text(t, "artifactId")
	got := s.list(a, nil)
	if len(got) != 1 || got[0]["databaseId"] != id || got[0]["workflowRunBackendId"] != a.RunBackendID || got[0]["digest"] != nil {
		t.Fatalf("%v", got)
	}
	file := do(t, s.client, http.MethodGet, s.call(a, "GetSignedArtifactURL", map[string]any{"name": "a"}).text(t, "signedUrl"), "")
	if file.Header.Get("Content-Type") != "text/plain" || file.Header.Get("Content-Disposition") != "attachment; filename=a" {
		t.Errorf("%v", file.Header)
	}
	if got := s.call(a, "CreateCacheEntry", map[string]any{"key": "k", "version": "v"}); got.text(t, "signedUploadUrl") == "" {
		t.Errorf("%s", got.Body)
	}
}

// Rows can be forged, expire, go, and lose their files.
func TestArtifactsAreForgedAndBroken(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	a := s.Attempt()
	id := s.store(a, "a", []byte("mine"))
	forged, err := s.ForgeArtifact(a, "a", []byte("forged"))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.list(a, map[string]any{"name_filter": "a"}); len(got) != 2 || got[0]["size"] != "6" {
		t.Errorf("%v", got)
	}
	if data, err := s.ArtifactData(forged.ID); err != nil || string(data) != "forged" {
		t.Errorf("%s, %v", data, err)
	}
	zip := func(id int64) answer {
		return s.rest(http.MethodGet, a.Token, fmt.Sprintf("/repos/acme/orders/actions/artifacts/%d/zip", id))
	}
	if err := s.ReplaceArtifactData(id, []byte("other")); err != nil {
		t.Fatal(err)
	}
	if got := do(t, s.client, http.MethodGet, zip(id).Header.Get("Location"), ""); !bytes.Equal(got.Body, []byte("other")) {
		t.Errorf("%d: %s", got.Status, got.Body)
	}
	if err := s.LoseArtifactData(id); err != nil {
		t.Fatal(err)
	}
	if got := do(t, s.client, http.MethodGet, zip(id).Header.Get("Location"), ""); got.Header.Get("X-Ms-Error-Code") != "BlobNotFound" {
		t.Errorf("%d: %s", got.Status, got.Body)
	}
	s.ExpireArtifact(id)
	if got := zip(id); got.Status != http.StatusGone || got.text(t, "message") != "Artifact has expired" {
		t.Errorf("%d: %s", got.Status, got.Body)
	}
	listed := rows(t, s.rest(http.MethodGet, a.Token, "/repos/acme/orders/actions/artifacts"))
	if len(listed) != 2 || listed[1]["expired"] != true || len(s.list(a, nil)) != 1 {
		t.Errorf("%v", listed)
	}
	s.RemoveArtifact(id)
	if got := zip(id); got.Status != http.StatusNotFound {
		t.Errorf("%d: %s", got.Status, got.Body)
	}
	if len(s.Blobs.Names()) != 1 {
		t.Errorf("%v", s.Blobs.Names())
	}
	for _, err := range []error{s.ReplaceArtifactData(1, nil), s.LoseArtifactData(1)} {
		if err == nil {
			t.Error("an artifact that is not there was changed")
		}
	}
}

// Of the jobs that want a name, or a key, at the same time one gets it.
func TestNamesAndKeysAreTakenOnce(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	const jobs = 8
	statuses := make(chan int, 2*jobs)
	var wait sync.WaitGroup
	for range jobs {
		a := s.NextJob()
		wait.Go(func() {
			statuses <- s.call(a, "CreateArtifact", map[string]any{"name": "a", "version": 4}).Status
			statuses <- s.call(a, "CreateCacheEntry", map[string]any{"key": "a", "version": "v"}).Status
		})
	}
	wait.Wait()
	close(statuses)
	counts := map[int]int{}
	for status := range statuses {
		counts[status]++
	}
	if counts[http.StatusOK] != 2 || counts[http.StatusConflict] != 2*jobs-2 {
		t.Errorf("%v", counts)
	}
	if len(s.Artifacts()) != 1 || len(s.CacheEntries()) != 1 {
		t.Errorf("%+v, %+v", s.Artifacts(), s.CacheEntries())
	}
}
