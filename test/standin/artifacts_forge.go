package standin

import (
	"context"
	"fmt"
	"time"
)

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
// may be there already; of two with the same name of the same job REST gives each,
// and GetSignedArtifactURL the first.
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
