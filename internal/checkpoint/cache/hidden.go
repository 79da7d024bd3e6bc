package cache

import (
	"net/url"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/escape"
	"github.com/aks-oneshot/aks-oneshot/internal/secret"
)

// maxSaid bounds a text that others wrote, in characters.
const maxSaid = 200

// minSigned is the length in bytes of the shortest value that may sign an address.
// Parameters that say how it is signed are shorter.
const minSigned = 16

// hidden are the secrets that the services are used with, each of which is masked
// before anything is done with it.
type hidden struct {
	set  secret.Set
	mask func(string)
}

func newHidden(mask func(string)) *hidden {
	if mask == nil {
		mask = func(string) {}
	}
	return &hidden{mask: mask}
}

func (h *hidden) add(secret string) {
	if secret == "" {
		return
	}
	h.set.Add(secret)
	h.mask(secret)
}

// addSigned hides what makes a signed address a secret: its query, as a whole and
// each value in it that signs, as it is written there and as it is. The host and the
// path are not hidden, they are wanted in messages.
func (h *hidden) addSigned(u *url.URL) {
	h.add(u.RawQuery)
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name = strings.ToLower(name)
		signs := strings.Contains(name, "sig") || strings.Contains(name, "token") || strings.Contains(name, "credential")
		if !signs || len(value) < minSigned {
			continue
		}
		h.add(value)
		if plain, err := url.QueryUnescape(value); err == nil && plain != value {
			h.add(plain)
		}
	}
}

// said makes one short line of what a service said. Secrets are taken out first: a
// part of one would not be known for what it is.
func (h *hidden) said(text string) string {
	return escape.Line(h.set.Hide(escape.Page(h.set.Hide(text))), maxSaid)
}
