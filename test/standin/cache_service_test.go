package standin_test

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	actionscache "github.com/tonistiigi/go-actions-cache"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// save saves an entry as the official client does.
func (s *stores) save(a standin.Attempt, key string, data []byte) {
	s.t.Helper()
	created := s.call(a, "CreateCacheEntry", map[string]any{"key": key, "version": "v"})
	got := do(s.t, s.client, http.MethodPut, created.text(s.t, "signed_upload_url"), string(data), "X-Ms-Blob-Type", "BlockBlob")
	if got.Status != http.StatusCreated {
		s.t.Fatalf("%d: %s", got.Status, got.Body)
	}
	got = s.call(a, "FinalizeCacheEntryUpload", map[string]any{"key": key, "version": "v", "size_bytes": len(data)})
	if got.Status != http.StatusOK || got.object(s.t)["ok"] != true || got.text(s.t, "entry_id") == "0" {
		s.t.Fatalf("%d: %s", got.Status, got.Body)
	}
}

// find returns which key matched, and what is there, both empty for a miss.
func (s *stores) find(a standin.Attempt, key string, others ...string) (matched, content string) {
	s.t.Helper()
	got := s.call(a, "GetCacheEntryDownloadURL", map[string]any{"key": key, "restore_keys": others, "version": "v"})
	if got.Status != http.StatusOK {
		s.t.Fatalf("%d: %s", got.Status, got.Body)
	}
	if got.object(s.t)["ok"] != true {
		return "", ""
	}
	return got.text(s.t, "matched_key"), string(do(s.t, s.client, http.MethodGet, got.text(s.t, "signed_download_url"), "").Body)
}

// Keys are matched as the documentation says: whole, then the newest that begins so,
// in the job's own ref and then in the default branch.
func TestCacheKeysAreMatched(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{Ref: "refs/heads/feature"})
	a := s.Attempt()
	for _, key := range []string{"job.intent.1", "job.intent.10", "job.intent.2"} {
		s.save(a, key, []byte(key))
	}
	for _, forged := range [][2]string{
		{"refs/heads/main", "job.terminal.1"}, {"refs/heads/main", "job.intent.1"}, {"refs/heads/main", "job.intent.99"}, {"refs/heads/other", "job.prepared.1"},
	} {
		if _, err := s.ForgeCache(forged[0], forged[1], "v", []byte("forged")); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		keys           []string
		want, contents string
	}{
		"the key itself":             {[]string{"job.intent.1"}, "job.intent.1", "job.intent.1"},
		"the newest that begins so":  {[]string{"job.intent."}, "job.intent.2", "job.intent.2"},
		"of the other keys":          {[]string{"none", "nor this", "job.intent.1"}, "job.intent.10", "job.intent.10"},
		"of the default branch":      {[]string{"job.terminal."}, "job.terminal.1", "forged"},
		"the default branch is last": {[]string{"job.terminal.1", "job.intent.2"}, "job.intent.2", "job.intent.2"},
		"of a branch of others":      {[]string{"job.prepared.1"}, "", ""},
		"none":                       {[]string{"job.intent.3"}, "", ""},
	} {
		matched, content := s.find(a, c.keys[0], c.keys[1:]...)
		if matched != c.want || content != c.contents {
			t.Errorf("%s: %q with %q", name, matched, content)
		}
	}
	if got := s.call(a, "GetCacheEntryDownloadURL", map[string]any{"key": "job.intent.1", "version": "other"}); got.object(t)["ok"] != false {
		t.Errorf("of another version: %s", got.Body)
	}
	for _, e := range s.CacheEntries() {
		s.EvictCache(e.ID)
	}
	if matched, _ := s.find(a, "job."); matched != "" || len(s.Blobs.Names()) != 0 {
		t.Errorf("%s is still there, with %v", matched, s.Blobs.Names())
	}
}

