package standin

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

const restDocs = "https://docs.github.com/rest/actions/artifacts#"

// restHandler is the REST API as far as artifacts go.
// https://docs.github.com/en/rest/actions/artifacts
func (s *Stores) restHandler() http.Handler {
	mux := http.NewServeMux()
	const repository = "/repos/{owner}/{repository}/actions"
	read := func(pattern, doc string, handler http.HandlerFunc) {
		mux.HandleFunc("GET "+repository+pattern, s.permitted("read", doc, handler))
	}
	read("/runs/{run}/artifacts", "list-workflow-run-artifacts", s.restListRun)
	read("/artifacts", "list-artifacts-for-a-repository", s.restListRepository)
	read("/artifacts/{id}", "get-an-artifact", s.restGet)
	read("/artifacts/{id}/{format}", "download-an-artifact", s.restDownload)
	mux.HandleFunc("DELETE "+repository+"/artifacts/{id}", s.permitted("write", "delete-an-artifact", s.restDelete))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeRESTError(w, http.StatusNotFound, "Not Found", "https://docs.github.com/rest")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		restHeader(w.Header())
		mux.ServeHTTP(w, r)
	})
}

// restHeader sets what every answer has.
func restHeader(h http.Header) {
	h.Set("X-GitHub-Request-Id", strings.ToUpper(uuid.NewString()[:18]))
	h.Set("X-GitHub-Media-Type", "github.v3; format=json")
	h.Set("X-RateLimit-Limit", "1000")
	h.Set("X-RateLimit-Remaining", "987")
	h.Set("X-RateLimit-Used", "13")
	h.Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10))
	h.Set("X-RateLimit-Resource", "core")
}

// permitted lets through who may do something, and says to the others what they
// would need as far as they may know.
func (s *Stores) permitted(needed, doc string, handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.UserAgent() == "" {
			http.Error(w, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header", http.StatusForbidden)
			return
		}
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		s.mu.Lock()
		permission, known := s.tokens[token]
		known = known && !s.ended[token]
		here := r.PathValue("owner") == s.options.Owner && r.PathValue("repository") == s.options.Repository
		s.mu.Unlock()
		w.Header().Set("X-Accepted-GitHub-Permissions", "actions="+needed)
		switch {
		case scheme == "":
			// Without a token nobody may know that there is such a repository.
			writeRESTError(w, http.StatusNotFound, "Not Found", restDocs+doc)
		case !known || !strings.EqualFold(scheme, "bearer") && !strings.EqualFold(scheme, "token"):
			writeRESTError(w, http.StatusUnauthorized, "Bad credentials", "https://docs.github.com/rest")
		case !here || permission == ActionsUnseen:
			writeRESTError(w, http.StatusNotFound, "Not Found", restDocs+doc)
		case permission == ActionsNone || needed == "write" && permission != ActionsWrite:
			writeRESTError(w, http.StatusForbidden, "Resource not accessible by integration", restDocs+doc)
		default:
			handler(w, r)
		}
	}
}

func writeRESTError(w http.ResponseWriter, status int, message, doc string) {
	writeJSON(w, status, map[string]string{"message": message, "documentation_url": doc, "status": strconv.Itoa(status)})
}

// RateLimited answers as the REST API does when a token's requests are used up
// until a time.
// https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
func RateLimited(reset time.Time) Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		restHeader(w.Header())
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Used", "1000")
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))
		writeRESTError(w, http.StatusForbidden, "API rate limit exceeded for installation.",
			"https://docs.github.com/rest/overview/resources-in-the-rest-api#rate-limiting")
	}
}

// SecondaryRateLimited answers as the REST API does to who asks too fast, and says
// after how many seconds to come back.
func SecondaryRateLimited(after time.Duration) Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		restHeader(w.Header())
		w.Header().Set("Retry-After", strconv.Itoa(int(after.Seconds())))
		writeRESTError(w, http.StatusForbidden, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
			"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits")
	}
}
