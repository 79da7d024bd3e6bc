package standin_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// stores are the stand-ins of a test, and a client that trusts them.
type stores struct {
	*standin.Stores

	t      *testing.T
	client *http.Client
	ledger *standin.Ledger
}

func newStores(t *testing.T, options standin.StoresOptions) *stores {
	t.Helper()
	authority, err := standin.NewAuthority("stand-ins")
	if err != nil {
		t.Fatal(err)
	}
	ledger := standin.NewLedger()
	made, err := standin.NewStores(authority, ledger, options)
	if err != nil {
		t.Fatal(err)
	}
	transport := authority.Transport()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := made.Close(); err != nil {
			t.Error(err)
		}
	})
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &stores{Stores: made, t: t, client: client, ledger: ledger}
}

// backendIDs reads them as the official client does, from the token alone.
func backendIDs(t *testing.T, token string) (run, job string) {
	t.Helper()
	scopes, _ := claimsOf(t, token)["scp"].(string)
	for scope := range strings.SplitSeq(scopes, " ") {
		if parts := strings.Split(scope, ":"); parts[0] == "Actions.Results" && len(parts) == 3 {
			return parts[1], parts[2]
		}
	}
	t.Fatalf("no Actions.Results in %q", scopes)
	return "", ""
}

// call calls a method of the results service for a job, as the official client
// does: by the environment alone, with the backend ids of the token.
func (s *stores) call(a standin.Attempt, method string, fields map[string]any) answer {
	s.t.Helper()
	env := a.Env()
	run, job := backendIDs(s.t, env["ACTIONS_RUNTIME_TOKEN"])
	body := map[string]any{"workflow_run_backend_id": run, "workflow_job_run_backend_id": job}
	service := "ArtifactService/"
	if strings.Contains(method, "Cache") {
		service, body = "CacheService/", map[string]any{}
	}
	maps.Copy(body, fields)
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	return do(s.t, s.client, http.MethodPost, env["ACTIONS_RESULTS_URL"]+"twirp/github.actions.results.api.v1."+service+method, string(text),
		"Authorization", "Bearer "+env["ACTIONS_RUNTIME_TOKEN"], "Content-Type", "application/json")
}

// code is that of an error of Twirp's.
func (a answer) code(t *testing.T) string {
	t.Helper()
	code, _ := a.object(t)["code"].(string)
	return code
}

// text is a field of an answer that has to be a text.
func (a answer) text(t *testing.T, name string) string {
	t.Helper()
	value, ok := a.object(t)[name].(string)
	if !ok || value == "" {
		t.Fatalf("%d: no %s in %s", a.Status, name, a.Body)
	}
	return value
}

// upload sends a file as the official client does: blocks, and then their list.
func (s *stores) upload(address string, data []byte) {
	s.t.Helper()
	var list strings.Builder
	list.WriteString(`<?xml version="1.0" encoding="utf-8"?><BlockList>`)
	for i := 0; len(data) > 0; i++ {
		part := data[:min(len(data), 1000)]
		data = data[len(part):]
		id := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("0", 40) + strconv.Itoa(100+i)))
		list.WriteString("<Latest>" + id + "</Latest>")
		at := address + "&comp=block&blockid=" + strings.NewReplacer("=", "%3D", "+", "%2B").Replace(id)
		if got := do(s.t, s.client, http.MethodPut, at, string(part)); got.Status != http.StatusCreated {
			s.t.Fatalf("Put Block: %d: %s", got.Status, got.Body)
		}
	}
	list.WriteString("</BlockList>")
	if got := do(s.t, s.client, http.MethodPut, address+"&comp=blocklist", list.String()); got.Status != http.StatusCreated {
		s.t.Fatalf("Put Block List: %d: %s", got.Status, got.Body)
	}
}

// finalizeFields are those of a file.
func finalizeFields(name string, data []byte) map[string]any {
	sum := sha256.Sum256(data)
	return map[string]any{"name": name, "size": strconv.Itoa(len(data)), "hash": "sha256:" + hex.EncodeToString(sum[:])}
}

