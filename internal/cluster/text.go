package cluster

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxMessage bounds a message of the API server, in characters: a policy's
	// refusal fits, a list of all violations of a large object does not.
	maxMessage = 1024
	// maxForeign bounds a text that is not the API server's.
	maxForeign = 200
)

// shorten makes one line of at most limit characters of a text that others wrote,
// without what could command a terminal: everything that is not printable is
// white space.
func shorten(text string, limit int) string {
	// A character has at most 4 bytes; the rest is not worth looking at.
	if len(text) > 8*limit {
		text = text[:8*limit]
	}
	words := strings.FieldsFunc(text, func(r rune) bool {
		return r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
	line := strings.Join(words, " ")
	if utf8.RuneCountInString(line) <= limit {
		return line
	}
	return string([]rune(line)[:limit]) + "…"
}

var (
	markup = regexp.MustCompile(`(?s)<!--.*?-->|<(?:style|script)\b.*?</(?:style|script)>|<[^>]*>`)
	page   = regexp.MustCompile(`(?i)^\s*<(?:!doctype|html|head|body|\?xml|h1)\b`)
)

// withoutMarkup returns the text of a page, and any other text as it is.
func withoutMarkup(text string) string {
	if page.MatchString(text) {
		return markup.ReplaceAllString(text, " ")
	}
	return text
}
