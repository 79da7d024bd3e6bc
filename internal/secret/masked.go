package secret

import "net/url"

// Masked hides secrets in text, as [Set] does, and tells each to whoever masks it in
// the log before it is used for the first time. It may be used by several goroutines,
// and is made by [NewMasked].
type Masked struct {
	set  Set
	mask func(string)
}

// NewMasked returns one that knows some secrets already. mask may be nil.
func NewMasked(mask func(string), known ...string) *Masked {
	m := &Masked{mask: mask}
	for _, text := range known {
		m.Add(text)
	}
	return m
}

// Add makes a text a secret from now on, in each of the forms of [Set.Add].
func (m *Masked) Add(text string) {
	for _, form := range m.set.Add(text) {
		if m.mask != nil {
			m.mask(form)
		}
	}
}

// AddSigned makes what signs an address a secret, as [OfSigned] has it: the rest of it
// is wanted in messages. Of one that cannot be parsed there is no telling what signs
// it, so that all of it is one.
func (m *Masked) AddSigned(address string) {
	u, err := url.Parse(address)
	if err != nil {
		m.Add(address)
		return
	}
	for _, text := range OfSigned(u) {
		m.Add(text)
	}
}

// Hide is as that of [Set].
func (m *Masked) Hide(text string) string { return m.set.Hide(text) }