// store stores an artifact and returns its id.
func (s *stores) store(a standin.Attempt, name string, data []byte) int64 {
	s.t.Helper()
	created := s.call(a, "CreateArtifact", map[string]any{"name": name, "version": 4})
	s.upload(created.text(s.t, "signed_upload_url"), data)
	id, err := strconv.ParseInt(s.call(a, "FinalizeArtifact", finalizeFields(name, data)).text(s.t, "artifact_id"), 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// list are the rows of the internal list.
func (s *stores) list(a standin.Attempt, fields map[string]any) []map[string]any {
	s.t.Helper()
	return rows(s.t, s.call(a, "ListArtifacts", fields))
}

func rows(t *testing.T, a answer) []map[string]any {
	t.Helper()
	var list struct {
		Artifacts []map[string]any `json:"artifacts"`
	}
	if err := json.Unmarshal(a.Body, &list); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%d: %v: %s", a.Status, err, a.Body)
	}
	return list.Artifacts
}

// rest asks the REST API with a token.
func (s *stores) rest(method, token, path string) answer {
	s.t.Helper()
	return do(s.t, s.client, method, s.Attempt().Env()["GITHUB_API_URL"]+path, "", "Authorization", "Bearer "+token, "Accept", "application/vnd.github+json")
}

// names are the names of rows, in their order.
func names(rows []map[string]any) string {
	var all []string
	for _, r := range rows {
		name, _ := r["name"].(string)
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

// A job stores an artifact and fetches it again, by each of the two ways, as the
// official client does.
func TestArtifactRoundTrip(t *testing.T) {
	t.Parallel()
	s := newStores(t, standin.StoresOptions{})
	a := s.Attempt()
	data := bytes.Repeat([]byte("0123456789"), 250)

	created := s.call(a, "CreateArtifact", map[string]any{
		"name": "orders.intent.1", "version": 7, "mime_type": "application/zip", "expires_at": time.Now().AddDate(0, 0, 90).UTC().Format(time.RFC3339),
	})
	if created.Status != http.StatusOK || created.object(t)["ok"] != true {
		t.Fatalf("%d: %s", created.Status, created.Body)
	}
	if got := s.list(a, nil); len(got) != 0 {
		t.Errorf("a reserved artifact is listed: %v", got)
	}
	s.upload(created.text(t, "signed_upload_url"), data)
	finalized := s.call(a, "FinalizeArtifact", finalizeFields("orders.intent.1", data))
	id := finalized.text(t, "artifact_id")

	listed := s.list(a, map[string]any{"id_filter": id})
	if len(listed) != 1 {
		t.Fatalf("%v", listed)
	}
	row := listed[0]
	if row["database_id"] != id || row["size"] != "2500" || row["digest"] != finalizeFields("", data)["hash"] || row["workflow_job_run_backend_id"] != a.JobBackendID {
		t.Errorf("row: %v", row)
	}
	signed := s.call(a, "GetSignedArtifactURL", map[string]any{
		"workflow_run_backend_id": row["workflow_run_backend_id"], "workflow_job_run_backend_id": row["workflow_job_run_backend_id"], "name": row["name"],
	})
	file := do(t, s.client, http.MethodGet, signed.text(t, "signed_url"), "")
	if file.Status != http.StatusOK || !bytes.Equal(file.Body, data) || file.Header.Get("Content-Type") != "application/zip" ||
		file.Header.Get("Content-Disposition") != "attachment; filename=orders.intent.1.zip" {
		t.Errorf("%d %v: %d bytes", file.Status, file.Header, len(file.Body))
	}

	public := rows(t, s.rest(http.MethodGet, a.Token, "/repos/acme/orders/actions/runs/"+strconv.FormatInt(a.RunID, 10)+"/artifacts?name=orders.intent.1&per_page=100"))
	if len(public) != 1 || public[0]["digest"] != row["digest"] || public[0]["size_in_bytes"] != 2500.0 || public[0]["expired"] != false {
		t.Fatalf("%v", public)
	}
	redirect := s.rest(http.MethodGet, a.Token, "/repos/acme/orders/actions/artifacts/"+id+"/zip")
	if redirect.Status != http.StatusFound {
		t.Fatalf("%d: %s", redirect.Status, redirect.Body)
	}
	if file := do(t, s.client, http.MethodGet, redirect.Header.Get("Location"), ""); !bytes.Equal(file.Body, data) {
		t.Errorf("%d: %d bytes", file.Status, len(file.Body))
	}
	for _, operation := range []string{"CreateArtifact", "FinalizeArtifact", "GetSignedArtifactURL", "PutBlockList", "ListRunArtifacts", "DownloadArtifact"} {
		if got := s.Count(operation); got != 1 {
			t.Errorf("%s: %d requests", operation, got)
		}
	}
	if got := s.Count("PutBlock", "GetBlob"); got != 5 {
		t.Errorf("%d requests for blocks and blobs", got)
	}
	// What was handed out is known to the ledger.
	for what, text := range map[string]string{
		"a runtime token": a.RuntimeToken, "a github token": a.Token, "the signature of a blob's URL": redirect.Header.Get("Location"),
	} {
		if got := s.ledger.Scan("log", []byte("see "+text)); len(got) != 1 || got[0] != "log holds "+what {
			t.Errorf("%s: %v", what, got)
		}
	}
}
