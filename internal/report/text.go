package report

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what comes from elsewhere, in characters.
const (
	maxValue    = 320 // an image reference with its digest
	maxSentence = 500
	maxVerbatim = 8000
)

// visible returns text on one line, every character that has no shape of its
// own shown as an escape.
func visible(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// visibleLines is visible for text of several lines, without blank ones around
// it. A tab becomes a space.
func visibleLines(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", " ").Replace(text)
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(visible(l), " ")
	}
	return strings.Join(lines, "\n")
}

// short returns text with at most limit characters. Of longer text the
// beginning and the end are kept: names begin alike, and digests come last.
func short(text string, limit int) string {
	n := utf8.RuneCountInString(text)
	if n <= limit {
		return text
	}
	note := fmt.Sprintf("…(%d characters left out)…", n-limit)
	keep := limit - utf8.RuneCountInString(note)
	runes := []rune(text)
	tail := keep / 4
	return string(runes[:keep-tail]) + note + string(runes[n-tail:])
}

var (
	tameText = regexp.MustCompile(`^[A-Za-z0-9 .,;:'"()/%+=-]*$`)
	// Links that GitHub makes of plain text, and emoji. No emoji is named by
	// two digits, which would be a time.
	linked = regexp.MustCompile(`(?i)://|www\.|:(?:[a-z0-9+-]*[a-z+-][a-z0-9+-]*|[0-9]{3,}):`)
)

// tame reports whether text is nothing but text to every reader of Markdown.
func tame(text string) bool {
	return tameText.MatchString(text) && !linked.MatchString(text)
}

// sentenced ends a text with a full stop if nothing ends it.
func sentenced(text string) string {
	text = strings.TrimRight(text, " \n")
	if text == "" || strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

// longestRun returns the length of the longest run of c in text.
func longestRun(text string, c byte) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
