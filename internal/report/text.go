package report

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/aks-oneshot/aks-oneshot/internal/escape"
)

// Bounds of what comes from elsewhere, in characters. A character takes up to
// six bytes of Markdown; all together stay below half of what GitHub shows.
const (
	maxName     = 80  // a Job's name has 63
	maxValue    = 320 // an image reference with its digest
	maxSentence = 320
	maxMissing  = 800  // what a store said, and what follows from it
	maxAdvice   = 1600 // a command to paste, which is no use when it is cut
	maxVerbatim = 8000
)

// visible returns text on one line, everything in it to be seen.
func visible(text string) string { return escape.Invisible(text, "") }

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

const shortened = " …(shortened)… "

// bound shows text by the given function, in at most limit characters. Of
// longer text the beginning and the end are kept: names begin alike, and
// digests come last.
func bound(text string, limit int, show func(string) string) string {
	// The text may be a megabyte: the middle, which cannot be kept, goes first.
	if far := limit * utf8.UTFMax; len(text) > 2*far {
		text = text[:far] + shortened + text[len(text)-far:]
	}
	text = show(text)
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	runes := []rune(text)
	keep := limit - utf8.RuneCountInString(shortened)
	tail := keep / 4
	return string(runes[:keep-tail]) + shortened + string(runes[len(runes)-tail:])
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

// pasted recognizes a text whose end is there to be pasted: a command with options, or
// a piece of YAML. What a shell quotes may hold what else would end a command.
var pasted = regexp.MustCompile(`(?:: (?:az|kubectl)(?: [a-z-]+)* --(?:[^;'"()]|'[^']*'|"[^"]*")*|\})$`)

// sentenced ends a text with a full stop if nothing ends it, unless the stop would be
// pasted too.
func sentenced(text string) string {
	text = strings.TrimRight(text, " \n")
	if text == "" || strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?") || pasted.MatchString(text) {
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
