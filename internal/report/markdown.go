package report

import "strings"

// markdown writes the document in GitHub's flavour (GFM 0.29).
func (d document) markdown(hide func(string) string) string {
	w := writer{hide: hide}
	for i, b := range d {
		if i > 0 {
			w.lines("")
		}
		b.writeMarkdown(&w)
	}
	return w.String()
}

func (t title) writeMarkdown(w *writer)     { w.lines("## " + t.mark + " " + w.markdown(t.text)) }
func (h heading) writeMarkdown(w *writer)   { w.lines("### " + markup.Replace(string(h))) }
func (p paragraph) writeMarkdown(w *writer) { w.lines(w.markdown(line(p))) }

func (t table) writeMarkdown(w *writer) {
	header, columns := t.header, len(t.header)
	if header == nil {
		header, columns = []string{"", ""}, 2
	}
	cells := make([]string, columns)
	for i, name := range header {
		cells[i] = markup.Replace(name)
	}
	w.lines(row(cells), "|"+strings.Repeat(" --- |", columns))
	for _, r := range t.rows {
		clear(cells)
		for i, l := range r {
			cells[i] = w.markdown(l)
		}
		w.lines(row(cells))
	}
}

func row(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }

// writeMarkdown writes a fenced code block; the fence is longer than any run of
// backticks within, so nothing in the text can close it.
func (v verbatim) writeMarkdown(w *writer) {
	text := w.verbatim(v)
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	w.lines(fence+"text", text, fence)
}

func (f fold) writeMarkdown(w *writer) {
	w.lines("<details><summary>"+markup.Replace(f.name)+"</summary>", "")
	f.body.writeMarkdown(w)
	w.lines("", "</details>")
}

// markdown returns a line with words escaped and values as code.
func (w *writer) markdown(l line) string {
	var b strings.Builder
	for _, p := range l {
		text := w.text(p)
		if p.limit == 0 || p.sentence && tame(text) {
			b.WriteString(markup.Replace(text))
		} else {
			b.WriteString(code(text))
		}
	}
	return b.String()
}

// markup escapes what would be markup within our own words.
var markup = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "~", `\~`, "[", `\[`, "]", `\]`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "|", "&#124;", "\n", " ", "\r", " ",
)

// code returns text as code spans: GitHub makes no links, mentions or emoji in
// those.
//
// A '|' ends a table cell even inside a code span, and whether a backslash
// before it helps depends on the backslashes before that one. So it stands
// between two code spans, as a character reference, which is never markup.
func code(text string) string {
	parts := strings.Split(text, "|")
	for i, part := range parts {
		if part != "" {
			parts[i] = codeSpan(part)
		}
	}
	return strings.Join(parts, "&#124;")
}

// codeSpan returns text between backticks, more of them than stand together
// anywhere within (CommonMark 0.31, 6.1). A space on both sides is taken off
// again by the reader, unless there is nothing else; so one is added where the
// text begins or ends with a backtick or a space.
func codeSpan(text string) string {
	if strings.Trim(text, "` ") != text && strings.Trim(text, " ") != "" {
		text = " " + text + " "
	}
	ticks := strings.Repeat("`", longestRun(text, '`')+1)
	return ticks + text + ticks
}
