package standin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// twirpError is an error of a Twirp service.
// https://twitchtv.github.io/twirp/docs/spec_v7.html#error-codes
type twirpError struct{ code, msg string }

// Error implements error.
func (e *twirpError) Error() string { return e.code + ": " + e.msg }

func refuse(code, format string, args ...any) *twirpError {
	return &twirpError{code, fmt.Sprintf(format, args...)}
}

// twirpStatus is the status of each code.
var twirpStatus = map[string]int{
	"canceled": 408, "unknown": 500, "invalid_argument": 400, "malformed": 400, "deadline_exceeded": 408, "not_found": 404,
	"bad_route": 404, "already_exists": 409, "permission_denied": 403, "unauthenticated": 401, "resource_exhausted": 429,
	"failed_precondition": 412, "aborted": 409, "out_of_range": 400, "unimplemented": 501, "internal": 500, "unavailable": 503, "data_loss": 500,
}

// TwirpError answers with an error of a Twirp service and the status that goes
// with its code; header are names and values in turn, as "Retry-After", "1".
func TwirpError(code, msg string, header ...string) Answer {
	status, ok := twirpStatus[code]
	if !ok {
		panic(code + " is no code of Twirp's")
	}
	body, err := json.Marshal(map[string]string{"code": code, "msg": msg})
	if err != nil {
		panic(err) // Only texts are in it.
	}
	return Status(status, string(body), append([]string{"Content-Type", "application/json"}, header...)...)
}

// serveTwirp adds the methods of the results service. Every other path is a bad
// route.
func (s *Stores) serveTwirp(mux *http.ServeMux) {
	handle := func(method string, handler http.HandlerFunc) { mux.HandleFunc("POST "+twirp+method, handler) }
	handle("ArtifactService/CreateArtifact", method(s, s.createArtifact))
	handle("ArtifactService/FinalizeArtifact", method(s, s.finalizeArtifact))
	handle("ArtifactService/ListArtifacts", method(s, s.listArtifacts))
	handle("ArtifactService/GetSignedArtifactURL", method(s, s.signArtifact))
	handle("ArtifactService/DeleteArtifact", method(s, s.deleteArtifact))
	handle("CacheService/CreateCacheEntry", method(s, s.createCacheEntry))
	handle("CacheService/FinalizeCacheEntryUpload", method(s, s.finalizeCacheEntry))
	handle("CacheService/GetCacheEntryDownloadURL", method(s, s.cacheDownloadURL))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.writeTwirpError(w, refuse("bad_route", "no handler for path %q", r.URL.Path))
	})
}

// call is one call of a method: whose it is, and what the request's header says.
type call struct {
	caller

	request *http.Request
}

// method makes a handler of a method: who calls, then what is asked, then the
// answer.
func method[Q any](s *Stores, do func(call, Q) (map[string]any, *twirpError)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := s.verify(bearer(r))
		if err != nil {
			s.writeTwirpError(w, refuse("unauthenticated", "%v", err))
			return
		}
		var asked Q
		if refused := readTwirp(r, &asked); refused != nil {
			s.writeTwirpError(w, refused)
			return
		}
		answer, refused := do(call{who, r}, asked)
		if refused != nil {
			s.writeTwirpError(w, refused)
			return
		}
		s.writeTwirp(w, answer)
	}
}

// readTwirp reads a request as JSON of protobuf, with names in snake_case or in
// camelCase. Fields that are not known are refused: the real one leaves them out,
// which would hide one that is misspelt.
func readTwirp(r *http.Request, into any) *twirpError {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return refuse("bad_route", "unexpected Content-Type: %q", r.Header.Get("Content-Type"))
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		panic(http.ErrAbortHandler) // Who asks has gone.
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return refuse("malformed", "the json request could not be decoded")
	}
	plain := map[string]json.RawMessage{}
	for name, value := range fields {
		plain[snake(name)] = value
	}
	renamed, err := json.Marshal(plain)
	if err != nil {
		return refuse("malformed", "the json request could not be decoded")
	}
	decoder := json.NewDecoder(bytes.NewReader(renamed))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return refuse("malformed", "the json request could not be decoded: %v", err)
	}
	return nil
}

// writeTwirp writes an answer whose names are in snake_case.
func (s *Stores) writeTwirp(w http.ResponseWriter, answer map[string]any) {
	if s.config().CamelCase {
		answer = camelObject(answer)
	}
	writeJSON(w, http.StatusOK, answer)
}

func (s *Stores) writeTwirpError(w http.ResponseWriter, e *twirpError) {
	writeJSON(w, twirpStatus[e.code], map[string]string{"code": e.code, "msg": e.msg})
}

// snake is a name in snake_case.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// camelObject is an answer as implementations write it that leave out what is
// empty: names in camelCase, and no zero values.
func camelObject(object map[string]any) map[string]any {
	made := map[string]any{}
	for name, value := range object {
		switch v := value.(type) {
		case nil:
			continue
		case bool:
			if !v {
				continue
			}
		case string:
			if v == "" || v == "0" {
				continue
			}
		case []map[string]any:
			if len(v) == 0 {
				continue
			}
			items := make([]map[string]any, len(v))
			for i := range v {
				items[i] = camelObject(v[i])
			}
			value = items
		}
		made[camel(name)] = value
	}
	return made
}

// camel is a name in camelCase.
func camel(name string) string {
	words := strings.Split(name, "_")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}

// int64Text is an int64 as protobuf has it in JSON: a text, or a number when it is
// read.
type int64Text int64

// UnmarshalJSON implements json.Unmarshaler.
func (n *int64Text) UnmarshalJSON(b []byte) error {
	value, err := strconv.ParseInt(strings.Trim(string(b), `"`), 10, 64)
	if err != nil {
		return fmt.Errorf("%s is no int64", b)
	}
	*n = int64Text(value)
	return nil
}

func int64String(n int64) string { return strconv.FormatInt(n, 10) }

// timestamp is a time as protobuf has it in JSON.
func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
