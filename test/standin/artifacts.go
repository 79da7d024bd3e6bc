package standin

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"mime"
	"path"
	"strings"
	"time"
)

// nameTaken is what is said of the second artifact with a name in an attempt.
const nameTaken = "an artifact with this name already exists on the workflow run"

// zipType is the type of an artifact that is not said to be something else.
const zipType = "application/zip"

// backendIDs are in every request.
type backendIDs struct {
	Run string `json:"workflow_run_backend_id"`
	Job string `json:"workflow_job_run_backend_id"`
}

// check compares the ids with those of the token.
func (b backendIDs) check(c call) *twirpError {
	switch {
	case b.Run == "":
		return refuse("invalid_argument", "workflow_run_backend_id is required")
	case b.Job == "":
		return refuse("invalid_argument", "workflow_job_run_backend_id is required")
	case b.Run != c.runBackend || b.Job != c.jobBackend:
		return refuse("permission_denied", "the backend ids are not those of the token")
	}
	return nil
}

// artifactName checks a name as the official client does before it sends one.
func artifactName(name string) *twirpError {
	switch {
	case name == "":
		return refuse("invalid_argument", "name is required")
	case strings.ContainsAny(name, "\":<>|*?\r\n\\/"):
		return refuse("invalid_argument", "the artifact name is not valid: %q", name)
	}
	return nil
}

type createArtifact struct {
	backendIDs

	Name      string  `json:"name"`
	ExpiresAt *string `json:"expires_at"`
	Version   int     `json:"version"`
	MIMEType  *string `json:"mime_type"`
}

func (s *Stores) createArtifact(c call, asked createArtifact) (map[string]any, *twirpError) {
	if e := asked.check(c); e != nil {
		return nil, e
	}
	if e := artifactName(asked.Name); e != nil {
		return nil, e
	}
	if asked.Version != 4 && asked.Version != 7 {
		return nil, refuse("invalid_argument", "version %d is not supported", asked.Version)
	}
	expires, e := asked.expiry(s.config())
	if e != nil {
		return nil, e
	}
	kind := zipType
	if asked.MIMEType != nil {
		kind = *asked.MIMEType
		if _, _, err := mime.ParseMediaType(kind); err != nil {
			return nil, refuse("invalid_argument", "mime_type %q is no media type", kind)
		}
	}
	made, e := s.reserve(c.caller, asked.Name, kind, expires)
	if e != nil {
		return nil, e
	}
	address, err := s.storage.SignedURL(SignedBlob{Name: made.Blob, Write: true, Expires: time.Now().Add(time.Hour)})
	if err != nil {
		return nil, refuse("internal", "%v", err)
	}
	return map[string]any{"ok": true, "signed_upload_url": address}, nil
}

// expiry is when an artifact ends. More than the repository keeps artifacts may
// not be asked for; an hour is for clocks, and for days that have more of them.
func (asked createArtifact) expiry(o StoresOptions) (time.Time, *twirpError) {
	last := time.Now().AddDate(0, 0, o.RetentionDays)
	if asked.ExpiresAt == nil {
		return last, nil
	}
	expires, err := time.Parse(time.RFC3339, *asked.ExpiresAt)
	switch {
	case err != nil:
		return time.Time{}, refuse("malformed", "expires_at %q is no time", *asked.ExpiresAt)
	case expires.Before(time.Now()):
		return time.Time{}, refuse("invalid_argument", "expires_at is in the past")
	case expires.After(last.Add(time.Hour)):
		return time.Time{}, refuse("invalid_argument", "expires_at is later than the retention of %d days allows", o.RetentionDays)
	}
	return expires, nil
}

// reserve takes a name in the caller's attempt.
func (s *Stores) reserve(c caller, name, kind string, expires time.Time) (Artifact, *twirpError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := 0
	for _, r := range s.rows {
		if r.RunID != c.run || r.Attempt != c.number || r.Deleted {
			continue
		}
		if r.Name == name {
			return Artifact{}, refuse("already_exists", "%s", nameTaken)
		}
		if r.JobBackendID == c.jobBackend {
			mine++
		}
	}
	if mine >= s.options.MaxArtifacts {
		return Artifact{}, refuse("resource_exhausted", "the job has %d artifacts already, and may have no more", mine)
	}
	return s.newRow(c, name, kind, expires).Artifact, nil
}

// newRow adds a row that is reserved.
func (s *Stores) newRow(c caller, name, kind string, expires time.Time) *row {
	ending := ".zip"
	if kind != zipType {
		ending = ""
	}
	r := &row{kind: kind, Artifact: Artifact{
		ID: s.nextID(c), RunID: c.run, Attempt: c.number, Name: name, RunBackendID: c.runBackend, JobBackendID: c.jobBackend,
		Created: time.Now(), Expires: expires,
		Blob: path.Join(artifactContainer, c.runBackend, "workflow-job-run-"+c.jobBackend, "artifacts", hex.EncodeToString([]byte(rand.Text()))+ending),
	}}
	s.rows = append(s.rows, r)
	return r
}

type finalizeArtifact struct {
	backendIDs

	Name string     `json:"name"`
	Size *int64Text `json:"size"`
	Hash *string    `json:"hash"`
}

func (s *Stores) finalizeArtifact(c call, asked finalizeArtifact) (map[string]any, *twirpError) {
	if e := asked.check(c); e != nil {
		return nil, e
	}
	if e := artifactName(asked.Name); e != nil {
		return nil, e
	}
	found, ok := s.own(c.caller, asked.Name)
	if !ok {
		return nil, refuse("not_found", "no artifact with this name was created by this job")
	}
	data, err := s.storage.Get(c.request.Context(), found.Blob)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse("failed_precondition", "nothing was uploaded for this artifact")
	case err != nil:
		return nil, refuse("internal", "%v", err)
	}
	digest := digestOf(data)
	switch {
	case asked.Size == nil && len(data) > 0, asked.Size != nil && int64(*asked.Size) != int64(len(data)):
		return nil, refuse("invalid_argument", "size is not that of what was uploaded, %d bytes", len(data))
	case asked.Hash != nil && *asked.Hash != digest:
		return nil, refuse("invalid_argument", "hash is not that of what was uploaded")
	case asked.Hash == nil:
		digest = ""
	}
	return s.settle(found.ID, int64(len(data)), digest)
}

// settle makes a reserved row one that is listed.
func (s *Stores) settle(id, size int64, digest string) (map[string]any, *twirpError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.row(id)
	if r == nil || r.Deleted || r.Finalized && !s.options.FinalizeTwice {
		return nil, refuse("not_found", "the artifact is not one that waits to be finalized")
	}
	if !r.Finalized {
		r.finalize(size, digest, s.options.Stale)
	}
	return map[string]any{"ok": true, "artifact_id": int64String(id)}, nil
}

// digestOf is how a digest is written.
func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
