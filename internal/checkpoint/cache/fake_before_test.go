package cache

import (
	"encoding/json"
	"net/http"
	"slices"
)

func (f *fake) lookUpBefore(w http.ResponseWriter, r *http.Request) {
	if !f.allowed(w, r) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.match(r.URL.Query().Get("keys"))
	if i == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	f.say(w, map[string]any{"cacheKey": i.key, "scope": "refs/heads/main", "archiveLocation": f.sign(i)})
}

func (f *fake) reserveBefore(w http.ResponseWriter, r *http.Request) {
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
		f.say(w, map[string]any{"typeKey": "ArtifactCacheItemAlreadyExistsException", "message": "Cache already exists."})
		return
	}
	// Its numbers begin with 1 here, and 0 is none.
	if len(f.items) == 1 {
		f.items = append([]*item{{key: "the first"}}, f.items...)
	}
	w.WriteHeader(http.StatusCreated)
	f.say(w, map[string]any{"cacheId": slices.Index(f.items, i)})
}

func (f *fake) finalizeBefore(w http.ResponseWriter, r *http.Request) {
	if !f.allowed(w, r) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.at(r)
	if i.finalized || i.data == nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	i.finalized = true
	w.WriteHeader(http.StatusNoContent)
}
