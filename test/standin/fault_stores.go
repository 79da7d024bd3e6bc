package standin

import (
	"io"
	"net/http"
)

// Lost does what is asked and ends the request without an answer, as [Abort] does:
// who asked cannot know that it took effect.
func Lost() Answer {
	return func(_ http.ResponseWriter, r *http.Request, own http.Handler) {
		own.ServeHTTP(&unseen{header: http.Header{}}, r)
		panic(http.ErrAbortHandler)
	}
}

// LostStatus does what is asked and answers with a status that says otherwise, as
// a gateway does whose patience has ended; header are names and values in turn.
func LostStatus(status int, header ...string) Answer {
	return func(w http.ResponseWriter, r *http.Request, own http.Handler) {
		own.ServeHTTP(&unseen{header: http.Header{}}, r)
		Status(status, "", header...)(w, r, own)
	}
}

// unseen is an answer that nobody gets.
type unseen struct{ header http.Header }

// Header implements http.ResponseWriter.
func (u *unseen) Header() http.Header { return u.header }

// Write implements http.ResponseWriter.
func (u *unseen) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (u *unseen) WriteHeader(int) {}

// CutUpload takes so many bytes of what is sent and ends the request without an
// answer. Nothing takes effect.
func CutUpload(bytes int64) Answer {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.CopyN(io.Discard, r.Body, bytes)
		panic(http.ErrAbortHandler)
	}
}

// CutDownload gives the stand-in's own answer with its whole header, and ends the
// request after so many bytes of the body.
func CutDownload(bytes int64) Answer {
	return func(w http.ResponseWriter, r *http.Request, own http.Handler) {
		own.ServeHTTP(&cutWriter{ResponseWriter: w, left: bytes}, r)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// cutWriter passes so many bytes on.
type cutWriter struct {
	http.ResponseWriter

	left int64
}

// Write implements http.ResponseWriter.
func (c *cutWriter) Write(b []byte) (int, error) {
	part := b[:min(int64(len(b)), c.left)]
	c.left -= int64(len(part))
	if _, err := c.ResponseWriter.Write(part); err != nil {
		return 0, err
	}
	return len(b), nil
}
