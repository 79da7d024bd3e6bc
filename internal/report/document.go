package report

// document is a report before it is written in one form or another. Blocks are
// all there is to a report: a new section is made of these, and what they hold
// cannot be broken by any value.
type document []block

// block is one of title, heading, paragraph, table, verbatim and fold.
type block interface {
	// writeMarkdown and writePlain write the block, ending with a newline.
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

// piece is a part of a line: words of our own, or a value from elsewhere.
type piece struct {
	text  string
	value bool
}

// words are our own: they hold nothing that came from outside.
func words(text string) piece { return piece{text: text} }

// value is text from elsewhere, shown exactly, as code.
func value(text string) piece { return piece{text: bound(text, maxValue, visible), value: true} }

// brief is a value that has no reason to be long.
func brief(text string) piece { return piece{text: bound(text, maxName, visible), value: true} }

// loose is a sentence that may hold text from elsewhere. It is shown as words
// where nothing in it could be taken for markup, else as a value.
func loose(text string) piece {
	text = bound(text, maxSentence, visible)
	return piece{text: text, value: !tame(text)}
}
