package report

import (
	"strconv"
	"strings"
)

// document is a report before it is written in one form or another. Blocks are
// all there is to a report: a new section is made of these, and what they hold
// cannot be broken by any value.
type document []block

// block is one of title, heading, paragraph, table, verbatim and fold.
type block interface {
	// writeMarkdown and writePlain write the block, ending with a newline. They
	// ask the writer for every text from elsewhere.
	writeMarkdown(*writer)
	writePlain(*writer)
}

type (
	// title is the document's heading. The mark is a sign for readers of
	// Markdown; a terminal may not have it.
	title struct {
		mark string
		text line
	}
	// heading begins a section. Our own words.
	heading string
	// paragraph is running text.
	paragraph line
	// table has a header or is a list of names and values.
	table struct {
		header []string
		rows   [][]line
	}
	// verbatim is text from elsewhere, shown as it is.
	verbatim string
	// fold can be opened to show a table. The name is our own words.
	fold struct {
		name string
		body table
	}
)

// line is text that stays on one line.
type line []piece

// piece is a part of a line: words of our own, or text from elsewhere.
type piece struct {
	text string
	// limit is the most characters that are shown of text from elsewhere; 0 for
	// words of our own.
	limit int
	// sentence has the text shown as words where nothing in it could be taken
	// for markup.
	sentence bool
	// item has the text quoted where it would not read as one of a list.
	item bool
}

// words are our own: they hold nothing that came from outside.
func words(text string) piece { return piece{text: text} }

// value is text from elsewhere, shown exactly, as code.
func value(text string) piece { return piece{text: text, limit: maxValue} }

// brief is a value that has no reason to be long.
func brief(text string) piece { return piece{text: text, limit: maxName} }

// loose is a sentence that may hold text from elsewhere.
func loose(text string) piece { return piece{text: text, limit: maxSentence, sentence: true} }

// writer collects a rendered report.
type writer struct {
	strings.Builder
	// hide takes secrets out of text from elsewhere. It comes before anything
	// else: what is left of a secret that was shortened or escaped would not be
	// known for one.
	hide func(string) string
}

func (w *writer) lines(lines ...string) {
	for _, l := range lines {
		w.WriteString(l + "\n")
	}
}

// text returns what there is to show of a piece, on one line.
func (w *writer) text(p piece) string {
	if p.limit == 0 {
		return p.text
	}
	text := w.hide(p.text)
	if p.item && (text == "" || strings.ContainsAny(text, " \t\r\n\"'")) {
		text = strconv.Quote(text)
	}
	return bound(text, p.limit, visible)
}

// verbatim returns what there is to show of text of several lines.
func (w *writer) verbatim(v verbatim) string {
	return bound(w.hide(string(v)), maxVerbatim, visibleLines)
}
