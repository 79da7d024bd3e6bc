package standin

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"
)

// Artifact is what is kept of an artifact.
type Artifact struct {
	ID, RunID int64
	Attempt   int
	Name      string
	// RunBackendID and JobBackendID are those of the job that made it.
	RunBackendID, JobBackendID string
	Size                       int64
	Digest                     string // sha256:<hex>, empty when none was given
	Created, Expires           time.Time
	// Finalized is false of one that was created, and no more.
	Finalized bool
	// Expired is true of one that only REST still shows, Deleted of one that
	// nobody does.
	Expired, Deleted bool
	// Blob is the name of its file.
	Blob string
}

// row is an artifact, and how many lists do not show it yet.
type row struct {
	Artifact

	kind                        string
	staleInternal, staleRunREST int
}

// live is true of one that can be had.
func (r *row) live() bool { return r.Finalized && !r.Expired && !r.Deleted }

func (r *row) finalize(size int64, digest string, stale int) {
	r.Finalized, r.Size, r.Digest, r.staleInternal, r.staleRunREST = true, size, digest, stale, stale
}

// row finds one by its id.
func (s *Stores) row(id int64) *row {
	for _, r := range s.rows {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// nextID is an id that rises within an attempt, and falls or rises from one
// attempt to the next.
func (s *Stores) nextID(c caller) int64 {
	group := int64(-1)
	last := int64(0)
	for _, r := range s.rows {
		if r.RunID == c.run && r.Attempt == c.number && r.ID > last {
			last = r.ID
		}
	}
	if last != 0 {
		return last + 7
	}
	if s.options.AscendingIDs {
		group = 1
	}
	// More than 32 bits, less than a float64 holds.
	return 4_600_000_000 + (c.run%1000*100+int64(c.number))*10_000*group
}

// visible says whether an internal list shows a row to a caller.
func (s *Stores) visible(c caller, r *row) bool {
	return r.RunID == c.run && (r.Attempt == c.number || !s.options.HideEarlier)
}

// internalRows are the rows of an internal list, in its order.
func (s *Stores) internalRows(c caller, wanted func(Artifact) bool) []Artifact {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed(func(r *row) bool {
		if !r.live() || !s.visible(c, r) || !wanted(r.Artifact) {
			return false
		}
		r.staleInternal--
		return r.staleInternal < 0
	})
}

// restRows are the rows of a list of the REST API, in its order.
func (s *Stores) restRows(wanted func(Artifact) bool) []Artifact {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed(func(r *row) bool {
		if !r.Finalized || r.Deleted || !wanted(r.Artifact) {
			return false
		}
		r.staleRunREST--
		return r.staleRunREST < 0
	})
}

func (s *Stores) listed(shown func(*row) bool) []Artifact {
	var list []Artifact
	for _, r := range s.rows {
		if shown(r) {
			list = append(list, r.Artifact)
		}
	}
	switch s.options.Order {
	case OrderNewest:
		slices.Reverse(list)
	case OrderOldest:
	case OrderShuffled:
		slices.SortFunc(list, func(a, b Artifact) int { return slices.Compare(scatter(a.ID), scatter(b.ID)) })
	}
	return list
}

// scatter is what ids are sorted by when they are to be in no order.
func scatter(id int64) []byte {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(id)))
	return sum[:]
}

// own finds what a caller's attempt has under a name, whether it is finalized or not.
func (s *Stores) own(c caller, name string) (Artifact, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		if r.RunID == c.run && r.Attempt == c.number && r.JobBackendID == c.jobBackend && r.Name == name && !r.Deleted {
			return r.Artifact, true
		}
	}
	return Artifact{}, false
}
