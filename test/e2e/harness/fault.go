package harness

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// Fault is what a [Proxy] does with a request. It calls seen when what it is
// about has come about; forward is the way on to the API server.
type Fault func(w http.ResponseWriter, r *http.Request, forward http.Handler, seen func())

// Hold keeps a request back until release is closed, and then forwards it. A
// client that has gone by then is not waited for: the API server never sees its
// request. A nil channel holds for ever.
func Hold(release <-chan struct{}) Fault {
	return func(w http.ResponseWriter, r *http.Request, forward http.Handler, seen func()) {
		seen()
		select {
		case <-release:
			forward.ServeHTTP(w, r)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// HoldAnswer forwards a request and keeps the answer back until release is
// closed. It counts as seen once the API server has answered.
func HoldAnswer(release <-chan struct{}) Fault {
	return func(w http.ResponseWriter, r *http.Request, forward http.Handler, seen func()) {
		answer := httptest.NewRecorder()
		forward.ServeHTTP(answer, r)
		seen()
		select {
		case <-release:
			for key, values := range answer.Header() {
				w.Header()[key] = values
			}
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes()) // A client that is gone misses nothing.
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// Cut ends the connection instead of forwarding the request.
func Cut() Fault {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler, seen func()) {
		seen()
		standin.Cut(r)
	}
}

// CutAnswer forwards the request and ends the connection when the API server
// has answered.
func CutAnswer() Fault {
	return func(_ http.ResponseWriter, r *http.Request, forward http.Handler, seen func()) {
		forward.ServeHTTP(httptest.NewRecorder(), r)
		seen()
		standin.Cut(r)
	}
}

// Answer answers instead of the API server, with a Status.
func Answer(code int, reason, message string, header ...string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler, seen func()) {
		seen()
		answer(w, code, reason, message, header)
	}
}

// AnswerOver forwards the request, and puts a Status of its own in the place of
// what the API server answered.
func AnswerOver(code int, reason, message string, header ...string) Fault {
	return func(w http.ResponseWriter, r *http.Request, forward http.Handler, seen func()) {
		forward.ServeHTTP(httptest.NewRecorder(), r)
		seen()
		answer(w, code, reason, message, header)
	}
}

func answer(w http.ResponseWriter, code int, reason, message string, header []string) {
	w.Header().Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		w.Header().Set(header[i], header[i+1])
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{ // A client that is gone misses nothing.
		"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure",
		"code": code, "reason": reason, "message": message,
	})
}

// IsCreate reports whether a request creates a Job.
func IsCreate(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/jobs")
}

// IsRead reports whether a request reads one Job.
func IsRead(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/jobs/")
}

// IsWatch reports whether a request watches Jobs.
func IsWatch(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/jobs") && r.URL.Query().Get("watch") == "true"
}

// IsTemplate reports whether a request reads the CronJob.
func IsTemplate(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/cronjobs/")
}

// IsAny matches every request.
func IsAny(*http.Request) bool { return true }
