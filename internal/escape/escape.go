// Package escape makes texts that others wrote safe to show, and to paste: what nobody
// could see is shown, pages and long texts become one short line, and arguments are
// quoted for a shell.
package escape

import (
	"fmt"
	"strings"
	"unicode"
)

// Invisible returns text with an escape, as Go writes it in a string, in place
// of every character that has no shape of its own: controls, line ends, marks
// that turn text around, spaces that are no space. The characters in keep stay.
// What is no UTF-8 becomes U+FFFD.
func Invisible(text, keep string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case unicode.IsPrint(r) || strings.ContainsRune(keep, r):
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