// A key is taken once, and locked until it is finalized; new entries are found late.
func TestCacheKeysAreTaken(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	a := s.Attempt()
	s.save(a, "a", []byte("content"))
	locked := s.LockCache("refs/heads/main", "b", "v")
	for _, key := range []string{"a", "b"} {
		got := s.call(s.NextAttempt(standin.RerunAll), "CreateCacheEntry", map[string]any{"key": key, "version": "v"})
		if got.Status != http.StatusConflict || got.code(t) != "already_exists" || got.text(t, "msg") != "cache entry with the same key, version, and scope already exists" {
			t.Errorf("%s: %d: %s", key, got.Status, got.Body)
		}
	}
	if matched, _ := s.find(a, "b"); matched != "" {
		t.Errorf("%s is found, which is locked", matched)
	}
	s.EvictCache(locked.ID)
	s.Change(func(o *standin.StoresOptions) { o.Stale = 1 })
	s.save(a, "b", []byte("content"))
	for i, want := range []string{"", "b"} {
		if matched, _ := s.find(a, "b"); matched != want {
			t.Errorf("lookup %d: %q", i+1, matched)
		}
	}
	if data, err := s.CacheData(s.CacheEntries()[1].ID); err != nil || string(data) != "content" {
		t.Errorf("%s, %v", data, err)
	}
	if _, err := s.CacheData(99); err == nil {
		t.Error("an entry that is not there has a file")
	}
}

// What is wrong with a request has no effect.
func TestCacheRequestsAreChecked(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	a := s.Attempt()
	s.LockCache("refs/heads/main", "locked", "v")
	for name, c := range map[string]struct {
		method string
		fields map[string]any
		code   string
	}{
		"no key":           {"CreateCacheEntry", map[string]any{"version": "v"}, "invalid_argument"},
		"no version":       {"CreateCacheEntry", map[string]any{"key": "a"}, "invalid_argument"},
		"a comma":          {"CreateCacheEntry", map[string]any{"key": "a,b", "version": "v"}, "invalid_argument"},
		"too long":         {"CreateCacheEntry", map[string]any{"key": strings.Repeat("a", 513), "version": "v"}, "invalid_argument"},
		"an unknown field": {"CreateCacheEntry", map[string]any{"key": "a", "version": "v", "size": 1}, "malformed"},
		"nothing reserved": {"FinalizeCacheEntryUpload", map[string]any{"key": "a", "version": "v", "size_bytes": "1"}, "not_found"},
		"nothing uploaded": {"FinalizeCacheEntryUpload", map[string]any{"key": "locked", "version": "v", "size_bytes": "1"}, "failed_precondition"},
		"too many keys":    {"GetCacheEntryDownloadURL", map[string]any{"key": "a", "version": "v", "restore_keys": strings.Split(strings.Repeat("a ", 11), " ")}, "invalid_argument"},
		"an empty key":     {"GetCacheEntryDownloadURL", map[string]any{"key": "a", "version": "v", "restore_keys": []string{""}}, "invalid_argument"},
	} {
		if got := s.call(a, c.method, c.fields); got.code(t) != c.code {
			t.Errorf("%s: %d: %s", name, got.Status, got.Body)
		}
	}
	created := s.call(a, "CreateCacheEntry", map[string]any{"key": "a", "version": "v", "metadata": map[string]any{"repository_id": "1", "scope": []any{}}})
	s.upload(created.text(t, "signed_upload_url"), []byte("content"))
	if got := s.call(a, "FinalizeCacheEntryUpload", map[string]any{"key": "a", "version": "v", "size_bytes": "6"}); got.code(t) != "invalid_argument" {
		t.Errorf("another size: %d: %s", got.Status, got.Body)
	}
	if got := s.CacheEntries(); len(got) != 2 || got[0].Finalized || got[1].Finalized {
		t.Errorf("%+v", got)
	}
}

// Denials begin as the official client looks for, whether the token says so or the
// service alone does.
func TestCacheDenials(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		access        standin.CacheAccess
		reads, writes bool
	}{
		"write":      {standin.CacheWrite, true, true},
		"read only":  {standin.CacheReadOnly, true, false},
		"write only": {standin.CacheWriteOnly, false, true},
		"none":       {standin.CacheNone, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStores(t, standin.StoresOptions{})
			s.Change(func(o *standin.StoresOptions) { o.Cache = c.access })
			for _, a := range []standin.Attempt{s.Attempt(), s.NextAttempt(standin.RerunAll)} {
				got := s.call(a, "CreateCacheEntry", map[string]any{"key": a.JobBackendID, "version": "v"})
				message, _ := got.object(t)["message"].(string)
				if got.Status != http.StatusOK || got.object(t)["ok"] != c.writes || strings.HasPrefix(message, "cache write denied:") == c.writes {
					t.Errorf("%d: %s", got.Status, got.Body)
				}
				got = s.call(a, "GetCacheEntryDownloadURL", map[string]any{"key": "k", "version": "v"})
				if c.reads && got.Status != http.StatusOK || !c.reads && (got.code(t) != "permission_denied" || !strings.HasPrefix(got.text(t, "msg"), "cache read denied:")) {
					t.Errorf("%d: %s", got.Status, got.Body)
				}
			}
		})
	}
}

