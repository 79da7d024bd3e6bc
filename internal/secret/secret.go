// Package secret takes credentials out of text.
package secret

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
)

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// MinLength is the length in bytes of the shortest text that is hidden. Hiding a
// shorter one would blot out half of every log and tell what it is.
const MinLength = 3

// Set hides secrets in text. The zero value hides nothing yet. It may be used by
// several goroutines.
//
// Of secrets of 40 bytes or more, such as tokens and keys, it hides pieces of 20
// bytes or more as well, also in Base64. Others are known only whole: take secrets
// out of a text before the text is shortened or escaped.
type Set struct {
	mu     sync.RWMutex
	known  []string
	pieces fragments
}

// Add hides a secret from now on: each of its lines, without the white space
// around it, and each as it would look inside a JSON string. It returns the
// texts that were not hidden before.
func (s *Set) Add(secret string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var added []string
	for line := range strings.SplitSeq(lineEnds.Replace(secret), "\n") {
		line = strings.TrimSpace(line)
		for _, form := range []string{line, quoted(line)} {
			if len(form) >= MinLength && !slices.Contains(s.known, form) {
				s.known = append(s.known, form)
				s.pieces.add(form)
				added = append(added, form)
			}
		}
	}
	return added
}

// Hide returns text with "***" in place of every secret in it. Secrets that
// overlap are hidden together, so that no end of one is left over.
func (s *Set) Hide(text string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	type part struct{ from, to int }
	var parts []part
	s.pieces.find(text, func(from, to int) { parts = append(parts, part{from, to}) })
	for _, secret := range s.known {
		for at := 0; ; {
			i := strings.Index(text[at:], secret)
			if i < 0 {
				break
			}
			parts = append(parts, part{at + i, at + i + len(secret)})
			at += i + 1
		}
	}
	if len(parts) == 0 {
		return text
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	end := 0
	for i, p := range parts {
		if i == 0 || p.from > end {
			b.WriteString(text[end:p.from] + "***")
		}
		end = max(end, p.to)
	}
	b.WriteString(text[end:])
	return b.String()
}

// quoted returns s as it stands between the quotes of a JSON string.
func quoted(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return s // Never: every string has a JSON form.
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`)
}

// OfAddress returns what is secret in the address of a proxy or server, in each
// form in which it could be shown: its password, encoded as in the address and
// not, and together with the user name as in a header (RFC 7617). A user name
// without a password is a token. Addresses that cannot be parsed hold secrets
// too, so none is.
func OfAddress(address string) []string {
	if _, after, found := strings.Cut(address, "://"); found {
		address = after
	}
	end := strings.LastIndexByte(address, '@')
	if end < 0 {
		return nil
	}
	userinfo := address[:end]
	user, password, _ := strings.Cut(userinfo, ":")
	if password == "" {
		user, password = "", user
	}
	plainUser, plain := unescaped(user), unescaped(password)
	var secrets []string
	for _, s := range []string{password, plain, base64.StdEncoding.EncodeToString([]byte(plainUser + ":" + plain))} {
		if plain != "" && !slices.Contains(secrets, s) {
			secrets = append(secrets, s)
		}
	}
	return secrets
}

func unescaped(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}
