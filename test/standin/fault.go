package standin

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Match chooses requests.
type Match func(*http.Request) bool

// Answer is what a request meets in place of the stand-in's own answer, which it
// may still give by calling own.
type Answer func(w http.ResponseWriter, r *http.Request, own http.Handler)

type rule struct {
	match  Match
	answer Answer
	left   int // how often it still counts, negative for no end
}

// On makes the next requests that match meet an answer, so many times; negative
// times are no end. Of the rules that match, the first one that is not used up
// counts: several calls are a queue.
func (s *Server) On(match Match, times int, answer Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, &rule{match: match, answer: answer, left: times})
}

// Reset forgets what On said.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
}

// Any matches every request but those of another stand-in.
func Any(r *http.Request) bool { return r.UserAgent() != internal }

// PathEnds matches requests whose path ends so, in any case of letters, but not
// those of another stand-in.
func PathEnds(suffix string) Match {
	return func(r *http.Request) bool {
		return Any(r) && strings.HasSuffix(strings.ToLower(r.URL.Path), strings.ToLower(suffix))
	}
}

// Status answers with a status and a body; header are names and values in turn,
// as "Retry-After", "1".
func Status(status int, body string, header ...string) Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// HTML answers with a page, as a gateway or a captive portal does.
func HTML(status int) Answer {
	return Status(status, "<!DOCTYPE html>\n<html><head><title>Service Unavailable</title></head>"+
		"<body><h1>Service Unavailable</h1><p>The page cannot be displayed.</p></body></html>\n", "Content-Type", "text/html; charset=utf-8")
}

// Empty answers 200 without a body.
func Empty() Answer { return Status(http.StatusOK, "", "Content-Type", "application/json") }

// BadJSON answers 200 with JSON that ends too early.
func BadJSON() Answer {
	return Status(http.StatusOK, `{"value": "abc", "access_token": [`, "Content-Type", "application/json")
}

// Huge answers 200 with so many bytes of valid JSON, in which there is nothing
// but a long text.
func Huge(size int64) Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		block := strings.Repeat("x", 64<<10)
		_, err := w.Write([]byte(`{"filler": "`))
		for sent := int64(0); sent < size && err == nil; sent += int64(len(block)) {
			_, err = w.Write([]byte(block))
		}
		_, _ = w.Write([]byte(`"}`))
	}
}

// Hang answers nothing until the client goes or the server is closed.
func Hang() Answer {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
}

// Drop ends the connection without an answer, as a cable that is pulled. With
// HTTP/2 that ends the requests that are beside it on the connection too, if there
// are any by then; see [Abort].
func Drop() Answer {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { Cut(r) }
}

// Abort ends the request without an answer, and no other: with HTTP/2 it resets
// the stream (RFC 9113 section 6.4), with HTTP/1.1 it ends the connection.
func Abort() Answer {
	return func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }
}

// CutBody sends a header that promises a longer body, some of it, and then ends
// the connection as Drop does.
func CutBody() Answer {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		beginBody(w)
		Cut(r)
	}
}

// AbortBody sends a header that promises a longer body, some of it, and then ends
// the request as Abort does.
func AbortBody() Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		beginBody(w)
		panic(http.ErrAbortHandler)
	}
}

func beginBody(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "4096")
	_, _ = w.Write([]byte(`{"value": "`))
	_ = http.NewResponseController(w).Flush()
}

// Slow gives the stand-in's own answer late.
func Slow(d time.Duration) Answer {
	return func(w http.ResponseWriter, r *http.Request, own http.Handler) {
		if !pause(r.Context(), d) {
			panic(http.ErrAbortHandler)
		}
		own.ServeHTTP(w, r)
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // Only texts, numbers and maps are in it.
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store, no-cache")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
