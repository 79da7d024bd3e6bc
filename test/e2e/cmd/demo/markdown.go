package main

import (
	"bufio"
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// width is how many columns a rendered summary takes at most, unless a word is
// longer.
const width = 110

// renderMarkdown returns a job summary as a page would show it, for a terminal:
// read by a Markdown parser, so that what is broken for a reader looks broken
// here too.
func renderMarkdown(source string, s style) string {
	r := &renderer{source: []byte(source), style: s}
	parser := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
	root := parser.Parse(text.NewReader(r.source))
	for block := root.FirstChild(); block != nil; block = block.NextSibling() {
		block = r.block(block)
	}
	return strings.Join(r.lines, "\n") + "\n"
}

type renderer struct {
	source []byte
	style  style
	lines  []string
}

func (r *renderer) line(format string, args ...any) {
	r.lines = append(r.lines, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// gap puts an empty line before a block, unless it is the first one or belongs
// to the heading above.
func (r *renderer) gap() {
	if len(r.lines) > 0 {
		r.line("")
	}
}

// block writes a block and returns the last one that it dealt with.
func (r *renderer) block(n ast.Node) ast.Node {
	_, headed := n.PreviousSibling().(*ast.Heading)
	if !headed {
		r.gap()
	}
	switch n := n.(type) {
	case *ast.Heading:
		r.line("%s", r.style.bold(r.inline(n)))
	case *extast.Table:
		r.table(n)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		for line := range strings.Lines(r.raw(n)) {
			r.line("    %s", strings.TrimSuffix(line, "\n"))
		}
	case *ast.HTMLBlock:
		return r.fold(n)
	default:
		r.lines = append(r.lines, wrap(r.inline(n), width)...)
	}
	return n
}

var tag = regexp.MustCompile(`<[^>]*>`)

// fold shows a part that a page shows folded (<details>), folded: its name
// alone. It returns the block that closes it.
func (r *renderer) fold(n *ast.HTMLBlock) ast.Node {
	name := strings.TrimSpace(html.UnescapeString(tag.ReplaceAllString(r.raw(n), "")))
	r.line("%s", r.style.bold("▸ "+name))
	var last ast.Node = n
	for next := last; next != nil; next = next.NextSibling() {
		last = next
		if block, ok := next.(*ast.HTMLBlock); ok && strings.Contains(r.raw(block), "</details>") {
			break
		}
	}
	return last
}

// raw returns a block as it is written.
func (r *renderer) raw(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		b.Write(segment.Value(r.source))
	}
	return b.String()
}

// table writes the columns one beside the other; the last one is wrapped.
func (r *renderer) table(t *extast.Table) {
	var rows [][]string
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, r.inline(cell))
		}
		if strings.Join(cells, "") != "" {
			rows = append(rows, cells)
		}
	}
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		r.row(row, widths)
	}
}

func (r *renderer) row(cells []string, widths map[int]int) {
	last := len(cells) - 1
	before, indent := "  ", 2
	for i, cell := range cells[:last] {
		before += cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
		indent += widths[i] + 2
	}
	for _, part := range wrap(cells[last], max(width-indent, 40)) {
		r.line("%s%s", before, part)
		before = strings.Repeat(" ", indent)
	}
}

// inline returns the text of a block or a cell, without markup.
func (r *renderer) inline(n ast.Node) string {
	var b strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		switch child := child.(type) {
		case *ast.Text:
			b.WriteString(r.text(child))
		case *ast.String:
			b.Write(child.Value)
		case *ast.CodeSpan:
			for part := child.FirstChild(); part != nil; part = part.NextSibling() {
				if t, ok := part.(*ast.Text); ok {
					b.Write(t.Segment.Value(r.source))
				}
			}
		case *ast.AutoLink:
			b.Write(child.Label(r.source))
		case *ast.RawHTML:
		default:
			b.WriteString(r.inline(child))
		}
	}
	return b.String()
}

// text returns words with escapes and character references resolved: goldmark
// does that while it writes HTML.
func (r *renderer) text(t *ast.Text) string {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	gmhtml.DefaultWriter.Write(w, t.Segment.Value(r.source))
	_ = w.Flush() // to memory
	words := html.UnescapeString(b.String())
	if t.SoftLineBreak() || t.HardLineBreak() {
		words += " "
	}
	return words
}

// wrap breaks text at spaces into lines of at most limit characters. There is
// always one.
func wrap(text string, limit int) []string {
	lines := []string{""}
	length := 0
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case length == 0:
			lines[len(lines)-1], length = word, n
		case length+1+n > limit:
			lines, length = append(lines, word), n
		default:
			lines[len(lines)-1] += " " + word
			length += 1 + n
		}
	}
	return lines
}
