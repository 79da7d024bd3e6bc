// Package terminal is the host where there is none: a person, or a script, in
// front of standard output and standard error.
//
// Standard output carries the outputs, one name=value a line, and nothing else,
// so that a script can read it. Everything for people goes to standard error.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/host"
	"github.com/aks-oneshot/aks-oneshot/internal/secret"
)

// Host is a terminal.
type Host struct {
	// Colour has titles of annotations stand out.
	Colour bool

	stdout, stderr io.Writer
	inputs         host.Inputs
	masks          secret.Set
	// mu keeps what is printed whole and in order.
	mu sync.Mutex
	// indent sets the lines of a group off.
	indent string
}

var _ host.Host = (*Host)(nil)

// New returns the host for a process with these two streams and the environment
// that getenv reads. There is colour when standard error is a terminal and
// NO_COLOR is unset (no-color.org).
func New(stdout, stderr io.Writer, getenv func(string) string) *Host {
	return &Host{
		Colour: isTerminal(stderr) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb",
		stdout: stdout,
		stderr: stderr,
		inputs: host.Env(getenv),
	}
}

func isTerminal(w io.Writer) bool {
	if outer, ok := w.(*host.Writer); ok {
		w = outer.Unwrap()
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Input implements [host.Host].
func (h *Host) Input(name string) (value string, given bool) { return h.inputs(name) }

// Mask implements [host.Host].
func (h *Host) Mask(secret string) { h.masks.Add(secret) }

// Hide implements [host.Host].
func (h *Host) Hide(text string) string { return h.masks.Hide(text) }

// Output implements [host.Host]. A value that is not one harmless line is
// written as a JSON string, and so is one that could be taken for one.
func (h *Host) Output(name, value string) error {
	if err := host.CheckOutput(name); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	value, err := oneLine(strings.ToValidUTF8(h.masks.Hide(value), "\uFFFD"))
	if err != nil {
		return fmt.Errorf("could not encode output %s: %w", name, err)
	}
	if _, err := fmt.Fprintf(h.stdout, "%s=%s\n", name, value); err != nil {
		return fmt.Errorf("could not write output %s to standard output: %w", name, err)
	}
	return nil
}

// oneLine returns the value, or its JSON string in ASCII, as one line that no
// CI system obeys.
func oneLine(value string) (string, error) {
	if lines := host.Lines(value); len(lines) == 1 && lines[0] == value && !strings.HasPrefix(value, `"`) {
		return value, nil
	}
	data, err := contract.Canonical(value)
	return strings.ReplaceAll(string(data), "#", `\u0023`), err
}

// Summary implements [host.Host].
func (h *Host) Summary(report host.Report) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.print("", "\n"+report.Plain()); err != nil {
		return fmt.Errorf("could not write the summary to standard error: %w", err)
	}
	return nil
}

// Group implements [host.Host].
func (h *Host) Group(title string) (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.indent = ""
	h.say("", title)
	h.indent = "  "
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.indent = ""
	})
}

// Log implements [host.Host].
func (h *Host) Log(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.say("", text)
}

// Warning implements [host.Host].
func (h *Host) Warning(title, message string) { h.annotate("warning", "33", title, message) }

// Error implements [host.Host].
func (h *Host) Error(title, message string) { h.annotate("error", "31", title, message) }

func (h *Host) annotate(level, colour, title, message string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if title != "" {
		// Where both begin with the same word, such as a code, once is enough.
		if word, rest, found := strings.Cut(message, ": "); found && strings.HasPrefix(title, word+": ") {
			message = rest
		}
		message = title + ": " + message
	}
	h.say(h.paint(level+": ", colour), message)
}

// paint wraps text in a colour (ECMA-48, SGR).
func (h *Host) paint(text, colour string) string {
	if !h.Colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// say prints text where nobody can be told that it could not be printed.
func (h *Host) say(lead, text string) { _ = h.print(lead, text) }

// print writes the lines of text in one go, harmless and without secrets. lead
// is our own and goes before the first line.
func (h *Host) print(lead, text string) error {
	var b strings.Builder
	lines := host.Lines(h.masks.Hide(text))
	for i, line := range lines {
		lines[i] = h.masks.Hide(line)
	}
	for i, line := range host.Bounded(lines) {
		if i > 0 {
			lead = ""
		}
		b.WriteString(h.indent + lead + line + "\n")
	}
	_, err := io.WriteString(h.stderr, b.String())
	return err
}