// goCache is the library's client for a job.
func (s *stores) goCache(a standin.Attempt, v2 bool) *actionscache.Cache {
	s.t.Helper()
	address := a.Env()["ACTIONS_CACHE_URL"]
	if v2 {
		address = a.Env()["ACTIONS_RESULTS_URL"]
	}
	c, err := actionscache.New(a.RuntimeToken, address, v2, actionscache.Opt{Client: s.client})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// go-actions-cache speaks the first version: what it saves it finds again.
func TestGoActionsCacheV1(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{CacheV1: true})
	c := s.goCache(s.Attempt(), false)
	if entry, err := c.Load(t.Context(), "job.intent."); err != nil || entry != nil {
		t.Errorf("%v, %v", entry, err)
	}
	data := bytes.Repeat([]byte("0123456789"), 1000)
	if err := c.Save(t.Context(), "job.intent.1", actionscache.NewBlob(data)); err != nil {
		t.Fatal(err)
	}
	if err := c.Save(t.Context(), "job.intent.1", actionscache.NewBlob(data)); !errors.Is(err, os.ErrExist) {
		t.Errorf("%v", err)
	}
	entry, err := c.Load(t.Context(), "job.intent.")
	if err != nil || entry == nil || entry.Key != "job.intent.1" || entry.Scope != "refs/heads/main" {
		t.Fatalf("%+v, %v", entry, err)
	}
	var read bytes.Buffer
	if err := entry.WriteTo(t.Context(), &read); err != nil || !bytes.Equal(read.Bytes(), data) {
		t.Errorf("%v: %d bytes", err, read.Len())
	}
	if got := s.CacheEntries(); len(got) != 1 || got[0].Version != standin.GoActionsCacheVersion() {
		t.Errorf("%+v", got)
	}
	for operation, want := range map[string]int{"FindCache": 2, "ReserveCache": 2, "UploadCache": 1, "CommitCache": 1} {
		if got := s.Count(operation); got != want {
			t.Errorf("%s: %d requests", operation, got)
		}
	}
	s.Change(func(o *standin.StoresOptions) { o.Cache = standin.CacheNone })
	if err := c.Save(t.Context(), "other", actionscache.NewBlob(data)); err == nil || !strings.Contains(err.Error(), "cache write denied:") {
		t.Errorf("%v", err)
	}
	if _, err := c.Load(t.Context(), "other"); err == nil || !strings.Contains(err.Error(), "cache read denied:") {
		t.Errorf("%v", err)
	}
}

// It understands the answers of the second version too, also those that refuse.
func TestGoActionsCacheV2(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	if _, err := s.ForgeCache("refs/heads/main", "job.intent.1", standin.GoActionsCacheVersion(), []byte("content")); err != nil {
		t.Fatal(err)
	}
	c := s.goCache(s.Attempt(), true)
	if scopes := c.Scopes(); len(scopes) != 1 || scopes[0].Permission != actionscache.PermissionRead|actionscache.PermissionWrite {
		t.Errorf("%v", scopes)
	}
	entry, err := c.Load(t.Context(), "job.intent.")
	if err != nil || entry == nil || entry.Key != "job.intent.1" {
		t.Fatalf("%+v, %v", entry, err)
	}
	if got := do(t, s.client, http.MethodGet, entry.URL, ""); string(got.Body) != "content" {
		t.Errorf("%d: %s", got.Status, got.Body)
	}
	if err := c.Save(t.Context(), "job.intent.1", actionscache.NewBlob(nil)); !errors.Is(err, os.ErrExist) {
		t.Errorf("%v", err)
	}
	if entry, err := c.Load(t.Context(), "none"); err != nil || entry != nil {
		t.Errorf("%+v, %v", entry, err)
	}
	s.Change(func(o *standin.StoresOptions) { o.Cache = standin.CacheReadOnly })
	if err := c.Save(t.Context(), "other", actionscache.NewBlob(nil)); err == nil || !strings.Contains(err.Error(), "cache write denied:") {
		t.Errorf("%v", err)
	}
}
