package standin

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// sasVersion is the version of the signature's form (sv).
const sasVersion = "2025-11-05"

// SignedURL implements [Storage].
func (b *BlobServer) SignedURL(signed SignedBlob) (string, error) {
	if err := checkBlobName(signed.Name); err != nil {
		return "", err
	}
	q := url.Values{
		"sp": {"r"}, "se": {signed.Expires.UTC().Format(time.RFC3339)}, "st": {time.Now().Add(-10 * time.Minute).UTC().Format(time.RFC3339)},
		"sv": {sasVersion}, "sr": {"b"}, "spr": {"https"},
	}
	if signed.Write {
		q.Set("sp", "cw")
	}
	if signed.ContentType != "" {
		q.Set("rsct", signed.ContentType)
	}
	if signed.ContentDisposition != "" {
		q.Set("rscd", signed.ContentDisposition)
	}
	signature := b.signature(q, signed.Name)
	q.Set("sig", signature)
	b.ledger.AddText("the signature of a blob's URL", signature)
	return b.URL + (&url.URL{Path: "/" + blobAccount + "/" + signed.Name}).EscapedPath() + "?" + q.Encode(), nil
}

// signature is the one of a service SAS with the account's key.
func (b *BlobServer) signature(q url.Values, name string) string {
	fields := []string{
		q.Get("sp"), q.Get("st"), q.Get("se"), "/blob/" + blobAccount + "/" + name, q.Get("si"), q.Get("sip"), q.Get("spr"), q.Get("sv"), q.Get("sr"),
		q.Get("snapshot"), q.Get("ses"), q.Get("rscc"), q.Get("rscd"), q.Get("rsce"), q.Get("rscl"), q.Get("rsct"),
	}
	mac := hmac.New(sha256.New, b.key)
	mac.Write([]byte(strings.Join(fields, "\n")))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// authorize checks the signature, then its times, then what it permits.
func (b *BlobServer) authorize(r *http.Request, name string) *blobError {
	q := r.URL.Query()
	if q.Get("sig") == "" {
		return &blobError{http.StatusUnauthorized, "NoAuthenticationInformation",
			"Server failed to authenticate the request. Please refer to the information in the www-authenticate header.", ""}
	}
	failed := func(detail string) *blobError {
		return &blobError{http.StatusForbidden, "AuthenticationFailed",
			"Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.", detail}
	}
	if !hmac.Equal([]byte(q.Get("sig")), []byte(b.signature(q, name))) {
		return failed("Signature did not match.")
	}
	start, errStart := time.Parse(time.RFC3339, q.Get("st"))
	end, errEnd := time.Parse(time.RFC3339, q.Get("se"))
	now := time.Now()
	if errStart != nil || errEnd != nil || now.Before(start) || now.After(end) {
		return failed("Signature not valid in the specified time frame: Start [" + start.Format(time.RFC1123) + "] - Expiry [" +
			end.Format(time.RFC1123) + "] - Current [" + now.UTC().Format(time.RFC1123) + "]")
	}
	wanted := "r"
	if r.Method == http.MethodPut {
		wanted = "cw" // One of them is enough for a new blob.
	}
	if !strings.ContainsAny(q.Get("sp"), wanted) {
		return &blobError{http.StatusForbidden, "AuthorizationPermissionMismatch",
			"This request is not authorized to perform this operation using this permission.", ""}
	}
	return nil
}
