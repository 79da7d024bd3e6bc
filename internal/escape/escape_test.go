package escape

import "testing"

func TestInvisible(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, keep, want string }{
		{"", "", ""},
		{"grün: 日本 €", "", "grün: 日本 €"},
		{"a\tb\nc\rd", "", `a\tb\nc\rd`},
		{"a\tb\nc", "\t", "a\tb\\nc"},
		{"\x00\x1b[1m\x7f\u0085\u00a0", "", `\x00\x1b[1m\x7f\x85\xa0`},
		{"\u200d\u202e\ufeff\u2028", "", `\u200d\u202e\ufeff\u2028`},
		{"\U000e0041", "", `\U000e0041`},
		{"a\xff\xfeb", "", "a\uFFFDb"},
		{`\n`, "", `\n`},
	} {
		if have := Invisible(c.text, c.keep); have != c.want {
			t.Errorf("Invisible(%q, %q) is %q, want %q", c.text, c.keep, have, c.want)
		}
	}
}
