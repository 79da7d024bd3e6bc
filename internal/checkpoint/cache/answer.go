package cache

import (
	"encoding/json"
	"strings"
)

// understand checks the answer of a call and returns it as the library reads it, and
// the signed address that is in it, hidden already.
//
// GitHub answers in snake_case, other implementations in lowerCamelCase, as protobuf
// has it by default; int64 values are strings or numbers, and what is false or empty
// may be left out (protobuf.dev, "ProtoJSON Format"). The library takes the first.
func (s *service) understand(c call, host string, body []byte) (answer []byte, signed string, err error) {
	if c == store || !s.v2 && c == finalize || len(body) == 0 && c == lookUp {
		return nil, "", nil // There is nothing in it, or nothing was found.
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return nil, "", s.notUnderstood(host, "which is no JSON object")
	}
	if !s.v2 {
		return s.understandBefore(c, host, fields)
	}
	ok := string(fields["ok"]) == "true"
	if !ok {
		said := s.said(text(fields, "message"))
		if c == lookUp && !isDenial(said) {
			return []byte(`{"ok":false}`), "", nil
		}
		return nil, "", s.notOK(c, host, said)
	}
	known := map[string]any{"ok": true}
	switch c {
	case lookUp:
		known["matched_key"] = text(fields, "matched_key", "matchedKey")
		signed = text(fields, "signed_download_url", "signedDownloadUrl")
		known["signed_download_url"] = signed
		if known["matched_key"] == "" {
			return nil, "", s.notUnderstood(host, "which has no key")
		}
	case reserve:
		signed = text(fields, "signed_upload_url", "signedUploadUrl")
		known["signed_upload_url"] = signed
	}
	if c == lookUp || c == reserve {
		if _, err := s.signed(signed); err != nil {
			return nil, "", err
		}
	}
	answer, err = json.Marshal(known)
	return answer, signed, err
}

// understandBefore is understand for v1.
func (s *service) understandBefore(c call, host string, fields map[string]json.RawMessage) (answer []byte, signed string, err error) {
	known := map[string]any{}
	switch c {
	case reserve:
		id := fields["cacheId"]
		if id == nil {
			id = fields["cacheID"]
		}
		known["cacheID"] = id
		if len(id) == 0 || string(id) == "0" || strings.Trim(string(id), "0123456789") != "" {
			return nil, "", s.notUnderstood(host, "which has no number of an entry")
		}
	case lookUp:
		signed = text(fields, "archiveLocation")
		known["cacheKey"], known["archiveLocation"] = text(fields, "cacheKey"), signed
		if known["cacheKey"] == "" {
			return nil, "", s.notUnderstood(host, "which has no key")
		}
		if _, err := s.signed(signed); err != nil {
			return nil, "", err
		}
	}
	answer, err = json.Marshal(known)
	return answer, signed, err
}

// text returns the first of the named fields that is a text and not empty.
func text(fields map[string]json.RawMessage, names ...string) string {
	for _, name := range names {
		var value string
		if json.Unmarshal(fields[name], &value) == nil && value != "" {
			return value
		}
	}
	return ""
}

// errorOf reads an answer that is an error: its code and what it says. Twirp has code
// and msg (twitchtv.github.io/twirp, "Errors"), the service before has typeKey and
// message. Anything else is a page or a text.
func errorOf(body []byte) (code, said string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return "", string(body)
	}
	return text(fields, "code", "typeKey"), text(fields, "msg", "message")
}

// isTaken reports whether an error says that a key has an entry, or is reserved.
func isTaken(status int, code, said string) bool {
	return status == 409 || code == "already_exists" || strings.Contains(code, "AlreadyExists") ||
		strings.Contains(strings.ToLower(said), "already exists")
}

// isMiss reports whether an error says that no key matched. A method that is not
// there has the same status, and another code (bad_route).
func isMiss(status int, body []byte) bool {
	code, _ := errorOf(body)
	return status == 404 && code == "not_found"
}

// isDenial reports whether a service said that the job may not do this. These are
// GitHub's words, whatever the status.
func isDenial(said string) bool {
	said = strings.ToLower(said)
	return strings.Contains(said, "cache write denied") || strings.Contains(said, "cache read denied")
}
