package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// line is one line of an input, or one item of its JSON list, with its place:
// the nth (from 1) of its unit.
type line struct {
	text string
	unit string
	n    int
}

func (l line) at() string { return fmt.Sprintf("%s %d", l.unit, l.n) }

// splitLines returns the lines of a multi-line input. Windows line ends, and
// line ends after the last line (a YAML block has one), do not matter: not half
// a one either, which is what is left when a shell or a runner cuts the last "\n".
func splitLines(value string) []line {
	value = strings.TrimRight(strings.ReplaceAll(value, "\r\n", "\n"), "\r\n")
	if value == "" {
		return nil
	}
	var out []line
	for i, text := range strings.Split(value, "\n") {
		out = append(out, line{text, "line", i + 1})
	}
	return out
}

// readList reads an input that is one argument a line or a JSON list.
func readList(p *problems, input, value string) []line {
	if !strings.HasPrefix(strings.TrimSpace(value), "[") {
		return splitLines(value)
	}
	v, err := contract.Parse([]byte(value))
	if err != nil {
		p.add(input, "begins with [ but is no JSON list: %w", err).
			Fix = "An argument that begins with [ is written in a JSON list"
		return nil
	}
	var out []line
	for i, item := range v.([]any) {
		text, ok := item.(string)
		if !ok {
			p.add(input, "item %d of the JSON list is no string", i+1)
			continue
		}
		out = append(out, line{text, "item", i + 1})
	}
	return out
}

// readEnvironment reads NAME=value lines. Lines with nothing on them do not
// matter. The result maps each name to its line, whose text is the value.
func readEnvironment(p *problems, input, value string) map[string]line {
	out := map[string]line{}
	for _, l := range splitLines(value) {
		if strings.TrimSpace(l.text) == "" {
			continue
		}
		name, text, ok := strings.Cut(l.text, "=")
		if !ok {
			p.add(input, "%s is not NAME=value", l.at())
			continue
		}
		if earlier, twice := out[name]; twice {
			p.add(input, "%s sets %q, which %s has set", l.at(), name, earlier.at())
			continue
		}
		out[name] = line{text, l.unit, l.n}
	}
	return out
}

// readEnvironments reads a JSON list of objects of strings. The lines of the
// nth result say that they are from its nth item.
func readEnvironments(p *problems, input, value string) []map[string]line {
	if value == "" {
		return nil
	}
	v, err := contract.Parse([]byte(value))
	if err != nil {
		p.add(input, "cannot be read: %w", err)
		return nil
	}
	items, ok := v.([]any)
	if !ok {
		p.add(input, "is no JSON list of objects")
		return nil
	}
	out := make([]map[string]line, len(items))
	for i, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			p.add(input, "item %d is no JSON object of strings", i+1)
			continue
		}
		out[i] = map[string]line{}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			text, ok := object[name].(string)
			if !ok {
				p.add(input, "item %d: the value of %q is no string", i+1, name)
				continue
			}
			out[i][name] = line{text, "item", i + 1}
		}
	}
	return out
}
