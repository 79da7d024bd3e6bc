package standin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cachePart is a part of a file, and where in it.
type cachePart struct {
	first int64
	data  []byte
}

// cacheV1Error is an error of the first version of the cache.
type cacheV1Error struct {
	status    int
	kind, msg string
}

// serveCacheV1 adds the first version of the cache: an entry is looked up,
// reserved, uploaded in parts and committed, below ACTIONS_CACHE_URL.
func (s *Stores) serveCacheV1(mux *http.ServeMux) {
	handle := func(pattern string, handler func(caller, *http.Request) (int, any, *cacheV1Error)) {
		method, resource, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+s.cachePath+cacheV1Path+resource, func(w http.ResponseWriter, r *http.Request) {
			who, err := s.verify(bearer(r))
			if err != nil {
				writeCacheV1Error(w, &cacheV1Error{http.StatusUnauthorized, "UnauthorizedRequestException", err.Error()})
				return
			}
			status, answer, refused := handler(who, r)
			switch {
			case refused != nil:
				writeCacheV1Error(w, refused)
			case answer == nil:
				w.WriteHeader(status)
			default:
				writeJSON(w, status, answer)
			}
		})
	}
	handle("GET cache", s.findCacheV1)
	handle("POST caches", s.reserveCacheV1)
	handle("PATCH caches/{id}", s.uploadCacheV1)
	handle("POST caches/{id}", s.commitCacheV1)
}

func writeCacheV1Error(w http.ResponseWriter, e *cacheV1Error) {
	writeJSON(w, e.status, map[string]any{
		"$id": "1", "innerException": nil, "message": e.msg, "typeKey": e.kind, "errorCode": 0, "eventId": 3000,
		"typeName": "GitHub.ArtifactCache.WebApi." + e.kind + ", GitHub.ArtifactCache.WebApi",
	})
}

func badCache(format string, args ...any) *cacheV1Error {
	return &cacheV1Error{http.StatusBadRequest, "ArtifactCacheRequestException", fmt.Sprintf(format, args...)}
}

func (s *Stores) findCacheV1(who caller, r *http.Request) (int, any, *cacheV1Error) {
	keys, version := strings.Split(r.URL.Query().Get("keys"), ","), r.URL.Query().Get("version")
	for _, key := range keys {
		if e := cacheKey(key, version); e != nil {
			return 0, nil, badCache("%s", e.msg)
		}
	}
	refs := s.scopes(who, cacheRead)
	if len(refs) == 0 {
		return 0, nil, &cacheV1Error{http.StatusForbidden, "AccessDeniedException", readDenied + "the token of this run may not read the cache"}
	}
	found, ok := s.lookup(refs, version, keys[0], keys[1:])
	if !ok {
		return http.StatusNoContent, nil, nil
	}
	address, err := s.storage.SignedURL(SignedBlob{Name: found.Blob, Expires: time.Now().Add(10 * time.Minute)})
	if err != nil {
		return 0, nil, &cacheV1Error{http.StatusInternalServerError, "Exception", err.Error()}
	}
	return http.StatusOK, map[string]any{
		"cacheKey": found.Key, "cacheVersion": found.Version, "scope": found.Ref, "archiveLocation": address, "creationTime": timestamp(found.Created),
	}, nil
}

// readCacheV1 reads a request of JSON.
func readCacheV1(r *http.Request, into any) *cacheV1Error {
	b, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		panic(http.ErrAbortHandler) // Who asks has gone.
	}
	if err := json.Unmarshal(b, into); err != nil {
		return badCache("the request is no JSON: %v", err)
	}
	return nil
}

// writable is the scope that a caller may write to.
func (s *Stores) writable(who caller) (string, *cacheV1Error) {
	refs := s.scopes(who, cacheWrite)
	if len(refs) == 0 {
		return "", &cacheV1Error{http.StatusForbidden, "AccessDeniedException", writeDenied + "the token of this run may not write to the cache"}
	}
	return refs[0], nil
}

