package standin

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// restListRun lists the artifacts of a run, those of all its attempts.
func (s *Stores) restListRun(w http.ResponseWriter, r *http.Request) {
	run, err := strconv.ParseInt(r.PathValue("run"), 10, 64)
	if err != nil || !s.hasRun(run) {
		writeRESTError(w, http.StatusNotFound, "Not Found", restDocs+"list-workflow-run-artifacts")
		return
	}
	s.writeRows(w, r, func(a Artifact) bool { return a.RunID == run })
}

// restListRepository lists the artifacts of all runs.
func (s *Stores) restListRepository(w http.ResponseWriter, r *http.Request) {
	s.writeRows(w, r, func(Artifact) bool { return true })
}

// hasRun says whether there ever was such a run.
func (s *Stores) hasRun(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return id >= firstRun && id <= s.attempt.RunID
}

// writeRows writes one page of a list, which may be of one name alone.
func (s *Stores) writeRows(w http.ResponseWriter, r *http.Request, wanted func(Artifact) bool) {
	q := r.URL.Query()
	name := q.Get("name")
	all := s.restRows(func(a Artifact) bool { return wanted(a) && (name == "" || a.Name == name) })
	size := between(q.Get("per_page"), 30, 100)
	page := between(q.Get("page"), 1, 1<<20)
	last := max(1, (len(all)+size-1)/size)
	if links := pageLinks(s.REST.URL, r.URL, page, last); links != "" {
		w.Header().Set("Link", links)
	}
	first := min((page-1)*size, len(all))
	rows := []map[string]any{}
	for _, a := range all[first:min(first+size, len(all))] {
		rows = append(rows, s.restRow(a))
	}
	writeJSON(w, http.StatusOK, map[string]any{"total_count": len(all), "artifacts": rows})
}

// between reads a number that is 1 to most, or else something.
func between(text string, otherwise, most int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return otherwise
	}
	return min(n, most)
}

// pageLinks is the header Link, RFC 8288, empty when there is one page.
func pageLinks(base string, asked *url.URL, page, last int) string {
	var links []string
	link := func(number int, relation string) {
		q := asked.Query()
		q.Set("page", strconv.Itoa(number))
		links = append(links, fmt.Sprintf(`<%s%s?%s>; rel="%s"`, base, asked.EscapedPath(), q.Encode(), relation))
	}
	if page > 1 {
		link(min(page-1, last), "prev")
	}
	if page < last {
		link(page+1, "next")
		link(last, "last")
	}
	if page > 1 {
		link(1, "first")
	}
	return strings.Join(links, ", ")
}

// restRow is an artifact as the REST API shows it. It says nothing of attempts.
func (s *Stores) restRow(a Artifact) map[string]any {
	o := s.config()
	address := fmt.Sprintf("%s/repos/%s/%s/actions/artifacts/%d", s.REST.URL, o.Owner, o.Repository, a.ID)
	row := map[string]any{
		"id": a.ID, "node_id": base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "08:Artifact%d", a.ID)), "name": a.Name, "size_in_bytes": a.Size,
		"url": address, "archive_download_url": address + "/zip", "expired": a.Expired, "digest": nil,
		"created_at": restTime(a.Created), "updated_at": restTime(a.Created), "expires_at": restTime(a.Expires),
		"workflow_run": map[string]any{
			"id": a.RunID, "repository_id": 517421, "head_repository_id": 517421,
			"head_branch": strings.TrimPrefix(o.Ref, "refs/heads/"), "head_sha": runSHA,
		},
	}
	if a.Digest != "" {
		row["digest"] = a.Digest
	}
	return row
}

// restTime is in whole seconds.
func restTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// restFind finds the artifact that a path names, and answers when there is none.
func (s *Stores) restFind(w http.ResponseWriter, r *http.Request) (row, bool) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if found := s.row(id); found != nil && found.Finalized && !found.Deleted {
			return *found, true
		}
	}
	writeRESTError(w, http.StatusNotFound, "Not Found", restDocs+"get-an-artifact")
	return row{}, false
}

func (s *Stores) restGet(w http.ResponseWriter, r *http.Request) {
	if found, ok := s.restFind(w, r); ok {
		writeJSON(w, http.StatusOK, s.restRow(found.Artifact))
	}
}

func (s *Stores) restDownload(w http.ResponseWriter, r *http.Request) {
	found, ok := s.restFind(w, r)
	switch {
	case !ok:
	case r.PathValue("format") != "zip":
		writeRESTError(w, http.StatusNotFound, "Not Found", restDocs+"download-an-artifact")
	case found.Expired:
		writeRESTError(w, http.StatusGone, "Artifact has expired", restDocs+"download-an-artifact")
	default:
		// The link is good for a minute, as the documentation says.
		address, err := s.downloadURL(found, time.Minute)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Location", address)
		w.WriteHeader(http.StatusFound)
	}
}

func (s *Stores) restDelete(w http.ResponseWriter, r *http.Request) {
	if found, ok := s.restFind(w, r); ok {
		s.RemoveArtifact(found.ID)
		w.WriteHeader(http.StatusNoContent)
	}
}
