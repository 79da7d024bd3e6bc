package secret

import (
	"net/url"
	"slices"
	"strings"
)

// minSigned is the length in bytes of the shortest value that may sign an address.
// Parameters that say how it is signed are shorter.
const minSigned = 16

// OfSigned returns what is secret in an address that a server signed: each value in
// its query that signs it, as it is written there and as it is.
//
// The rest is none, neither the address nor the query as a whole. They hold the name
// of what the address is for, and pieces of a long secret are hidden too: that name
// would be missing from everything that is said of it.
func OfSigned(u *url.URL) []string {
	var secrets []string
	add := func(text string) {
		if !slices.Contains(secrets, text) {
			secrets = append(secrets, text)
		}
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if !signs(strings.ToLower(name)) || len(value) < minSigned {
			continue
		}
		add(value)
		if plain, err := url.QueryUnescape(value); err == nil {
			add(plain)
			add(url.QueryEscape(plain)) // as clients write it again
		}
	}
	return secrets
}

// signs reports whether a parameter is one that makes an address a secret: sig of
// Azure's shared access signatures, X-Amz-Signature and its like, or a token.
func signs(name string) bool {
	for _, part := range []string{"sig", "token", "credential"} {
		if strings.Contains(name, part) && !strings.Contains(name, "signed") {
			return true
		}
	}
	return false
}