func (s *Stores) reserveCacheV1(who caller, r *http.Request) (int, any, *cacheV1Error) {
	var asked struct {
		Key, Version string
		CacheSize    int64
	}
	if e := readCacheV1(r, &asked); e != nil {
		return 0, nil, e
	}
	if e := cacheKey(asked.Key, asked.Version); e != nil {
		return 0, nil, badCache("%s", e.msg)
	}
	ref, e := s.writable(who)
	if e != nil {
		return 0, nil, e
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	made := s.reserveCache(ref, asked.Key, asked.Version)
	if made == nil {
		return 0, nil, &cacheV1Error{http.StatusConflict, "ArtifactCacheItemAlreadyExistsException",
			"Cache already exists. Scope: " + ref + ", Key: " + asked.Key + ", Version: " + asked.Version}
	}
	return http.StatusCreated, map[string]any{"cacheId": made.ID}, nil
}

// pending finds the entry that a path names, which has to wait to be committed.
func (s *Stores) pending(who caller, r *http.Request) (CacheEntry, *cacheV1Error) {
	ref, e := s.writable(who)
	if e != nil {
		return CacheEntry{}, e
	}
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	found, ok := s.reserved(func(e *entry) bool { return e.ID == id && e.Ref == ref })
	if err != nil || !ok {
		return CacheEntry{}, &cacheV1Error{http.StatusNotFound, "ArtifactCacheNotFoundException", "no cache entry with this id waits to be committed"}
	}
	return found, nil
}

func (s *Stores) uploadCacheV1(who caller, r *http.Request) (int, any, *cacheV1Error) {
	found, e := s.pending(who, r)
	if e != nil {
		return 0, nil, e
	}
	var first, last int64
	if _, err := fmt.Sscanf(r.Header.Get("Content-Range"), "bytes %d-%d/*", &first, &last); err != nil {
		return 0, nil, badCache("the header Content-Range is not as it has to be")
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBlobBody))
	if err != nil {
		panic(http.ErrAbortHandler) // Who uploads has gone.
	}
	if int64(len(data)) != last-first+1 {
		return 0, nil, badCache("there are %d bytes, not those of the header Content-Range", len(data))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		if e.ID == found.ID {
			e.parts = append(slices.DeleteFunc(e.parts, func(p cachePart) bool { return p.first == first }), cachePart{first, data})
		}
	}
	return http.StatusNoContent, nil, nil
}

func (s *Stores) commitCacheV1(who caller, r *http.Request) (int, any, *cacheV1Error) {
	found, refused := s.pending(who, r)
	if refused != nil {
		return 0, nil, refused
	}
	var asked struct{ Size int64 }
	if e := readCacheV1(r, &asked); e != nil {
		return 0, nil, e
	}
	data, whole := s.assembled(found.ID)
	if !whole || int64(len(data)) != asked.Size {
		return 0, nil, badCache("the size is not that of what was uploaded, %d bytes", len(data))
	}
	if err := s.storage.Put(r.Context(), found.Blob, data); err != nil {
		return 0, nil, &cacheV1Error{http.StatusInternalServerError, "Exception", err.Error()}
	}
	if !s.settleCache(found.ID, asked.Size) {
		return 0, nil, badCache("the cache entry was committed meanwhile")
	}
	return http.StatusNoContent, nil, nil
}

// assembled puts the parts of an entry together, and says whether none is missing.
func (s *Stores) assembled(id int64) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all bytes.Buffer
	for _, e := range s.entries {
		if e.ID != id {
			continue
		}
		slices.SortFunc(e.parts, func(a, b cachePart) int { return int(a.first - b.first) })
		for _, p := range e.parts {
			if p.first != int64(all.Len()) {
				return nil, false
			}
			all.Write(p.data)
		}
	}
	return all.Bytes(), true
}
