package standin

import (
	"bytes"
	"crypto/md5" // Content-MD5 is part of the protocol, RFC 1864.
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"hash/crc64"
	"io"
	"net/http"
	"net/url"
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

// maxBlobBody is how much one request may hold; the real one takes more.
const maxBlobBody = 64 << 20

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

// https://learn.microsoft.com/en-us/rest/api/storageservices/put-blob
func (b *BlobServer) putBlob(w http.ResponseWriter, r *http.Request, name string) *blobError {
	switch r.Header.Get("X-Ms-Blob-Type") {
	case "BlockBlob":
	case "":
		return &blobError{http.StatusBadRequest, "MissingRequiredHeader", "An HTTP header that's mandatory for this request is not specified.", "x-ms-blob-type"}
	default:
		return &blobError{http.StatusBadRequest, "InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format.", "x-ms-blob-type"}
	}
	data, e := readBlobBody(w, r)
	if e != nil {
		return e
	}
	return b.store(w, r, name, &content{data: data, contentType: r.Header.Get("X-Ms-Blob-Content-Type")})
}

// https://learn.microsoft.com/en-us/rest/api/storageservices/put-block
func (b *BlobServer) putBlock(w http.ResponseWriter, r *http.Request, name string) *blobError {
	id := r.URL.Query().Get("blockid")
	raw, err := base64.StdEncoding.DecodeString(id)
	if err != nil || len(raw) == 0 || len(raw) > 64 {
		return &blobError{http.StatusBadRequest, "InvalidQueryParameterValue",
			"Value for one of the query parameters specified in the request URI is invalid.", "blockid"}
	}
	data, e := readBlobBody(w, r)
	if e != nil {
		return e
	}
	if len(data) == 0 {
		return &blobError{http.StatusBadRequest, "InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format.", "Content-Length"}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.blobs[name]
	if at == nil {
		at = &blob{}
		b.blobs[name] = at
	}
	for other := range at.blocks {
		if len(other) != len(id) {
			return &blobError{http.StatusBadRequest, "InvalidBlobOrBlock", "The specified blob or block content is invalid.", ""}
		}
	}
	if at.blocks == nil {
		at.blocks = map[string][]byte{}
	}
	at.blocks[id] = data
	w.Header().Set("X-Ms-Request-Server-Encrypted", "true")
	w.WriteHeader(http.StatusCreated)
	return nil
}

// https://learn.microsoft.com/en-us/rest/api/storageservices/put-block-list
func (b *BlobServer) putBlockList(w http.ResponseWriter, r *http.Request, name string) *blobError {
	body, e := readBlobBody(w, r)
	if e != nil {
		return e
	}
	var list struct {
		XMLName xml.Name `xml:"BlockList"`
		Blocks  []struct {
			XMLName xml.Name
			ID      string `xml:",chardata"`
		} `xml:",any"`
	}
	if err := xml.Unmarshal(body, &list); err != nil {
		return &blobError{http.StatusBadRequest, "InvalidXmlDocument", "XML specified is not syntactically valid.", err.Error()}
	}
	made := &content{contentType: r.Header.Get("X-Ms-Blob-Content-Type"), blocks: map[string][]byte{}}
	b.mu.Lock()
	at := b.blobs[name]
	if at == nil {
		at = &blob{}
	}
	var data bytes.Buffer
	for _, block := range list.Blocks {
		id := strings.TrimSpace(block.ID)
		piece, ok := at.block(block.XMLName.Local, id)
		if !ok {
			b.mu.Unlock()
			return &blobError{http.StatusBadRequest, "InvalidBlockList", "The specified block list is invalid.", ""}
		}
		made.blocks[id] = piece
		data.Write(piece)
	}
	b.mu.Unlock()
	made.data = data.Bytes()
	return b.store(w, r, name, made)
}

// block finds a block that a list names, where the list has it looked for.
func (at *blob) block(where, id string) ([]byte, bool) {
	fresh, isFresh := at.blocks[id]
	var kept []byte
	var isKept bool
	if at.content != nil {
		kept, isKept = at.content.blocks[id]
	}
	switch where {
	case "Latest":
		if isFresh {
			return fresh, true
		}
		return kept, isKept
	case "Uncommitted":
		return fresh, isFresh
	case "Committed":
		return kept, isKept
	}
	return nil, false
}

// store makes a blob of a request's content, unless it is to be a new one only.
func (b *BlobServer) store(w http.ResponseWriter, r *http.Request, name string, c *content) *blobError {
	c.contentType = orElse(c.contentType, "application/octet-stream")
	if _, err := b.Get(r.Context(), name); err == nil && r.Header.Get("If-None-Match") == "*" {
		return &blobError{http.StatusConflict, "BlobAlreadyExists", "The specified blob already exists.", ""}
	}
	b.commit(name, c)
	h := w.Header()
	h.Set("ETag", c.etag)
	h.Set("Last-Modified", c.modified.Format(http.TimeFormat))
	h.Set("X-Ms-Request-Server-Encrypted", "true")
	w.WriteHeader(http.StatusCreated)
	return nil
}

// readBlobBody reads what is uploaded, whole or not at all, and checks it against
// the checksums it came with.
func readBlobBody(w http.ResponseWriter, r *http.Request) ([]byte, *blobError) {
	if r.ContentLength < 0 {
		return nil, &blobError{http.StatusLengthRequired, "MissingContentLengthHeader", "The Content-Length header was not specified.", ""}
	}
	if r.ContentLength > maxBlobBody {
		return nil, &blobError{http.StatusRequestEntityTooLarge, "RequestBodyTooLarge",
			"The request body is too large and exceeds the maximum permissible limit.", strconv.Itoa(maxBlobBody)}
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // Who uploads has gone.
	}
	sum := md5.Sum(data)
	if given := r.Header.Get("Content-MD5"); given != "" && given != base64.StdEncoding.EncodeToString(sum[:]) {
		return nil, &blobError{http.StatusBadRequest, "Md5Mismatch",
			"The MD5 value specified in the request did not match with the MD5 value calculated by the server.", ""}
	}
	check := binary.LittleEndian.AppendUint64(nil, crc64.Checksum(data, blobCRC64))
	if given := r.Header.Get("X-Ms-Content-Crc64"); given != "" && given != base64.StdEncoding.EncodeToString(check) {
		return nil, &blobError{http.StatusBadRequest, "Crc64Mismatch",
			"The CRC64 value specified in the request did not match with the CRC64 value calculated by the server.", ""}
	}
	w.Header().Set("X-Ms-Content-Crc64", base64.StdEncoding.EncodeToString(check))
	return data, nil
}

// blobCRC64 has the polynomial of Azure Storage's checksums.
var blobCRC64 = crc64.MakeTable(0x9A6C9329AC4BC9B5)

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
