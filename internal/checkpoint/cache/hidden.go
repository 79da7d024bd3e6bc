package cache

import (
	"net/url"

	"github.com/aks-oneshot/aks-oneshot/internal/escape"
	"github.com/aks-oneshot/aks-oneshot/internal/secret"
)

// maxSaid bounds a text that others wrote, in characters.
const maxSaid = 200

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

func (h *hidden) add(text string) {
	if text == "" {
		return
	}
	h.set.Add(text)
	h.mask(text)
}

// addSigned hides what makes a signed address a secret. The rest of it is wanted in
// messages.
func (h *hidden) addSigned(u *url.URL) {
	for _, text := range secret.OfSigned(u) {
		h.add(text)
	}
}

// said makes one short line of what a service said. Secrets are taken out first: a
// part of one would not be known for what it is.
func (h *hidden) said(text string) string {
	return escape.Line(h.set.Hide(escape.Page(h.set.Hide(text))), maxSaid)
}
