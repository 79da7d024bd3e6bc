package report

import "strings"

// writer collects a rendered report.
type writer struct{ strings.Builder }

func (w *writer) lines(lines ...string) {
	for _, l := range lines {
		w.WriteString(l + "\n")
	}
}

// markdown writes the document in GitHub's flavour (GFM 0.29).
func (d document) markdown() string {
	var w writer
	for i, b := range d {
		if i > 0 {
			w.lines("")
		}
		b.writeMarkdown(&w)
	}
	return w.String()
}

func (t title) writeMarkdown(w *writer)     { w.lines("## " + t.mark + " " + t.text.markdown()) }
func (h heading) writeMarkdown(w *writer)   { w.lines("### " + words(string(h)).markdown()) }
func (p paragraph) writeMarkdown(w *writer) { w.lines(line(p).markdown()) }

func (t table) writeMarkdown(w *writer) {
	header, columns := t.header, len(t.header)
	if header == nil {
		header, columns = []string{"", ""}, 2
	}
	cells := make([]string, columns)
	for i, name := range header {
		cells[i] = words(name).markdown()
	}
	w.lines(row(cells), "|"+strings.Repeat(" --- |", columns))
	for _, r := range t.rows {
		clear(cells)
		for i, l := range r {
			cells[i] = l.markdown()
		}
		w.lines(row(cells))
	}
}

func row(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }

// writeMarkdown writes a fenced code block; the fence is longer than any run of
// backticks within, so nothing in the text can close it.
func (v verbatim) writeMarkdown(w *writer) {
	text := bound(string(v), maxVerbatim, visibleLines)
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	w.lines(fence+"text", text, fence)
}

func (f fold) writeMarkdown(w *writer) {
	w.lines("<details><summary>"+words(f.name).markdown()+"</summary>", "")
	f.body.writeMarkdown(w)
	w.lines("", "</details>")
}

func (l line) markdown() string {
	var b strings.Builder
	for _, p := range l {
		b.WriteString(p.markdown())
	}
	return b.String()
}

// markup escapes what would be markup within our own words.
var markup = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "~", `\~`, "[", `\[`, "]", `\]`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "|", "&#124;", "\n", " ", "\r", " ",
)

// markdown writes words escaped and values as code spans: GitHub makes no
// links, mentions or emoji in those.
//
// A '|' ends a table cell even inside a code span, and whether a backslash
// before it helps depends on the backslashes before that one. So it stands
// between two code spans, as a character reference, which is never markup.
func (p piece) markdown() string {
	if !p.value {
		return markup.Replace(p.text)
	}
	parts := strings.Split(p.text, "|")
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
