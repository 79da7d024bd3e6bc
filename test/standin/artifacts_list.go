package standin

import (
	"mime"
	"time"
)

type listArtifacts struct {
	backendIDs

	NameFilter *string    `json:"name_filter"`
	IDFilter   *int64Text `json:"id_filter"`
}

func (s *Stores) listArtifacts(c call, asked listArtifacts) (map[string]any, *twirpError) {
	if e := asked.check(c); e != nil {
		return nil, e
	}
	list := []map[string]any{}
	for _, a := range s.internalRows(c.caller, func(a Artifact) bool {
		return (asked.NameFilter == nil || a.Name == *asked.NameFilter) && (asked.IDFilter == nil || a.ID == int64(*asked.IDFilter))
	}) {
		item := map[string]any{
			"workflow_run_backend_id": a.RunBackendID, "workflow_job_run_backend_id": a.JobBackendID, "database_id": int64String(a.ID),
			"name": a.Name, "size": int64String(a.Size), "created_at": timestamp(a.Created), "digest": nil,
		}
		if a.Digest != "" {
			item["digest"] = a.Digest
		}
		list = append(list, item)
	}
	return map[string]any{"artifacts": list}, nil
}

type namedArtifact struct {
	backendIDs

	Name string `json:"name"`
}

// find finds an artifact by the ids of its list entry, and its name.
func (s *Stores) find(c call, asked namedArtifact) (row, *twirpError) {
	if asked.Run == "" || asked.Job == "" {
		return row{}, refuse("invalid_argument", "the backend ids are required")
	}
	if e := artifactName(asked.Name); e != nil {
		return row{}, e
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		if r.RunBackendID == asked.Run && r.JobBackendID == asked.Job && r.Name == asked.Name && r.live() && s.visible(c.caller, r) {
			return *r, nil
		}
	}
	return row{}, refuse("not_found", "artifact not found")
}

func (s *Stores) signArtifact(c call, asked namedArtifact) (map[string]any, *twirpError) {
	r, e := s.find(c, asked)
	if e != nil {
		return nil, e
	}
	if r.Attempt < c.number && s.config().UnsignedEarlier {
		return nil, refuse("not_found", "artifact not found")
	}
	address, err := s.downloadURL(r, time.Minute*10)
	if err != nil {
		return nil, refuse("internal", "%v", err)
	}
	return map[string]any{"signed_url": address}, nil
}

// downloadURL signs a URL for an artifact's file.
func (s *Stores) downloadURL(r row, life time.Duration) (string, error) {
	name := r.Name
	if r.kind == zipType {
		name += ".zip"
	}
	return s.storage.SignedURL(SignedBlob{
		Name: r.Blob, Expires: time.Now().Add(life), ContentType: r.kind,
		ContentDisposition: mime.FormatMediaType("attachment", map[string]string{"filename": name}),
	})
}

func (s *Stores) deleteArtifact(c call, asked namedArtifact) (map[string]any, *twirpError) {
	r, e := s.find(c, asked)
	if e != nil {
		return nil, e
	}
	s.RemoveArtifact(r.ID)
	return map[string]any{"ok": true, "artifact_id": int64String(r.ID)}, nil
}
