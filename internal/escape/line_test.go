package escape

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "",
		" \r\n\t ":                     "",
		"plain text":                   "plain text",
		"two\nlines\r\n  of\ttext ":    "two lines of text",
		"a\x1b[31mred\x1b[0m":          "a [31mred [0m",
		"a\u202eb\u200bc\u00a0d\ufeff": "a b c d",
		"a\xff\xfeb":                   "a b",
		"über 12 €":                    "über 12 €",
		"exactly twenty chars":         "exactly twenty chars",
		"exactly twenty chars.":        "exactly twenty chars…",
		"ääääääääääääääääääää":  "ääääääääääääääääääää",
		"äääääääääääääääääääää": "ääääääääääääääääääää…",
	} {
		if got := Line(text, 20); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a < b and c > d":         "a < b and c > d",
		"see <https://a.example>": "see <https://a.example>",
		"<!DOCTYPE html>\n<html><head><style>p { color: red }</style><script>if (a < b) x()</script></head><body><h1>Bad</h1><p>Gateway</p><!-- <p>\nno --></body></html>": "Bad Gateway",
		`<?xml version="1.0"?><error><code>7</code></error>`:                                "7",
		"<html><head><TITLE lang=en>Bad\nGateway</TITLE></head><h1>Bad Gateway</h1></html>": "Bad Gateway",
		"<html><title>Only this</title><body> </body></html>":                               "Only this",
		"<html><title>not closed":                                                           "not closed",
		"<html><STYLE>p { }</STYLE><p>here":                                                 "here",
		" \n <HTML><body>it":                                                                "it",
		"<html><p>not closed":                                                               "not closed",
	} {
		if got := Line(Page(text), 200); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\x1b[31m\r\nb", 3)
	f.Add("<html>\xff<b", 9)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = 1 + (limit&0xff)%200
		line := Line(Page(text), limit)
		if n := utf8.RuneCountInString(line); n > limit+1 || strings.ContainsAny(line, "\r\n\x1b") || !utf8.ValidString(line) {
			t.Errorf("%q becomes %q", text, line)
		}
		if again := Line(line, limit+1); again != line {
			t.Errorf("%q becomes %q when it is made a line again", line, again)
		}
	})
}
