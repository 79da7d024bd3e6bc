package main

import (
	"io"
	"os"
)

// style is how words are set off: with colour on a terminal, not at all
// elsewhere.
type style struct{ colour bool }

// styleFor follows https://no-color.org and what the terminal says of itself.
func styleFor(w io.Writer, getenv func(string) string) style {
	f, ok := w.(*os.File)
	if !ok || getenv("NO_COLOR") != "" || getenv("TERM") == "dumb" || getenv("TERM") == "" {
		return style{}
	}
	info, err := f.Stat()
	return style{colour: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

func (s style) set(code, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string  { return s.set("1", text) }
func (s style) faint(text string) string { return s.set("2", text) }
func (s style) good(text string) string  { return s.set("32", text) }
func (s style) bad(text string) string   { return s.set("31", text) }
func (s style) step(text string) string  { return s.set("1;36", text) }
