package standin

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
)

// views returns a text as it may be meant: plain, and what stands in it in
// base64, so many times in each other.
func views(text string, depth int) []string {
	found := []string{plain(text)}
	if depth == 0 {
		return found
	}
	forms := []string{alphabet.Replace(unescaped(text))}
	if found[0] != forms[0] {
		forms = append(forms, found[0])
	}
	for _, form := range forms {
		for _, run := range runs(form) {
			// A piece of base64 that was cut off may begin at any of four places.
			for offset := range 4 {
				part := run[offset:]
				if len(part)%4 == 1 {
					part = part[:len(part)-1]
				}
				if b, err := base64.RawURLEncoding.DecodeString(part); err == nil {
					found = append(found, views(string(b), depth-1)...)
				}
			}
		}
	}
	return found
}

// runs returns the stretches of base64, in the alphabet for URLs, that are long
// enough to hold anything.
func runs(text string) []string {
	all := strings.FieldsFunc(text, func(r rune) bool { return !inAlphabet(r) })
	return slices.DeleteFunc(all, func(run string) bool { return len(run) < pieceLength })
}

func inAlphabet(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}

var (
	alphabet = strings.NewReplacer("+", "-", "/", "_")
	nothing  = strings.NewReplacer(" ", "", "\t", "", "\r", "", "\n", "", "=", "", `"`, "", `\`, "")
)

// plain returns a text without escapes, white space, quotes and padding, and with
// one alphabet of base64.
func plain(text string) string { return alphabet.Replace(nothing.Replace(unescaped(text))) }

// unescaped undoes percent signs and the backslashes of JSON, as far as they are
// any.
func unescaped(text string) string {
	if !strings.ContainsAny(text, `%\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		switch {
		case text[i] == '%' && hexByte(text, i+1, 2, &b):
			i += 3
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == 'u' && hexByte(text, i+2, 4, &b):
			i += 6
		case text[i] == '\\' && i+1 < len(text) && strings.IndexByte("nrt", text[i+1]) >= 0:
			b.WriteByte('\n')
			i += 2
		case text[i] == '\\' && i+1 < len(text) && strings.IndexByte(`"\/`, text[i+1]) >= 0:
			b.WriteByte(text[i+1])
			i += 2
		default:
			b.WriteByte(text[i])
			i++
		}
	}
	return b.String()
}

// hexByte writes the byte that stands at a place in hexadecimal digits.
func hexByte(text string, at, digits int, b *strings.Builder) bool {
	if at+digits > len(text) {
		return false
	}
	n, err := strconv.ParseUint(text[at:at+digits], 16, 16)
	if err != nil || n > 0xff {
		return false
	}
	b.WriteByte(byte(n))
	return true
}
