package azure

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/escape"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

const (
	// maxText bounds a text that Azure wrote, in characters, and maxForeign one
	// that somebody else did.
	maxText    = 1024
	maxForeign = 200
)

// line makes one short line of a text that others wrote. What is secret is taken
// out first: a part of it would not be known for it.
func (l *login) line(text string, limit int) string {
	return escape.Line(l.hide(text), limit)
}

// hide takes secrets out of a text: those that are known, and what looks like a
// part of a JSON Web Token, since who repeats one may have shortened it.
func (l *login) hide(text string) string {
	return looksLikeToken.ReplaceAllString(l.secrets.Hide(text), "***")
}

// looksLikeToken recognizes the header of a JSON Web Token and what follows it: an object
// begins so in base64.
var looksLikeToken = regexp.MustCompile(`\beyJ[0-9A-Za-z_-]{13,}(?:\.[0-9A-Za-z_-]*)*`)

// clean is line for a text that more is said after.
func (l *login) clean(text string, limit int) string {
	return strings.TrimRight(l.line(text, limit), ".: ")
}

// saying is what an answer that is no success says, for the end of a sentence:
// the message in it, as different services have it, or the text of a page.
func (l *login) saying(body []byte) string {
	text := messageIn(body)
	if text == "" {
		text = escape.Page(l.hide(string(body)))
	}
	if text = l.clean(text, maxForeign); text == "" {
		return ""
	}
	return ": " + text
}

// messageIn finds the text for people in an answer of JSON: that of OAuth, of
// Azure DevOps and App Service, or of Azure.
func messageIn(body []byte) string {
	var answer struct {
		Description string          `json:"error_description"`
		Message     string          `json:"message"`
		Error       json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	var inner struct {
		Message string `json:"message"`
	}
	for _, text := range []string{answer.Description, answer.Message} {
		if text != "" {
			return text
		}
	}
	if json.Unmarshal(answer.Error, &inner) == nil {
		return inner.Message
	}
	return ""
}

// text is an error without its code and advice, to be part of a sentence.
func text(err error) string {
	if f, ok := errors.AsType[*failure.Error](err); ok {
		return strings.TrimPrefix(f.Field+": "+f.Message, ": ")
	}
	return err.Error()
}

// identifier is an id of Azure's that can be repeated as it is.
var identifier = regexp.MustCompile(`^[0-9A-Fa-f-]{8,64}$`)

// hostOf is the host, and port, of an address.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// busy reports whether the same request may be answered otherwise later.
func busy(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status/100 == 5
}

// later says when to run again, as far as the answer does.
func (a answer) later() string {
	if after := network.RetryAfter(a.header, 24*time.Hour); after > 0 {
		return fmt.Sprintf("Run again in %d s, as it asks for", int(after.Seconds()))
	}
	return "Run again in a few minutes"
}
