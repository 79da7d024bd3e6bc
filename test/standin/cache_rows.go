package standin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// CacheEntry is what is kept of an entry of the cache.
type CacheEntry struct {
	ID                int64
	Key, Version, Ref string
	Size              int64
	Created           time.Time
	// Finalized is false of one that is reserved, and locks its key.
	Finalized bool
	// Blob is the name of its file.
	Blob string
}

// entry is one, and how many lookups do not find it yet.
type entry struct {
	CacheEntry

	stale int
	parts []cachePart // of the first version of the cache, until it is committed
}

// GoActionsCacheVersion is the version of every key of the library
// tonistiigi/go-actions-cache. Only entries with the version that is asked for
// are found.
func GoActionsCacheVersion() string {
	sum := sha256.Sum256([]byte("|go-actionscache-1.0"))
	return hex.EncodeToString(sum[:])
}

// reserveCache takes a key, nil when it is taken.
func (s *Stores) reserveCache(ref, key, version string) *entry {
	if slices.ContainsFunc(s.entries, func(e *entry) bool { return e.Ref == ref && e.Key == key && e.Version == version }) {
		return nil
	}
	return s.newEntry(ref, key, version)
}

func (s *Stores) newEntry(ref, key, version string) *entry {
	s.lastEntry++
	e := &entry{CacheEntry: CacheEntry{
		ID: s.lastEntry, Key: key, Version: version, Ref: ref, Created: time.Now(),
		Blob: path.Join(cacheContainer, hex.EncodeToString([]byte(rand.Text()))),
	}}
	s.entries = append(s.entries, e)
	return e
}

func (e *entry) finalize(size int64, stale int) { e.Finalized, e.Size, e.stale = true, size, stale }

// lookup finds what a cache action does: in each scope in turn the key itself,
// then the newest that begins with the key, then those of the others in their
// order.
// https://docs.github.com/en/actions/reference/workflows-and-actions/dependency-caching#cache-key-matching
func (s *Stores) lookup(refs []string, version, key string, others []string) (CacheEntry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*entry // what is there, the newest first
	for _, e := range slices.Backward(s.entries) {
		if !e.Finalized || e.Version != version || !slices.Contains(refs, e.Ref) {
			continue
		}
		matches := func(prefix string) bool { return strings.HasPrefix(e.Key, prefix) }
		if e.stale > 0 && (matches(key) || slices.ContainsFunc(others, matches)) {
			e.stale--
			continue
		}
		found = append(found, e)
	}
	for _, ref := range refs {
		for i, prefix := range append([]string{key, key}, others...) {
			for _, e := range found {
				if e.Ref == ref && (e.Key == prefix || i > 0 && strings.HasPrefix(e.Key, prefix)) {
					return e.CacheEntry, true
				}
			}
		}
	}
	return CacheEntry{}, false
}

// CacheEntries returns all that are there, the first one first.
func (s *Stores) CacheEntries() []CacheEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]CacheEntry, len(s.entries))
	for i, e := range s.entries {
		all[i] = e.CacheEntry
	}
	return all
}

// CacheData returns an entry's file.
func (s *Stores) CacheData(id int64) ([]byte, error) {
	for _, e := range s.CacheEntries() {
		if e.ID == id {
			return s.storage.Get(context.Background(), e.Blob)
		}
	}
	return nil, fmt.Errorf("there is no cache entry %d", id)
}

// ForgeCache adds an entry with any content under any key, as anybody can who may
// run a workflow on the ref. What is there under the key is gone then.
func (s *Stores) ForgeCache(ref, key, version string, data []byte) (CacheEntry, error) {
	s.mu.Lock()
	s.entries = slices.DeleteFunc(s.entries, func(e *entry) bool { return e.Ref == ref && e.Key == key && e.Version == version })
	made := s.newEntry(ref, key, version)
	s.mu.Unlock()
	if err := s.storage.Put(context.Background(), made.Blob, data); err != nil {
		return CacheEntry{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	made.finalize(int64(len(data)), s.options.Stale)
	return made.CacheEntry, nil
}

// LockCache reserves a key that is never finalized.
func (s *Stores) LockCache(ref, key, version string) CacheEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newEntry(ref, key, version).CacheEntry
}

// EvictCache removes an entry and its file. Its key is free then.
func (s *Stores) EvictCache(id int64) {
	s.mu.Lock()
	var blob string
	s.entries = slices.DeleteFunc(s.entries, func(e *entry) bool {
		if e.ID == id {
			blob = e.Blob
		}
		return e.ID == id
	})
	s.mu.Unlock()
	if blob != "" {
		_ = s.storage.Delete(context.Background(), blob) // Nobody asks for it any more.
	}
}
