package main

import (
	"strings"
	"testing"
)

func TestLogView(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ log, want string }{
		"plain":                     {"a\nb :: c", "a\nb :: c"},
		"what is masked is not":     {"::add-mask::s3cret\nit is s3cret\n::error::s3cret!", "it is ***\nError: ***!"},
		"an escaped mask":           {"::add-mask::a%25b\na%b", "***"},
		"an empty mask":             {"::add-mask::\na", "a"},
		"groups":                    {"::group::Role\nrules\n::endgroup::", "▾ Role\nrules"},
		"annotations":               {"::error title=x%3A y,file=z::a%0Ab%25\n::warning::c\n::notice::d", "Error: a\nb%\nWarning: c\nNotice: d"},
		"what is no command":        {"::\n::what::ever", "::\n::what::ever"},
		"a long message is wrapped": {"::error::" + strings.Repeat("word ", 30), "Error: " + strings.TrimSpace(strings.Repeat("word ", 20)) + "\n" + strings.TrimSpace(strings.Repeat("word ", 10))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var v logView
			var shown []string
			for line := range strings.SplitSeq(c.log, "\n") {
				shown = append(shown, v.show(line)...)
			}
			if have := strings.Join(shown, "\n"); have != c.want {
				t.Errorf("have\n%s\nwant\n%s", have, c.want)
			}
		})
	}
}
