package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// token is as long as real ones, so that it is cut wherever text is shortened,
// and repeats nothing, so that any part of it gives it away.
var token = func() string {
	var b strings.Builder
	for i := range 20 {
		sum := sha256.Sum256([]byte{byte(i)})
		b.WriteString(base64.RawURLEncoding.EncodeToString(sum[:]))
	}
	return b.String()
}()

// apiServer is an API server with one CronJob, one ServiceAccount, at most one
// Job, and the ConfigMaps that records are kept in. It speaks Kubernetes' protocol
// over TLS.
type apiServer struct {
	*httptest.Server

	mu       sync.Mutex
	cronJob  contract.Object
	account  contract.Object
	job      contract.Object
	maps     map[string]contract.Object
	status   map[string]any // what a created Job's status becomes, nil: it works on
	refusals map[string]refusal
	requests []string
	created  int
	waiting  chan struct{} // closed when the first watch begins
	once     sync.Once
}

// refusal is how a request is refused, by "verb resource".
type refusal struct {
	code    int
	message string
}

var complete = map[string]any{
	"succeeded":      json.Number("1"),
	"completionTime": "2026-09-27T01:00:09Z",
	"conditions": []any{
		map[string]any{"type": "SuccessCriteriaMet", "status": "True", "reason": "CompletionsReached"},
		map[string]any{"type": "Complete", "status": "True", "reason": "CompletionsReached"},
	},
}

var failed = map[string]any{
	"failed": json.Number("2"),
	"conditions": []any{
		map[string]any{"type": "FailureTarget", "status": "True", "reason": "BackoffLimitExceeded"},
		map[string]any{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"},
	},
}

func newAPIServer(t *testing.T, status map[string]any) *apiServer {
	t.Helper()
	s := &apiServer{
		cronJob: readObject(t, "testdata/cronjob.json"), account: readObject(t, "testdata/serviceaccount.json"),
		status: status, refusals: map[string]refusal{}, maps: map[string]contract.Object{}, waiting: make(chan struct{}),
	}
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = true
	s.StartTLS()
	// A watch that a killed process left open ends with its connection.
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func readObject(t *testing.T, path string) contract.Object {
	t.Helper()
	object, err := contract.ParseObject([]byte(readFile(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// kubeconfig returns a kubeconfig for the server.
func (s *apiServer) kubeconfig() string {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	data, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "k", "user": "u"}}},
		"clusters": []any{map[string]any{"name": "k", "cluster": map[string]any{"server": s.URL, "certificate-authority-data": ca}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{"token": token}}},
	})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/namespaces/fdai-runtime/")
	resource, name, _ := strings.Cut(parts[len(parts)-1], "/")
	verb := "get"
	switch {
	case r.Method == http.MethodPost:
		verb = "create"
	case r.Method == http.MethodPut:
		verb = "update"
	case r.URL.Query().Get("watch") == "true":
		verb = "watch"
	case name == "":
		verb = "list"
	}
	s.mu.Lock()
	s.requests = append(s.requests, verb+" "+resource)
	refused, isRefused := s.refusals[verb+" "+resource]
	s.mu.Unlock()
	switch {
	case r.Header.Get("Authorization") != "Bearer "+token:
		answerStatus(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
	case isRefused:
		answerStatus(w, refused.code, map[int]string{401: "Unauthorized", 403: "Forbidden", 422: "Invalid"}[refused.code], refused.message)
	case resource == "configmaps":
		s.configMaps(w, r, verb, name)
	case verb == "watch":
		s.watch(w, r)
	case verb == "create":
		s.create(w, r)
	default:
		s.get(w, verb, resource, name)
	}
}

func (s *apiServer) get(w http.ResponseWriter, verb, resource, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object := map[string]contract.Object{"cronjobs": s.cronJob, "serviceaccounts": s.account, "jobs": s.job}[resource]
	if verb == "list" {
		items := []any{}
		if s.job != nil {
			items = append(items, s.job)
		}
		answer(w, http.StatusOK, map[string]any{"kind": "JobList", "apiVersion": "batch/v1", "metadata": map[string]any{"resourceVersion": "9"}, "items": items})
		return
	}
	if object == nil || object["metadata"].(map[string]any)["name"] != name {
		answerStatus(w, http.StatusNotFound, "NotFound", fmt.Sprintf("%s %q not found", resource, name), resource, name)
		return
	}
	answer(w, http.StatusOK, object)
}

func (s *apiServer) create(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.job != nil {
		answerStatus(w, http.StatusConflict, "AlreadyExists", "already exists", "jobs", s.job["metadata"].(map[string]any)["name"].(string))
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&s.job); err != nil {
		answerStatus(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	s.created++
	meta := s.job["metadata"].(map[string]any)
	meta["uid"], meta["resourceVersion"] = "5b7c2f7e-0d8f-4f1b-9d57-8f6c2f0f6a11", "1"
	answer(w, http.StatusCreated, s.job)
}

// configMaps keeps what it is given, with the conflicts that writers have.
func (s *apiServer) configMaps(w http.ResponseWriter, r *http.Request, verb, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if verb == "list" {
		items := []any{}
		for _, object := range s.maps {
			items = append(items, object)
		}
		answer(w, http.StatusOK, map[string]any{"kind": "ConfigMapList", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "9"}, "items": items})
		return
	}
	if verb == "get" {
		if object, ok := s.maps[name]; ok {
			answer(w, http.StatusOK, object)
			return
		}
		answerStatus(w, http.StatusNotFound, "NotFound", fmt.Sprintf("configmaps %q not found", name), "configmaps", name)
		return
	}
	var sent contract.Object
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		answerStatus(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	meta := sent["metadata"].(map[string]any)
	name = meta["name"].(string)
	there, ok := s.maps[name]
	switch {
	case verb == "create" && ok:
		answerStatus(w, http.StatusConflict, "AlreadyExists", "already exists", "configmaps", name)
		return
	case verb == "update" && (!ok || there["metadata"].(map[string]any)["resourceVersion"] != meta["resourceVersion"]):
		answerStatus(w, http.StatusConflict, "Conflict", "the object has been modified", "configmaps", name)
		return
	}
	meta["uid"], meta["resourceVersion"] = "9e1bd5ac-51ad-4b57-a8c7-2b31bb0e0c11", strconv.Itoa(len(s.requests))
	s.maps[name] = sent
	answer(w, map[string]int{"create": http.StatusCreated, "update": http.StatusOK}[verb], sent)
}

// watch tells of the Job's end, or of nothing until the client goes.
func (s *apiServer) watch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	s.once.Do(func() { close(s.waiting) })
	s.mu.Lock()
	if s.status != nil {
		s.job["status"] = s.status
		s.job["metadata"].(map[string]any)["resourceVersion"] = "2"
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "MODIFIED", "object": s.job})
		w.(http.Flusher).Flush()
	}
	s.mu.Unlock()
	<-r.Context().Done()
}

func (s *apiServer) creates() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.created
}

func answerStatus(w http.ResponseWriter, code int, reason, message string, about ...string) {
	status := map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message,
	}
	if len(about) == 2 {
		status["details"] = map[string]any{"kind": about[0], "name": about[1]}
	}
	answer(w, code, status)
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}
