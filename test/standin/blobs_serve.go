package standin

import (
	"encoding/xml"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// blobError is an error of Azure's: its status, its code and what is said of it.
// https://learn.microsoft.com/en-us/rest/api/storageservices/blob-service-error-codes
type blobError struct {
	status                int
	code, message, detail string
}

// Error implements error.
func (e *blobError) Error() string { return e.code + ": " + e.message }

// serve answers a request for a blob.
func (b *BlobServer) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Ms-Request-Id", uuid.NewString())
	h.Set("X-Ms-Version", orElse(r.Header.Get("X-Ms-Version"), sasVersion))
	h.Set("Server", "Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0")
	if id := r.Header.Get("X-Ms-Client-Request-Id"); id != "" {
		h.Set("X-Ms-Client-Request-Id", id)
	}
	if e := b.answer(w, r); e != nil {
		writeBlobError(w, r, e)
	}
}

func (b *BlobServer) answer(w http.ResponseWriter, r *http.Request) *blobError {
	account, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if account != blobAccount {
		return &blobError{http.StatusBadRequest, "InvalidUri", "The requested URI does not represent any resource on the server.", ""}
	}
	if e := b.authorize(r, name); e != nil {
		return e
	}
	if checkBlobName(name) != nil {
		return &blobError{http.StatusNotFound, "ContainerNotFound", "The specified container does not exist.", ""}
	}
	switch blobOperation(r) {
	case "PutBlob":
		return b.putBlob(w, r, name)
	case "PutBlock":
		return b.putBlock(w, r, name)
	case "PutBlockList":
		return b.putBlockList(w, r, name)
	case "GetBlob", "HeadBlob":
		return b.getBlob(w, r, name)
	}
	return &blobError{http.StatusMethodNotAllowed, "UnsupportedHttpVerb", "The resource doesn't support specified Http Verb.", ""}
}

func writeBlobError(w http.ResponseWriter, r *http.Request, e *blobError) {
	h := w.Header()
	h.Set("X-Ms-Error-Code", e.code)
	if e.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer authorization_uri=https://login.microsoftonline.com/common/oauth2/authorize resource_id=https://storage.azure.com")
	}
	body := struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
		Detail  string `xml:"AuthenticationErrorDetail,omitempty"`
	}{
		Code: e.code, Detail: e.detail,
		Message: e.message + "\nRequestId:" + h.Get("X-Ms-Request-Id") + "\nTime:" + time.Now().UTC().Format(time.RFC3339Nano),
	}
	text, err := xml.Marshal(body)
	if err != nil {
		panic(err) // Only texts are in it.
	}
	text = slices.Concat([]byte(xml.Header), text)
	h.Set("Content-Type", "application/xml")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(e.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(text)
	}
}
