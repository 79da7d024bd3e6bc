package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Ended is what a step left behind.
type Ended struct {
	// Dir is the step's own folder, and System what ran it.
	Dir    string
	System System
	// Status is the exit status, -1 when a signal ended the process: Signal.
	Status int
	Signal syscall.Signal
	// Stdout and Stderr are what it printed.
	Stdout, Stderr string
	// Outputs are the step's outputs as the runner reads them, OutputFile the
	// file that they come from. Elsewhere than on GitHub they are what standard
	// output says.
	Outputs    map[string]string
	OutputFile string
	// Summary is the job summary in Markdown.
	Summary string
	// State is the file of GITHUB_STATE.
	State string
	// Began and Took are when the process was started and how long it was
	// there.
	Began time.Time
	Took  time.Duration
	// PeakMemory is the largest resident set of the process, in bytes.
	PeakMemory int64
}

// Log is all that the step printed.
func (e *Ended) Log() string { return e.Stdout + e.Stderr }

// Annotations returns the error, warning or notice annotations, unescaped: the
// title, a newline, the message.
func (e *Ended) Annotations(kind string) []string {
	var found []string
	for line := range strings.Lines(e.Stdout) {
		rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "::"+kind)
		if !ok || !strings.HasPrefix(rest, "::") && !strings.HasPrefix(rest, " ") {
			continue
		}
		properties, message, _ := strings.Cut(rest, "::")
		title := strings.TrimPrefix(strings.TrimSpace(properties), "title=")
		found = append(found, property.Replace(title)+"\n"+data.Replace(message))
	}
	return found
}

// How a runner reads the data and the properties of a command
// (actions/toolkit, packages/core/src/command.ts, from the other side).
var (
	data     = strings.NewReplacer("%0A", "\n", "%0D", "\r", "%25", "%")
	property = strings.NewReplacer("%0A", "\n", "%0D", "\r", "%3A", ":", "%2C", ",", "%25", "%")
)

// read reads the files of the step.
func (e *Ended) read() error {
	for name, into := range map[string]*string{"output": &e.OutputFile, "summary": &e.Summary, "state": &e.State} {
		b, err := os.ReadFile(filepath.Join(e.Dir, name))
		if err != nil {
			return err
		}
		*into = string(b)
	}
	var err error
	if e.System == GitHub {
		e.Outputs, err = parseOutputs(e.OutputFile)
	} else {
		e.Outputs, err = parseLines(e.Stdout)
	}
	return err
}

// parseLines reads outputs as a script reads them from standard output:
// name=value a line, where a value that begins with a quote is a JSON string.
func parseLines(text string) (map[string]string, error) {
	outputs := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !found || strings.ContainsAny(name, " :") {
			return nil, fmt.Errorf("standard output has a line that is no output: %q", line)
		}
		if strings.HasPrefix(value, `"`) {
			if err := json.Unmarshal([]byte(value), &value); err != nil {
				return nil, fmt.Errorf("the output %s is no JSON string: %w", name, err)
			}
		}
		outputs[name] = value
	}
	return outputs, nil
}

// parseOutputs reads a file of outputs as the runner does: NAME=value, or
// NAME<<DELIMITER, lines and the delimiter. The last value of a name counts. A
// file that the runner would refuse is an error.
func parseOutputs(file string) (map[string]string, error) {
	outputs := map[string]string{}
	lines := strings.Split(file, "\n")
	for i := 0; i < len(lines); i++ {
		if lines[i] == "" {
			continue
		}
		equals, heredoc := strings.Index(lines[i], "="), strings.Index(lines[i], "<<")
		switch {
		case heredoc > 0 && (equals < 0 || heredoc < equals):
			name, delimiter := lines[i][:heredoc], lines[i][heredoc+2:]
			begin := i + 1
			for i++; i < len(lines) && lines[i] != delimiter; i++ {
			}
			if i == len(lines) || delimiter == "" {
				return nil, fmt.Errorf("the output %s has no end", name)
			}
			outputs[name] = strings.Join(lines[begin:i], "\n")
		case equals > 0:
			outputs[lines[i][:equals]] = lines[i][equals+1:]
		default:
			return nil, fmt.Errorf("the runner cannot read the output %q", lines[i])
		}
	}
	return outputs, nil
}
