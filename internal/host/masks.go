package host

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// MinMask is the length in bytes of the shortest text that is masked. Hiding a
// shorter one would blot out half of every log and tell what it is.
const MinMask = 3

// Masks hides secrets in text. The zero value hides nothing yet.
type Masks struct {
	mu      sync.RWMutex
	secrets []string
}

// Add hides a secret from now on: each of its lines, without the white space
// around it, and each as it would look inside a JSON string. It returns the
// texts that were not hidden before.
func (m *Masks) Add(secret string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var added []string
	for line := range strings.SplitSeq(lineEnds.Replace(secret), "\n") {
		line = strings.TrimSpace(line)
		for _, s := range []string{line, quoted(line)} {
			if len(s) >= MinMask && !slices.Contains(m.secrets, s) {
				m.secrets = append(m.secrets, s)
				added = append(added, s)
			}
		}
	}
	return added
}

// Hide returns text with "***" in place of every secret in it. Secrets that
// overlap are hidden together, so that no end of one is left over.
func (m *Masks) Hide(text string) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	type part struct{ from, to int }
	var parts []part
	for _, secret := range m.secrets {
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
