package standin

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// How denials begin, which is what clients know them by.
const (
	writeDenied = "cache write denied: "
	readDenied  = "cache read denied: "
)

// cacheTaken is what is said of a key that is there, or locked.
const cacheTaken = "cache entry with the same key, version, and scope already exists"

// cacheMetadata is what a request may say of itself; the token decides.
type cacheMetadata struct {
	RepositoryID *int64Text `json:"repository_id"`
	Scope        []struct {
		Scope      string    `json:"scope"`
		Permission int64Text `json:"permission"`
	} `json:"scope"`
}

type createCacheEntry struct {
	Metadata *cacheMetadata `json:"metadata"`
	Key      string         `json:"key"`
	Version  string         `json:"version"`
}

// cacheKey checks a key as the official client does.
func cacheKey(key, version string) *twirpError {
	switch {
	case key == "":
		return refuse("invalid_argument", "key is required")
	case len(key) > 512:
		return refuse("invalid_argument", "key is longer than 512 characters")
	case strings.Contains(key, ","):
		return refuse("invalid_argument", "key holds a comma")
	case version == "":
		return refuse("invalid_argument", "version is required")
	}
	return nil
}

// scopes returns the scopes of the cache that a caller may do something in, as
// far as the service allows it too.
func (s *Stores) scopes(c caller, permission int) []string {
	if s.config().Cache.permission()&permission == 0 {
		return nil
	}
	var refs []string
	for _, scope := range c.scopes {
		if scope.Permission&permission != 0 {
			refs = append(refs, scope.Scope)
		}
	}
	return refs
}

// createCacheEntry reserves a key. A denial is an answer and no error: that is how
// the official client tells it from others.
func (s *Stores) createCacheEntry(c call, asked createCacheEntry) (map[string]any, *twirpError) {
	if e := cacheKey(asked.Key, asked.Version); e != nil {
		return nil, e
	}
	refs := s.scopes(c.caller, cacheWrite)
	if len(refs) == 0 {
		return map[string]any{"ok": false, "signed_upload_url": "", "message": writeDenied + "the token of this run may not write to the cache"}, nil
	}
	s.mu.Lock()
	made := s.reserveCache(refs[0], asked.Key, asked.Version)
	s.mu.Unlock()
	if made == nil {
		return nil, refuse("already_exists", "%s", cacheTaken)
	}
	address, err := s.storage.SignedURL(SignedBlob{Name: made.Blob, Write: true, Expires: time.Now().Add(time.Hour)})
	if err != nil {
		return nil, refuse("internal", "%v", err)
	}
	return map[string]any{"ok": true, "signed_upload_url": address, "message": ""}, nil
}

type finalizeCacheEntry struct {
	Metadata  *cacheMetadata `json:"metadata"`
	Key       string         `json:"key"`
	SizeBytes int64Text      `json:"size_bytes"`
	Version   string         `json:"version"`
}

func (s *Stores) finalizeCacheEntry(c call, asked finalizeCacheEntry) (map[string]any, *twirpError) {
	if e := cacheKey(asked.Key, asked.Version); e != nil {
		return nil, e
	}
	refs := s.scopes(c.caller, cacheWrite)
	if len(refs) == 0 {
		return map[string]any{"ok": false, "entry_id": "0", "message": writeDenied + "the token of this run may not write to the cache"}, nil
	}
	found, ok := s.reserved(func(e *entry) bool { return e.Ref == refs[0] && e.Key == asked.Key && e.Version == asked.Version })
	if !ok {
		return nil, refuse("not_found", "no cache entry waits for this key and version")
	}
	data, err := s.storage.Get(c.request.Context(), found.Blob)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse("failed_precondition", "nothing was uploaded for this cache entry")
	case err != nil:
		return nil, refuse("internal", "%v", err)
	case int64(asked.SizeBytes) != int64(len(data)):
		return nil, refuse("invalid_argument", "size_bytes is not the size of what was uploaded, %d", len(data))
	}
	if !s.settleCache(found.ID, int64(len(data))) {
		return nil, refuse("not_found", "no cache entry waits for this key and version")
	}
	return map[string]any{"ok": true, "entry_id": int64String(found.ID), "message": ""}, nil
}

// reserved finds an entry that waits to be finalized.
func (s *Stores) reserved(wanted func(*entry) bool) (CacheEntry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.entries, func(e *entry) bool { return !e.Finalized && wanted(e) })
	if at < 0 {
		return CacheEntry{}, false
	}
	return s.entries[at].CacheEntry, true
}

// settleCache makes a reserved entry one that is found, unless it is gone or found
// already.
func (s *Stores) settleCache(id, size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.entries, func(e *entry) bool { return e.ID == id && !e.Finalized })
	if at < 0 {
		return false
	}
	s.entries[at].finalize(size, s.options.Stale)
	return true
}

type cacheDownloadURL struct {
	Metadata    *cacheMetadata `json:"metadata"`
	Key         string         `json:"key"`
	RestoreKeys []string       `json:"restore_keys"`
	Version     string         `json:"version"`
}

func (s *Stores) cacheDownloadURL(c call, asked cacheDownloadURL) (map[string]any, *twirpError) {
	if len(asked.RestoreKeys) > 10 {
		return nil, refuse("invalid_argument", "there are more than 10 keys")
	}
	for _, key := range append([]string{asked.Key}, asked.RestoreKeys...) {
		if e := cacheKey(key, asked.Version); e != nil {
			return nil, e
		}
	}
	refs := s.scopes(c.caller, cacheRead)
	if len(refs) == 0 {
		return nil, refuse("permission_denied", "%s", readDenied+"the token of this run may not read the cache")
	}
	found, ok := s.lookup(refs, asked.Version, asked.Key, asked.RestoreKeys)
	if !ok {
		return map[string]any{"ok": false, "signed_download_url": "", "matched_key": ""}, nil
	}
	address, err := s.storage.SignedURL(SignedBlob{Name: found.Blob, Expires: time.Now().Add(10 * time.Minute)})
	if err != nil {
		return nil, refuse("internal", "%v", err)
	}
	return map[string]any{"ok": true, "signed_download_url": address, "matched_key": found.Key}, nil
}
