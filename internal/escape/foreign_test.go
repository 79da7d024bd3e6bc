package escape

import (
	"strings"
	"testing"
)

func TestForeign(t *testing.T) {
	t.Parallel()
	hide := func(text string) string { return strings.ReplaceAll(text, "a secret that is long", "***") }
	for text, want := range map[string]string{
		"":                            "",
		"plain\nand more":             Line("plain\nand more", 60),
		"it is a secret that is long": "it is ***",
		strings.Repeat("x", 50) + " a secret that is long":             Line(strings.Repeat("x", 50)+" ***", 60),
		"<html><body>it is a <b>secret</b> that is long</body></html>": "it is ***",
	} {
		got := Foreign(text, hide, 60)
		if got != want {
			t.Errorf("Foreign(%q) = %q, want %q", text, got, want)
		}
	}
}
