package escape

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes one line of at most limit characters of a text that others wrote,
// without what could command a terminal: everything that is not printable is
// white space. Take secrets out before, since a part of one is not known for what
// it is.
func Line(text string, limit int) string {
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
	markup = regexp.MustCompile(`(?is)<!--.*?-->|<(?:style|script)\b.*?</(?:style|script)>|<[^>]*>`)
	title  = regexp.MustCompile(`(?is)<title\b.*?</title>`)
	page   = regexp.MustCompile(`(?i)^\s*<(?:!doctype|html|head|body|\?xml|h1)\b`)
)

// IsPage reports whether a text is an HTML or XML page.
func IsPage(text string) bool { return page.MatchString(text) }

// Page returns the text of such a page, and any other text as it is. The title is
// left out, which most pages repeat as a heading, unless there is nothing else.
func Page(text string) string {
	if !IsPage(text) {
		return text
	}
	body := markup.ReplaceAllString(title.ReplaceAllString(text, " "), " ")
	if strings.TrimSpace(body) == "" {
		return markup.ReplaceAllString(text, " ")
	}
	return body
}
