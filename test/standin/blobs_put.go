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
	"strconv"
	"strings"
)

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

// maxBlobBody is how much one request may hold; the real one takes more.
const maxBlobBody = 64 << 20

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
