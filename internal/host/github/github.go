// Package github is the host for a step of a GitHub workflow.
//
// Commands on standard output go through go-githubactions. The files for
// outputs and the summary are written here: the library's heredoc delimiter is
// fixed, so that a value could end it and add outputs of its own, it panics
// when a file cannot be written, and it lets a summary grow until GitHub drops
// it. So are id tokens: the library asks once, over any scheme, masks nothing and
// takes an empty answer for a token.
package github

import (
	"crypto/rand"
	"io"
	"strings"
	"sync"

	"github.com/sethvargo/go-githubactions"

	"github.com/aks-oneshot/aks-oneshot/internal/host"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
	"github.com/aks-oneshot/aks-oneshot/internal/secret"
)

// Host is a step of a GitHub workflow.
type Host struct {
	action *githubactions.Action
	getenv func(string) string
	inputs host.Inputs
	masks  secret.Set

	// idTokens is how id tokens are asked for.
	idTokens idTokens

	// random returns a text that nobody can guess.
	random func() string
	// mu keeps what is printed and written whole and in order.
	mu sync.Mutex
	// warned holds the files whose absence has been told.
	warned map[string]bool
}

var (
	_ host.Host     = (*Host)(nil)
	_ host.IDTokens = (*Host)(nil)
)

// New returns the host for the step whose environment getenv reads and whose
// standard output is w. What w fails to take is lost: a log that cannot be
// written must not end a run.
func New(w io.Writer, getenv func(string) string) *Host {
	return &Host{
		action: githubactions.New(
			githubactions.WithWriter(heedless{w}),
			githubactions.WithGetenv(getenv),
		),
		getenv:   getenv,
		inputs:   host.Env(getenv),
		idTokens: newIDTokens(network.ClientOptions{}),
		random:   rand.Text,
		warned:   map[string]bool{},
	}
}

// Input implements [host.Host].
func (h *Host) Input(name string) (value string, given bool) { return h.inputs(name) }

// Mask implements [host.Host]. The runner is told too: it hides the secret in
// what other steps of the job print.
func (h *Host) Mask(secret string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.masks.Add(secret) {
		h.action.AddMask(s)
	}
}

// Hide implements [host.Host].
func (h *Host) Hide(text string) string { return h.masks.Hide(text) }

// Group implements [host.Host].
func (h *Host) Group(title string) (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.action.Group(h.oneLine(title))
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.action.EndGroup()
	})
}

// Log implements [host.Host].
func (h *Host) Log(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log(text)
}

func (h *Host) log(text string) {
	for _, line := range h.lines(text) {
		h.action.Infof("%s", line)
	}
}

// Warning implements [host.Host].
func (h *Host) Warning(title, message string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.warning(title, message)
}

func (h *Host) warning(title, message string) {
	h.titled(title).Warningf("%s", h.text(message))
}

// Error implements [host.Host].
func (h *Host) Error(title, message string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.titled(title).Errorf("%s", h.text(message))
}

// titled returns the action with a title for the annotation that comes next.
func (h *Host) titled(title string) *githubactions.Action {
	if title == "" {
		return h.action
	}
	return h.action.WithFieldsMap(map[string]string{"title": h.oneLine(title)})
}

// lines returns text as lines that are harmless and hold no secret. It hides
// twice, since a secret can be broken up by characters that fall away.
func (h *Host) lines(text string) []string {
	lines := host.Lines(h.masks.Hide(text))
	for i, line := range lines {
		lines[i] = h.masks.Hide(line)
	}
	return host.Bounded(lines)
}

// text and oneLine are lines for the data of a command, which the library
// escapes. The runner repeats annotations in the log, where they have to be
// harmless once more.
func (h *Host) text(message string) string  { return strings.Join(h.lines(message), "\n") }
func (h *Host) oneLine(title string) string { return strings.Join(h.lines(title), " ") }

// heedless takes everything, whether or not the writer below did: the library
// panics on a write that fails.
type heedless struct{ w io.Writer }

// Write implements [io.Writer].
func (h heedless) Write(p []byte) (int, error) {
	_, _ = h.w.Write(p) // The log is gone; the records are not, and they count.
	return len(p), nil
}
