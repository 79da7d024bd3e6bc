package escape

import (
	"regexp"
	"strings"
)

// plain is what no POSIX shell reads anything into, wherever it stands in an
// argument.
var plain = regexp.MustCompile(`^[0-9A-Za-z_./:@%+=,-]+$`)

// Shell returns a text as a POSIX shell takes it for one argument of a command: as
// it is where it is plain, in quotes otherwise.
// https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02
func Shell(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
