package standin

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// https://learn.microsoft.com/en-us/rest/api/storageservices/get-blob
func (b *BlobServer) getBlob(w http.ResponseWriter, r *http.Request, name string) *blobError {
	b.mu.Lock()
	at := b.blobs[name]
	b.mu.Unlock()
	if at == nil || at.content == nil {
		return &blobError{http.StatusNotFound, "BlobNotFound", "The specified blob does not exist.", ""}
	}
	c := at.content
	if match := r.Header.Get("If-Match"); match != "" && match != "*" && match != c.etag {
		return &blobError{http.StatusPreconditionFailed, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met.", ""}
	}
	status, first, last := http.StatusOK, 0, len(c.data)-1
	h := w.Header()
	if asked := orElse(r.Header.Get("X-Ms-Range"), r.Header.Get("Range")); asked != "" {
		var ok bool
		if first, last, ok = byteRange(asked, len(c.data)); !ok {
			h.Set("Content-Range", "bytes */"+strconv.Itoa(len(c.data)))
			return &blobError{http.StatusRequestedRangeNotSatisfiable, "InvalidRange",
				"The range specified is invalid for the current size of the resource.", ""}
		}
		status = http.StatusPartialContent
		h.Set("Content-Range", "bytes "+strconv.Itoa(first)+"-"+strconv.Itoa(last)+"/"+strconv.Itoa(len(c.data)))
	}
	blobHeader(h, c, r.URL.Query())
	h.Set("Content-Length", strconv.Itoa(last-first+1))
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		_, _ = w.Write(c.data[first : last+1])
	}
	return nil
}

// blobHeader sets what is said of a blob; a signed URL's own words come first.
func blobHeader(h http.Header, c *content, q url.Values) {
	h.Set("Content-Type", orElse(q.Get("rsct"), c.contentType))
	if d := q.Get("rscd"); d != "" {
		h.Set("Content-Disposition", d)
	}
	h.Set("ETag", c.etag)
	h.Set("Last-Modified", c.modified.Format(http.TimeFormat))
	h.Set("Accept-Ranges", "bytes")
	h.Set("X-Ms-Blob-Type", "BlockBlob")
	h.Set("X-Ms-Creation-Time", c.modified.Format(http.TimeFormat))
	h.Set("X-Ms-Lease-State", "available")
	h.Set("X-Ms-Lease-Status", "unlocked")
	h.Set("X-Ms-Server-Encrypted", "true")
}

// byteRange reads bytes=first-last or bytes=first-, and reports whether there is
// any of it.
func byteRange(text string, size int) (first, last int, ok bool) {
	begin, end, found := strings.Cut(strings.TrimPrefix(text, "bytes="), "-")
	first, err := strconv.Atoi(begin)
	if err != nil || !found || first < 0 || first >= size {
		return 0, 0, false
	}
	if end == "" {
		return first, size - 1, true
	}
	last, err = strconv.Atoi(end)
	if err != nil || last < first {
		return 0, 0, false
	}
	return first, min(last, size-1), true
}
