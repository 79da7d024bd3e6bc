package main

import "strings"

// logView shows the lines of a step as the page of a workflow run does: the
// commands among them are carried out, not shown, and what was masked is not
// seen.
type logView struct {
	style style
	masks []string
}

// How a runner reads the data of a command (actions/toolkit,
// packages/core/src/command.ts, from the other side).
var commandData = strings.NewReplacer("%0A", "\n", "%0D", "\r", "%25", "%")

// show returns what there is to see of a line: nothing, or some lines.
func (v *logView) show(line string) []string {
	rest, ok := strings.CutPrefix(line, "::")
	if !ok {
		return []string{v.masked(line)}
	}
	command, data, ok := strings.Cut(rest, "::")
	if !ok {
		return []string{v.masked(line)}
	}
	data = commandData.Replace(data)
	command, _, _ = strings.Cut(command, " ")
	switch command {
	case "add-mask":
		v.masks = append(v.masks, data)
		return nil
	case "group":
		return []string{v.style.bold("▾ " + v.masked(data))}
	case "endgroup":
		return nil
	case "error":
		return v.annotation("Error: ", v.style.bad, data)
	case "warning":
		return v.annotation("Warning: ", v.style.bold, data)
	case "notice":
		return v.annotation("Notice: ", v.style.bold, data)
	}
	return []string{v.masked(line)}
}

func (v *logView) annotation(kind string, set func(string) string, data string) []string {
	var lines []string
	for i, line := range strings.Split(v.masked(data), "\n") {
		if i == 0 {
			line = kind + line
		}
		for _, part := range wrap(line, width) {
			lines = append(lines, set(part))
		}
	}
	return lines
}

func (v *logView) masked(text string) string {
	for _, mask := range v.masks {
		if mask != "" {
			text = strings.ReplaceAll(text, mask, "***")
		}
	}
	return text
}
