package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRenderMarkdown(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("word ", 30))
	for name, c := range map[string]struct{ markdown, want string }{
		"heading keeps to what follows": {"# A\n\nText\n\n## B\n\nMore", "A\nText\n\nB\nMore\n"},
		"code spans and escapes":        {"Job `fdai-x` \\*is\\* &lt;well&gt; &#124;", "Job fdai-x *is* <well> |\n"},
		"code spans keep references":    {"`&lt;`", "&lt;\n"},
		"emphasis and links":            {"**a** _b_ [c](http://d) <https://e>", "a b c https://e\n"},
		"table without a header":        {"|  |  |\n| --- | --- |\n| Cluster | `x` |\n| Job UID | y |", "  Cluster  x\n  Job UID  y\n"},
		"table with a header":           {"| A | Long |\n| --- | --- |\n| wide cell | y |", "  A          Long\n  wide cell  y\n"},
		"the last cell is wrapped": {
			"| A | B |\n| --- | --- |\n| x | " + long + " |",
			"  A  B\n  x  " + long[:104] + "\n     " + long[105:] + "\n",
		},
		"a long word stays whole": {strings.Repeat("a", 200), strings.Repeat("a", 200) + "\n"},
		"verbatim":                {"Why\n\n```text\na  *b*\n\n  c\n```", "Why\n\n    a  *b*\n\n      c\n"},
		"folded": {
			"before\n\n<details><summary>Digests &amp; more</summary>\n\n|  |  |\n| --- | --- |\n| x | y |\n\n</details>\n\nafter",
			"before\n\n▸ Digests & more\n\nafter\n",
		},
		"nothing": {"", "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if have := renderMarkdown(c.markdown, style{}); have != c.want {
				t.Errorf("have\n%s\nwant\n%s", have, c.want)
			}
		})
	}
}

// Every summary that the action can write is shown without markup, and with all
// that its parts say outside of what is folded.
func TestRenderSummaries(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../../internal/report/testdata/*.md")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d summaries to try, %v", len(files), err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		have := renderMarkdown(string(source), style{})
		for _, markup := range []string{"| ---", "## ", "<details>", "</details>", "```", "&lt;"} {
			if strings.Contains(have, markup) {
				t.Errorf("%s shows %q:\n%s", file, markup, have)
			}
		}
		if !strings.Contains(have, "Facts\n  ") {
			t.Errorf("%s has no table of facts:\n%s", file, have)
		}
	}
}
