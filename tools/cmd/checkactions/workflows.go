package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rhysd/actionlint"
	"go.yaml.in/yaml/v3"
)

// workflows checks workflows as GitHub would read them.
type workflows struct {
	linter  *actionlint.Linter
	project *actionlint.Project
}

func newWorkflows(root string) (*workflows, error) {
	// actionlint finds an action by its folder, from the root of the project.
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	opts := &actionlint.LinterOptions{
		WorkingDir: root,
		// It looks for the entrypoint in the tree; it is in the image, and checked there.
		IgnorePatterns: []string{`it is specified at "entrypoint" key`},
	}
	if path, err := exec.LookPath("shellcheck"); err == nil {
		opts.Shellcheck = path // the scripts in `run:`
	}
	linter, err := actionlint.NewLinter(io.Discard, opts)
	if err != nil {
		return nil, err
	}
	project, err := actionlint.NewProject(root)
	if err != nil {
		return nil, err
	}
	return &workflows{linter: linter, project: project}, nil
}

// lint returns the findings in one workflow.
func (w *workflows) lint(name string, text []byte) (found []string, err error) {
	errs, err := w.linter.Lint(name, text, w.project)
	for _, e := range errs {
		found = append(found, fmt.Sprintf("%s:%d:%d: %s [%s]", name, e.Line, e.Column, e.Message, e.Kind))
	}
	return found, err
}

var (
	fence = regexp.MustCompile("(?ms)^([ \t]*)```ya?ml[ \t]*\n(.*?)^[ \t]*```[ \t]*$")
	// ourselves is this action as a reader of the documents names it. In the
	// tree it is the action of the root folder.
	ourselves = regexp.MustCompile(`uses:[ \t]*aks-oneshot/aks-oneshot@[^\s'"]+`)
)

// document returns the findings in the YAML blocks of a Markdown file.
func (w *workflows) document(name, text string, act *action) (found []string, err error) {
	for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
		indent, block := text[at[2]:at[3]], text[at[4]:at[5]]
		block = strings.ReplaceAll("\n"+block, "\n"+indent, "\n")[1:]
		// Blank lines in front, so that positions are those in the document.
		before := strings.Repeat("\n", strings.Count(text[:at[4]], "\n"))
		problems, err := w.block(name, []byte(before+block), act)
		if err != nil {
			return found, err
		}
		found = append(found, problems...)
	}
	return found, nil
}

func (w *workflows) block(name string, text []byte, act *action) (found []string, err error) {
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return append(found, fmt.Sprintf("%s: a YAML block does not parse: %v", name, err)), nil
		}
		if top := node.Content[0]; value(top, "jobs") != nil && value(top, "on") != nil {
			return w.lint(name, ourselves.ReplaceAll(text, []byte("uses: ./")))
		}
		for problem := range steps(&node, act) {
			found = append(found, name+problem)
		}
	}
	return found, nil
}

// steps yields what is wrong with the steps below node that use this action, as
// ":line:column: problem". Without a readable action there is nothing to say.
func steps(node *yaml.Node, act *action) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if uses := value(node, "uses"); act != nil && uses != nil && ourselves.MatchString("uses: "+uses.Value) {
			given := map[string]bool{}
			if with := value(node, "with"); with != nil {
				for i := 0; i+1 < len(with.Content); i += 2 {
					key := with.Content[i]
					given[key.Value] = true
					if _, known := act.Inputs[key.Value]; !known && !yield(fmt.Sprintf(":%d:%d: the action has no input %s", key.Line, key.Column, key.Value)) {
						return
					}
				}
			}
			for _, name := range slices.Sorted(maps.Keys(act.Inputs)) {
				if act.Inputs[name].Required && !given[name] && !yield(fmt.Sprintf(":%d:%d: the required input %s is missing", uses.Line, uses.Column, name)) {
					return
				}
			}
		}
		for _, child := range node.Content {
			for problem := range steps(child, act) {
				if !yield(problem) {
					return
				}
			}
		}
	}
}

// value is that of a key in a mapping, nil where there is none.
func value(node *yaml.Node, key string) *yaml.Node {
	if node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}
