package artifact

import (
	"net/url"

	"github.com/aks-oneshot/aks-oneshot/internal/escape"
	"github.com/aks-oneshot/aks-oneshot/internal/secret"
)

// maxForeign is how many characters of what a service wrote are shown.
const maxForeign = 300

// secrets are masked in the log and taken out of what is told.
type secrets struct {
	set  secret.Set
	mask func(string)
}

func newSecrets(mask func(string), known ...string) *secrets {
	s := &secrets{mask: mask}
	for _, text := range known {
		s.add(text)
	}
	return s
}

// add makes a text a secret from now on.
func (s *secrets) add(text string) {
	for _, form := range s.set.Add(text) {
		if s.mask != nil {
			s.mask(form)
		}
	}
}

// addURL makes what signs an address a secret. The rest of it is none: it holds the
// name of the artifact, and so that of the Job.
func (s *secrets) addURL(address string) {
	u, err := url.Parse(address)
	if err != nil {
		s.add(address) // There is no telling what signs it.
		return
	}
	for _, text := range secret.OfSigned(u) {
		s.add(text)
	}
}

// clean returns what a service wrote as one line that can be shown.
func (s *secrets) clean(text string) string {
	return escape.Line(escape.Page(s.set.Hide(text)), maxForeign)
}
