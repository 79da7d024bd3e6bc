package main

import (
	"fmt"
	"strings"
	"unicode"
)

// Bicep's compiler is no Go program, so this reads the part of the language that
// a setup file needs, strictly: targetScope, param, var, resource (new and
// existing) and output, decorators, and expressions of strings with
// interpolation, numbers, names, properties, calls, arrays and objects over
// several lines. What else there is in Bicep is an error here.
//
// https://learn.microsoft.com/azure/azure-resource-manager/bicep/file

// expression is a node of the syntax tree.
type expression struct {
	line int
	// kind is string, number, name, property, call, array or object. Of a string
	// and of a call, items are the expressions in it; of a property, the one of
	// which it is a property.
	kind  string
	text  string // a string without its interpolations, a name, a number
	items []expression
	keys  []string // of an object, in the order of items
}

// property returns a member of an object, nil where there is none.
func (e *expression) property(key string) *expression {
	for i, k := range e.keys {
		if k == key {
			return &e.items[i]
		}
	}
	return nil
}

// statement is one at the top of a file.
type statement struct {
	line          int
	keyword, name string
	typ           string // of a param or output; of a resource its type and version
	existing      bool
	value         *expression // nil for a param without a default
	decorators    []expression
}

type bicepParser struct {
	text []rune
	at   int
	line int
}

// bicepError is where and why a file could not be read.
type bicepError struct {
	line   int
	reason string
}

func (e *bicepError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.reason) }

// parseBicep reads a file.
func parseBicep(text string) (statements []statement, err error) {
	p := &bicepParser{text: []rune(text), line: 1}
	defer func() {
		if failed, ok := recover().(*bicepError); ok {
			err = failed
		}
	}()
	for {
		p.skip(true)
		if p.at == len(p.text) {
			return statements, nil
		}
		statements = append(statements, p.statement())
		p.endOfLine()
	}
}

func (p *bicepParser) fail(format string, args ...any) {
	panic(&bicepError{p.line, fmt.Sprintf(format, args...)})
}

// peek returns the next character, 0 at the end.
func (p *bicepParser) peek() rune {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *bicepParser) next() rune {
	r := p.peek()
	if r == '\n' {
		p.line++
	}
	p.at++
	return r
}

// skip passes blanks and comments, and line breaks where they mean nothing.
func (p *bicepParser) skip(breaks bool) {
	for {
		switch r := p.peek(); {
		case r == ' ' || r == '\t' || breaks && r == '\n':
			p.next()
		case r == '/' && p.at+1 < len(p.text) && p.text[p.at+1] == '/':
			for p.peek() != '\n' && p.peek() != 0 {
				p.next()
			}
		default:
			return
		}
	}
}

func (p *bicepParser) expect(r rune) {
	if p.skip(false); p.peek() != r {
		p.fail("%q is expected, not %q", r, p.peek())
	}
	p.next()
}

func (p *bicepParser) endOfLine() {
	if p.skip(false); p.peek() != '\n' && p.peek() != 0 {
		p.fail("the line goes on with %q", p.peek())
	}
}

// word reads a name, "" where there is none.
func (p *bicepParser) word() string {
	p.skip(false)
	begin := p.at
	for r := p.peek(); r == '_' || unicode.IsLetter(r) || p.at > begin && unicode.IsDigit(r); r = p.peek() {
		p.next()
	}
	return string(p.text[begin:p.at])
}

func (p *bicepParser) name() string {
	w := p.word()
	if w == "" {
		p.fail("a name is expected, not %q", p.peek())
	}
	return w
}

func (p *bicepParser) statement() (s statement) {
	for p.peek() == '@' {
		p.next()
		s.decorators = append(s.decorators, p.expression())
		p.endOfLine()
		p.skip(true)
	}
	s.line, s.keyword = p.line, p.name()
	switch s.keyword {
	case "targetScope":
	case "var":
		s.name = p.name()
	case "param", "output":
		s.name, s.typ = p.name(), p.name()
	case "resource":
		s.name = p.name()
		p.skip(false)
		typ := p.expression()
		if typ.kind != "string" || len(typ.items) > 0 {
			p.fail("the type of a resource is a plain string")
		}
		s.typ = typ.text
		p.skip(false)
		if s.existing = p.word() == "existing"; !s.existing && p.peek() != '=' {
			p.fail("= or existing is expected")
		}
	default:
		p.fail("no statement begins with %s", s.keyword)
	}
	if p.skip(false); s.keyword == "param" && p.peek() != '=' {
		return s
	}
	p.expect('=')
	value := p.expression()
	if s.keyword == "resource" && value.kind != "object" {
		p.fail("the resource %s is not an object", s.name)
	}
	s.value = &value
	return s
}

// expression reads one, with the properties and calls behind it.
func (p *bicepParser) expression() expression {
	p.skip(false)
	e := p.primary()
	for {
		switch p.peek() {
		case '.':
			p.next()
			e = expression{line: p.line, kind: "property", text: p.name(), items: []expression{e}}
		case '(':
			if e.kind != "name" {
				p.fail("only functions by their name can be called")
			}
			e.kind = "call"
			e.items = p.list('(', ')')
		default:
			return e
		}
	}
}

func (p *bicepParser) primary() expression {
	e := expression{line: p.line}
	switch r := p.peek(); {
	case r == '\'':
		e.kind = "string"
		e.text, e.items = p.str()
	case r == '{':
		e.kind = "object"
		e.keys, e.items = p.object()
	case r == '[':
		e.kind = "array"
		e.items = p.list('[', ']')
	case unicode.IsDigit(r):
		e.kind = "number"
		for unicode.IsDigit(p.peek()) {
			e.text += string(p.next())
		}
	default:
		e.kind, e.text = "name", p.name()
	}
	return e
}

// str reads a string and the expressions in it.
func (p *bicepParser) str() (text string, items []expression) {
	var b strings.Builder
	p.next()
	for {
		switch r := p.next(); r {
		case '\'':
			if b.Len() == 0 && len(items) == 0 && p.peek() == '\'' {
				p.fail("strings of several lines are not read here")
			}
			return b.String(), items
		case 0, '\n':
			p.line -= int(r / '\n')
			p.fail("the string does not end in its line")
		case '\\':
			if escaped := p.next(); strings.ContainsRune(`\'nrt$`, escaped) {
				b.WriteRune(escaped)
			} else {
				p.fail(`\%c means nothing in a string`, escaped)
			}
		case '$':
			if p.peek() != '{' {
				b.WriteRune(r)
				continue
			}
			p.next()
			items = append(items, p.expression())
			p.expect('}')
		default:
			b.WriteRune(r)
		}
	}
}

// list reads the items between two brackets, apart by a comma or a line break.
func (p *bicepParser) list(open, end rune) (items []expression) {
	p.expect(open)
	for p.skip(true); p.peek() != end; p.skip(true) {
		items = append(items, p.expression())
		line := p.line
		p.skip(true)
		switch {
		case p.peek() == ',':
			p.next()
		case p.peek() != end && p.line == line:
			p.fail("%q is not expected between items", p.peek())
		}
	}
	p.next()
	return items
}

// object reads properties, each on a line of its own.
func (p *bicepParser) object() (keys []string, values []expression) {
	p.expect('{')
	for p.skip(true); p.peek() != '}'; p.skip(true) {
		key := p.name()
		p.expect(':')
		keys, values = append(keys, key), append(values, p.expression())
		if p.skip(false); p.peek() != '}' {
			p.endOfLine()
		}
		if p.peek() == 0 {
			p.fail("an object does not end")
		}
	}
	p.next()
	return keys, values
}
