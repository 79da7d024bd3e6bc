package github

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/escape"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// idTokenOf reads the answer to a request for an id token: {"value": "JWT"}.
func (h *Host) idTokenOf(resp *http.Response, asked string) (string, error) {
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		// What can be had of the body explains the status, which counts by itself.
		return "", refused(resp.StatusCode, asked, h.said(body), network.RetryAfter(resp.Header, h.idTokens.most))
	}
	if err != nil {
		return "", h.unanswered(asked, err)
	}
	// From here on the body may be a token that is not masked, in whatever form, so
	// nothing of it is told.
	var answer struct {
		Value string `json:"value"`
	}
	body = bytes.TrimSpace(body)
	switch err := json.Unmarshal(body, &answer); {
	case err != nil:
		return "", notAnswered(asked, "which is not JSON of the form {\"value\": \"TOKEN\"} (%d bytes, content type %q)", len(body), h.brief(resp.Header.Get("Content-Type")))
	case answer.Value == "":
		return "", notAnswered(asked, "which has no value")
	case !isJWT(answer.Value):
		return "", notAnswered(asked, "whose value is not a JWT (three parts in base64url with '.' between them)")
	}
	return answer.Value, nil
}

// isJWT reports whether a text has the form of a signed JWT (RFC 7515, section
// 7.1). Whether it is one is for those to judge who are shown it.
func isJWT(text string) bool {
	parts := strings.Split(text, ".")
	for _, part := range parts {
		// The decoder passes over line ends.
		if _, err := base64.RawURLEncoding.DecodeString(part); err != nil || part == "" || strings.ContainsAny(part, "\r\n") {
			return false
		}
	}
	return len(parts) == 3
}

// said returns what the service says in an answer that is an error, as one short
// line: its message where it has one, as GitHub's services do, or the text of a page.
func (h *Host) said(body []byte) string {
	var answer struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &answer) == nil && answer.Message != "" {
		return h.brief(answer.Message)
	}
	return h.brief(escape.Page(h.Hide(string(body))))
}

// maxSaid bounds a text that others wrote, in characters.
const maxSaid = 200

// brief makes one short line of such a text. What is masked is taken out first: a part
// of it would not be known for what it is.
func (h *Host) brief(text string) string { return escape.Line(h.Hide(text), maxSaid) }
