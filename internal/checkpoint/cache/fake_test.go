package cache

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The operations of the services.
const (
	opLookUp   = "lookup"
	opReserve  = "reserve"
	opUpload   = "upload" // in v2 to the blob service (Put Blob)
	opFinalize = "finalize"
	opFetch    = "fetch"
)

// item is an entry of the cache.
type item struct {
	key, version string
	finalized    bool
	data         []byte
}

// fault answers a request in its own way; do has it take effect, and answers into w.
type fault func(w http.ResponseWriter, r *http.Request, do http.HandlerFunc)

// fake is both versions of the cache, and the blob service behind them, in little.
type fake struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	items    []*item
	faults   map[string][]fault
	requests []string
	secrets  []string // the signatures that it gave out
	camel    bool
	told     told
	alarm    alarm
	closing  chan struct{}
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := startFake(t)
	t.Cleanup(f.end)
	return f
}

// startFake returns one that has to be ended.
func startFake(t *testing.T) *fake {
	f := &fake{t: t, faults: map[string][]fault{}, closing: make(chan struct{})}
	f.Server = httptest.NewServer(f)
	return f
}

// calm takes back the faults that nobody met.
func (f *fake) calm() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.faults)
}

// end ends it, once, and what hangs in it.
func (f *fake) end() {
	close(f.closing)
	f.Close()
	for _, notice := range f.told.said() {
		f.clean(notice)
	}
}

// on has the next requests for an operation answered by faults, one each.
func (f *fake) on(op string, faults ...fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[op] = append(f.faults[op], faults...)
}

// asked returns the operations so far, and forgets them.
func (f *fake) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.requests
	f.requests = nil
	return asked
}

// put makes an entry, as anybody on the branch can.
func (f *fake) put(key string, finalized bool, data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.items = append(f.items, &item{key: key, version: f.version(), finalized: finalized, data: data})
}

// version is the one that the library gives all keys.
func (*fake) version() string {
	return "bc73d4a8f9b2b80e2c8f8d4d7a4e2a0b" // any: lookups here do not compare it
}

// keys returns those of the entries, in order, with a "?" for each that is reserved.
func (f *fake) keys() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var keys []string
	for _, i := range f.items {
		key := i.key
		if !i.finalized {
			key += "?"
		}
		keys = append(keys, key)
	}
	return keys
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	op, do := f.operation(r)
	f.mu.Lock()
	f.requests = append(f.requests, op)
	f.told.check(f.t, r)
	var first fault
	if queue := f.faults[op]; len(queue) > 0 {
		first, f.faults[op] = queue[0], queue[1:]
	}
	f.mu.Unlock()
	if first != nil {
		first(w, r, do)
		return
	}
	do(w, r)
}

func (f *fake) operation(r *http.Request) (string, http.HandlerFunc) {
	path := r.URL.Path
	switch {
	case strings.HasSuffix(path, "/GetCacheEntryDownloadURL"):
		return opLookUp, f.lookUp
	case strings.HasSuffix(path, "/CreateCacheEntry"):
		return opReserve, f.reserve
	case strings.HasSuffix(path, "/FinalizeCacheEntryUpload"):
		return opFinalize, f.finalize
	case strings.HasSuffix(path, "_apis/artifactcache/cache"):
		return opLookUp, f.lookUpBefore
	case strings.HasSuffix(path, "_apis/artifactcache/caches"):
		return opReserve, f.reserveBefore
	case r.Method == http.MethodPatch:
		return opUpload, f.stage
	case r.Method == http.MethodPost:
		return opFinalize, f.finalizeBefore
	case r.Method == http.MethodPut:
		return opUpload, f.stage
	}
	return opFetch, f.fetch
}

func (f *fake) allowed(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get("Authorization") != "Bearer "+token() {
		w.WriteHeader(http.StatusUnauthorized)
		return false
	}
	return true
}

func (f *fake) say(w http.ResponseWriter, fields map[string]any) {
	if f.camel {
		for _, name := range [][2]string{{"signed_upload_url", "signedUploadUrl"}, {"signed_download_url", "signedDownloadUrl"}, {"matched_key", "matchedKey"}, {"entry_id", "entryId"}} {
			if v, ok := fields[name[0]]; ok {
				delete(fields, name[0])
				fields[name[1]] = v
			}
		}
		if fields["ok"] == false {
			delete(fields, "ok")
		}
	}
	_ = json.NewEncoder(w).Encode(fields)
}

// sign returns an address for an entry that holds a secret.
func (f *fake) sign(i *item) string {
	signature := fmt.Sprintf("c2lnbmF0dXJl%08d+/Zm9yLWEtYmxvYg==", len(f.secrets))
	f.secrets = append(f.secrets, signature)
	return fmt.Sprintf("%s/blob/%d?se=2026-11-30T15%%3A00%%3A00Z&sig=%s&sv=2025-11-05", f.URL, slices.Index(f.items, i), strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D").Replace(signature))
}

func (f *fake) match(key string) *item {
	for _, i := range f.items {
		if i.finalized && i.key == key {
			return i
		}
	}
	for _, i := range slices.Backward(f.items) {
		if i.finalized && strings.HasPrefix(i.key, key) {
			return i
		}
	}
	return nil
}

func (f *fake) take(key string) *item {
	if slices.ContainsFunc(f.items, func(i *item) bool { return i.key == key }) {
		return nil
	}
	i := &item{key: key, version: f.version()}
	f.items = append(f.items, i)
	return i
}

func (f *fake) lookUp(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Key string `json:"key"`
	}
	if !f.allowed(w, r) || json.NewDecoder(r.Body).Decode(&q) != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.match(q.Key)
	if i == nil {
		f.say(w, map[string]any{"ok": false, "signed_download_url": "", "matched_key": ""})
		return
	}
	f.say(w, map[string]any{"ok": true, "signed_download_url": f.sign(i), "matched_key": i.key})
}

func (f *fake) reserve(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Key string `json:"key"`
	}
	if !f.allowed(w, r) || json.NewDecoder(r.Body).Decode(&q) != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.take(q.Key)
	if i == nil {
		w.WriteHeader(http.StatusConflict)
		f.say(w, map[string]any{"code": "already_exists", "msg": "cache entry with the same key, version, and scope already exists"})
		return
	}
	f.say(w, map[string]any{"ok": true, "signed_upload_url": f.sign(i)})
}

func (f *fake) finalize(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Key  string `json:"key"`
		Size int    `json:"size_bytes"`
	}
	if !f.allowed(w, r) || json.NewDecoder(r.Body).Decode(&q) != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for n, i := range f.items {
		if i.key == q.Key && !i.finalized && i.data != nil && len(i.data) == q.Size {
			i.finalized = true
			// A number, which the library takes for an error.
			f.say(w, map[string]any{"ok": true, "entry_id": n + 1})
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
	f.say(w, map[string]any{"code": "not_found", "msg": "cache entry not found"})
}

// at returns the entry that an address is of.
func (f *fake) at(r *http.Request) *item {
	n := 0
	_, _ = fmt.Sscan(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], &n)
	return f.items[n]
}

func (f *fake) stage(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at(r).data = data
	w.Header().Set("X-Ms-Request-Id", "1")
	w.WriteHeader(http.StatusCreated)
}

func (f *fake) fetch(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	data := f.at(r).data
	f.mu.Unlock()
	if r.URL.Query().Get("sig") == "" || r.Header.Get("Authorization") != "" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	_, _ = w.Write(data)
}
