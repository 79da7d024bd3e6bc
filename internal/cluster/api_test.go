package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

const (
	testNamespace = "t1"
	testName      = "fdai-x-0123456789abcdef"
)

// api is an API server with one Job: it answers get, list, watch and create of
// it as Kubernetes does, and misbehaves where a test says so.
type api struct {
	t *testing.T

	mu      sync.Mutex
	history []frame
	// oldest is the first resourceVersion that a watch can still start from.
	oldest  int
	changed chan struct{}
	asked   []string

	// fault is asked before each request is answered; true says that it was
	// dealt with.
	fault func(verb string, w http.ResponseWriter, r *http.Request) bool
	// bookmarks is how often a watch gets one; 0 is never.
	bookmarks time.Duration
}

type frame struct {
	kind    string
	version int
	object  json.RawMessage
}

func newAPI(t *testing.T) *api { return &api{t: t, changed: make(chan struct{})} }

// publish makes the next state of the Job, of the given kind of event.
func (a *api) publish(kind string, object contract.Object) {
	data, err := contract.Canonical(object)
	if err != nil {
		a.t.Error(err)
	}
	version, err := strconv.Atoi(contract.ResourceVersion(object))
	if err != nil {
		a.t.Error(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.history = append(a.history, frame{kind, version, data})
	close(a.changed)
	a.changed = make(chan struct{})
}

// forget drops the events before a resourceVersion, as a compaction does.
func (a *api) forget(version int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.oldest = version
}

// requests returns what was asked so far.
func (a *api) requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.asked...)
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	verb := "get"
	switch {
	case r.Method == http.MethodPost:
		verb = "create"
	case query.Get("watch") == "true":
		verb = "watch"
	case strings.HasSuffix(r.URL.Path, "/jobs"):
		verb = "list"
	}
	entry := verb
	if verb == "watch" {
		entry += " " + query.Get("resourceVersion")
	}
	a.mu.Lock()
	a.asked = append(a.asked, entry)
	fault := a.fault
	a.mu.Unlock()
	if fault != nil && fault(verb, w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch verb {
	case "create":
		a.create(w, r)
	case "get":
		if at := a.present(); at.object != nil {
			_, _ = w.Write(at.object)
		} else {
			answerStatus(w, http.StatusNotFound, "NotFound", fmt.Sprintf("jobs.batch %q not found", testName))
		}
	case "list":
		at := a.present()
		items := []json.RawMessage{}
		if at.object != nil {
			items = append(items, withoutKind(at.object))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"kind": "JobList", "apiVersion": "batch/v1", "items": items,
			"metadata": map[string]string{"resourceVersion": strconv.Itoa(at.version)},
		})
	case "watch":
		a.watch(w, r)
	}
}

// present returns the Job as it is now, or a frame without an object.
func (a *api) present() frame {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.history) == 0 {
		return frame{version: 1}
	}
	last := a.history[len(a.history)-1]
	if last.kind == eventDeleted {
		last.object = nil
	}
	return last
}

func (a *api) create(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	object, err := contract.ParseObject(body)
	if err != nil {
		answerStatus(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	metadata := object["metadata"].(map[string]any)
	metadata["uid"], metadata["resourceVersion"] = "uid-1", "100"
	a.publish(eventAdded, object)
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(a.present().object)
}

func (a *api) watch(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if query.Get("fieldSelector") != "metadata.name="+testName || query.Get("allowWatchBookmarks") != "true" {
		a.t.Errorf("watch with %v", query)
	}
	from, err := strconv.Atoi(query.Get("resourceVersion"))
	if err != nil {
		a.t.Errorf("watch from %q", query.Get("resourceVersion"))
	}
	seconds, err := strconv.Atoi(query.Get("timeoutSeconds"))
	if err != nil || seconds < 1 {
		a.t.Errorf("watch for %q seconds", query.Get("timeoutSeconds"))
	}
	end := time.NewTimer(time.Duration(seconds) * time.Second)
	defer end.Stop()
	var bookmark <-chan time.Time
	if a.bookmarks > 0 {
		ticker := time.NewTicker(a.bookmarks)
		defer ticker.Stop()
		bookmark = ticker.C
	}
	a.mu.Lock()
	expired := from < a.oldest
	a.mu.Unlock()
	if expired {
		answerFrame(w, eventError, statusBody(http.StatusGone, "Expired", "too old resource version"))
		return
	}
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		a.mu.Lock()
		changed := a.changed
		var news []frame
		for _, f := range a.history {
			if f.version > from {
				news = append(news, f)
				from = f.version
			}
		}
		a.mu.Unlock()
		for _, f := range news {
			answerFrame(w, f.kind, f.object)
		}
		select {
		case <-changed:
		case <-bookmark:
			answerFrame(w, eventBookmark, fmt.Appendf(nil, `{"kind":"Job","apiVersion":"batch/v1","metadata":{"resourceVersion":"%d"}}`, from))
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func answerFrame(w http.ResponseWriter, kind string, object []byte) {
	_, _ = fmt.Fprintf(w, "{\"type\":%q,\"object\":%s}\n", kind, object)
	w.(http.Flusher).Flush()
}

func answerStatus(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(statusBody(code, reason, message))
}

func statusBody(code int, reason, message string) []byte {
	body, err := json.Marshal(map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
		"reason": reason, "message": message, "details": map[string]any{"name": testName, "kind": "jobs"},
	})
	if err != nil {
		panic(err)
	}
	return body
}

// withoutKind is an object as the items of a list are.
func withoutKind(object []byte) []byte {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(object, &m); err != nil {
		panic(err)
	}
	delete(m, "kind")
	delete(m, "apiVersion")
	data, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return data
}

// job is a state of the Job: its resourceVersion, and the condition that is true
// in it, if one is.
func job(version int, condition string) contract.Object {
	status := map[string]any{}
	if condition != "" {
		status["conditions"] = []any{map[string]any{"type": condition, "status": "True"}}
	}
	return contract.Object{
		"apiVersion": "batch/v1", "kind": "Job", "status": status,
		"metadata": map[string]any{
			"name": testName, "namespace": testNamespace, "uid": "uid-1", "resourceVersion": strconv.Itoa(version),
		},
		"spec": map[string]any{"backoffLimit": json.Number("0")},
	}
}

// sample reads events that a real API server sent.
func sample(t *testing.T, name string) (events []event) {
	t.Helper()
	for line := range strings.Lines(string(testdata(t, name))) {
		frame, err := contract.ParseObject([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		object := contract.Object(frame["object"].(map[string]any))
		metadata := object["metadata"].(map[string]any)
		metadata["name"], metadata["namespace"] = testName, testNamespace
		events = append(events, event{kind: frame["type"].(string), object: object})
	}
	if len(events) == 0 {
		t.Fatalf("no events in %s", name)
	}
	return events
}

func testdata(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
