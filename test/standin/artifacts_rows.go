package standin

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
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

// Artifacts returns all that were ever created, also those that were deleted, the
// first one first.
func (s *Stores) Artifacts() []Artifact {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Artifact, len(s.rows))
	for i, r := range s.rows {
		all[i] = r.Artifact
	}
	return all
}

// ArtifactData returns an artifact's file.
func (s *Stores) ArtifactData(id int64) ([]byte, error) {
	a, err := s.artifact(id)
	if err != nil {
		return nil, err
	}
	return s.storage.Get(context.Background(), a.Blob)
}

func (s *Stores) artifact(id int64) (Artifact, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.row(id); r != nil {
		return r.Artifact, nil
	}
	return Artifact{}, fmt.Errorf("there is no artifact %d", id)
}

// ForgeArtifact adds an artifact with any content in the name of a job. The name
// may be there already.
func (s *Stores) ForgeArtifact(a Attempt, name string, data []byte) (Artifact, error) {
	made := s.ReserveArtifact(a, name)
	if err := s.storage.Put(context.Background(), made.Blob, data); err != nil {
		return Artifact{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.row(made.ID)
	r.finalize(int64(len(data)), digestOf(data), s.options.Stale)
	return r.Artifact, nil
}

// ReserveArtifact adds an artifact that is never finalized: it holds its name, and
// no list shows it.
func (s *Stores) ReserveArtifact(a Attempt, name string) Artifact {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := caller{run: a.RunID, number: a.Number, runBackend: a.RunBackendID, jobBackend: a.JobBackendID}
	return s.newRow(c, name, zipType, time.Now().AddDate(0, 0, s.options.RetentionDays)).Artifact
}

// ExpireArtifact ends an artifact's time: REST shows that, and has no file of it;
// the internal list does not show it any more.
func (s *Stores) ExpireArtifact(id int64) {
	s.change(id, func(r *row) { r.Expired, r.Expires = true, time.Now() })
	s.forget(id)
}

// RemoveArtifact removes an artifact and its file. Its name is free then.
func (s *Stores) RemoveArtifact(id int64) {
	s.change(id, func(r *row) { r.Deleted = true })
	s.forget(id)
}

// ReplaceArtifactData puts another file in an artifact's place; its size and its
// digest stay in the lists.
func (s *Stores) ReplaceArtifactData(id int64, data []byte) error {
	a, err := s.artifact(id)
	if err != nil {
		return err
	}
	return s.storage.Put(context.Background(), a.Blob, data)
}

// LoseArtifactData removes an artifact's file and nothing else.
func (s *Stores) LoseArtifactData(id int64) error {
	a, err := s.artifact(id)
	if err != nil {
		return err
	}
	return s.storage.Delete(context.Background(), a.Blob)
}

func (s *Stores) change(id int64, change func(*row)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.row(id); r != nil {
		change(r)
	}
}

// forget removes a file that nobody asks for any more.
func (s *Stores) forget(id int64) { _ = s.LoseArtifactData(id) }

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
