package report

import (
	"strings"
	"unicode/utf8"
)

// plain writes the document for a terminal.
func (d document) plain(hide func(string) string) string {
	w := writer{hide: hide}
	together := true
	for _, b := range d {
		if !together {
			w.lines("")
		}
		b.writePlain(&w)
		switch b.(type) {
		case title, heading:
			together = true // with the block that follows
		default:
			together = false
		}
	}
	return w.String()
}

func (t title) writePlain(w *writer)     { w.lines(w.plain(t.text)) }
func (h heading) writePlain(w *writer)   { w.lines(string(h)) }
func (p paragraph) writePlain(w *writer) { w.lines(w.plain(line(p))) }

// writePlain writes the columns one under the other.
func (t table) writePlain(w *writer) {
	var rows [][]string
	if t.header != nil {
		rows = append(rows, t.header)
	}
	for _, r := range t.rows {
		cells := make([]string, len(r))
		for i, l := range r {
			cells[i] = w.plain(l)
		}
		rows = append(rows, cells)
	}
	var widths []int
	for _, r := range rows {
		for i, cell := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, r := range rows {
		var b strings.Builder
		for i, cell := range r {
			b.WriteString("  " + cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		w.lines(strings.TrimRight(b.String(), " "))
	}
}

func (v verbatim) writePlain(w *writer) {
	for l := range strings.SplitSeq(w.verbatim(v), "\n") {
		w.lines("    " + l)
	}
}

func (f fold) writePlain(w *writer) {
	w.lines(f.name)
	f.body.writePlain(w)
}

func (w *writer) plain(l line) string {
	var b strings.Builder
	for _, p := range l {
		b.WriteString(w.text(p))
	}
	return b.String()
}
