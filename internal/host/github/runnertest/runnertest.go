// Package runnertest reads what a step printed and wrote the way GitHub's
// runner does, so that tests can tell what the runner would have done.
//
// The rules are those of actions/runner: ActionCommand and ActionCommandManager
// for standard output, FileCommandManager for files. Like the runner on Linux,
// it knows no other line end in files than LF.
package runnertest

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// commands are those that a runner knows, but for stop-commands.
var commands = []string{
	"add-mask", "add-matcher", "add-path", "debug", "echo", "endgroup", "error", "group",
	"internal-set-repo-path", "notice", "remove-matcher", "save-state", "set-env", "set-output", "warning",
}

// Command is one command that the runner obeyed.
type Command struct {
	Name       string
	Properties map[string]string
	Data       string
}

// Step is what came of a step's standard output.
type Step struct {
	// Commands were obeyed, in order.
	Commands []Command
	// Log are the lines that were shown as they are.
	Log []string
}

// Named returns the data of every command of the name.
func (s Step) Named(name string) []string {
	var data []string
	for _, c := range s.Commands {
		if c.Name == name {
			data = append(data, c.Data)
		}
	}
	return data
}

// Read does what the runner does with a step's standard output.
func Read(stdout string) Step {
	var s Step
	stopped := ""
	for _, line := range lines(stdout) {
		known := append([]string{"stop-commands"}, commands...)
		if stopped != "" {
			known = append(known, stopped)
		}
		c, ok := colons(line, known)
		if !ok {
			c, ok = hashes(line, known)
		}
		switch {
		case !ok, stopped != "" && !strings.EqualFold(c.Name, stopped):
			s.Log = append(s.Log, line)
		case stopped != "":
			stopped = ""
		case strings.EqualFold(c.Name, "stop-commands"):
			stopped = c.Data
		default:
			c.Name = strings.ToLower(c.Name)
			s.Commands = append(s.Commands, c)
		}
	}
	return s
}

// Ignorable reports whether a comparison by culture may look through a
// character. The runner compares so, where its culture data is installed.
func Ignorable(r rune) bool {
	return r != '\n' && r != '\r' && r != '\t' &&
		(unicode.Is(unicode.C, r) || unicode.Is(unicode.M, r) || unicode.Is(unicode.Variation_Selector, r) ||
			unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || r == unicode.ReplacementChar)
}

// ReadLoosely is Read for a runner that looks through every [Ignorable]
// character.
func ReadLoosely(stdout string) Step {
	return Read(strings.Map(func(r rune) rune {
		if Ignorable(r) {
			return -1
		}
		return r
	}, stdout))
}

// lines cuts like StreamReader.ReadLine: at LF, CR and CRLF.
func lines(text string) []string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// colons reads "::name key=value,key=value::data".
func colons(line string, known []string) (Command, bool) {
	line = strings.TrimLeftFunc(line, unicode.IsSpace)
	rest, ok := strings.CutPrefix(line, "::")
	if !ok {
		return Command{}, false
	}
	head, data, ok := strings.Cut(rest, "::")
	if !ok {
		return Command{}, false
	}
	return command(head, data, known, ",", []string{"%0D", "\r", "%0A", "\n"}, []string{"%3A", ":", "%2C", ","})
}

// hashes reads "##[name key=value;key=value]data", anywhere in the line.
func hashes(line string, known []string) (Command, bool) {
	_, rest, ok := strings.Cut(line, "##[")
	if !ok {
		return Command{}, false
	}
	head, data, ok := strings.Cut(rest, "]")
	if !ok {
		return Command{}, false
	}
	escapes := []string{"%3B", ";", "%0D", "\r", "%0A", "\n", "%5D", "]"}
	return command(head, data, known, ";", escapes, nil)
}

func command(head, data string, known []string, separator string, escapes, more []string) (Command, bool) {
	name, properties, _ := strings.Cut(head, " ")
	if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
		return Command{}, false
	}
	c := Command{Name: name, Data: unescape(data, escapes)}
	for property := range strings.SplitSeq(strings.TrimSpace(properties), separator) {
		if key, value, ok := strings.Cut(property, "="); ok && key != "" && value != "" {
			if c.Properties == nil {
				c.Properties = map[string]string{}
			}
			c.Properties[key] = unescape(value, slices.Concat(escapes, more))
		}
	}
	return c, true
}

// unescape replaces one escape after the other and the percent sign last, as
// the runner does.
func unescape(text string, escapes []string) string {
	for i := 0; i < len(escapes); i += 2 {
		text = strings.ReplaceAll(text, escapes[i], escapes[i+1])
	}
	return strings.ReplaceAll(text, "%25", "%")
}

// Output is one output that the runner took from a file.
type Output struct{ Name, Value string }

// Outputs reads the file of GITHUB_OUTPUT. With an error, the runner fails the
// step.
func Outputs(file string) ([]Output, error) {
	var outputs []Output
	next := func() (line string, ok bool) {
		if file == "" {
			return "", false
		}
		line, file, _ = strings.Cut(file, "\n")
		return line, true
	}
	for {
		line, ok := next()
		switch equals, heredoc := strings.Index(line, "="), strings.Index(line, "<<"); {
		case !ok:
			return outputs, nil
		case line == "":
		case equals >= 0 && (heredoc < 0 || equals < heredoc):
			outputs = append(outputs, Output{line[:equals], line[equals+1:]})
		case heredoc >= 0:
			name, delimiter := line[:heredoc], line[heredoc+2:]
			if name == "" || delimiter == "" {
				return outputs, fmt.Errorf("line %q has no name or no delimiter", line)
			}
			var value []string
			for {
				line, ok := next()
				if !ok {
					return outputs, fmt.Errorf("no line %q ends the value of %s", delimiter, name)
				}
				if line == delimiter {
					break
				}
				value = append(value, line)
			}
			outputs = append(outputs, Output{name, strings.Join(value, "\n")})
		default:
			return outputs, fmt.Errorf("line %q is neither name=value nor name<<delimiter", line)
		}
	}
}
