// Command checkactions checks what GitHub reads from this repository, and what
// its documents tell people to give to GitHub:
//
//   - action.yml: only keys that a Docker action knows, everything described, and
//     a program that the Dockerfile installs;
//   - the Dockerfile: no ENTRYPOINT, no frontend to be pulled;
//   - the workflows in .github/workflows, with actionlint;
//   - every YAML block in a Markdown file: it parses; a workflow passes
//     actionlint; a step that uses this action gives it only inputs it has.
//
// Its argument is the root of the tree. It prints one line for each finding and
// ends with status 1 when there is one.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: checkactions ROOT")
		os.Exit(2)
	}
	findings, err := check(os.Args[1], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "checkactions:", err)
		os.Exit(2)
	}
	if findings > 0 {
		os.Exit(1)
	}
}

// check prints the findings in the tree at root and returns how many there are.
// An error means that it could not look at all.
func check(root string, out io.Writer) (findings int, err error) {
	report := func(format string, args ...any) {
		findings++
		line := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
		fmt.Fprintln(out, line)
	}
	act, err := readAction(filepath.Join(root, "action.yml"))
	if err != nil {
		report("action.yml: %v", err)
	}
	docker, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		return findings, err
	}
	problems := imageProblems(string(docker))
	if act != nil {
		problems = append(problems, act.problems(string(docker))...)
	}
	for _, problem := range problems {
		report("%s", problem)
	}
	linter, err := newWorkflows(root)
	if err != nil {
		return findings, err
	}
	workflows, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.y*ml"))
	if err != nil {
		return findings, err
	}
	documents, err := markdown(root)
	if err != nil {
		return findings, err
	}
	for _, path := range slices.Concat(workflows, documents) {
		text, err := os.ReadFile(path)
		if err != nil {
			return findings, err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return findings, err
		}
		if filepath.Ext(path) == ".md" {
			problems, err = linter.document(name, string(text), act)
		} else {
			problems, err = linter.lint(name, text)
		}
		if err != nil {
			return findings, fmt.Errorf("could not check %s: %w", name, err)
		}
		for _, problem := range problems {
			report("%s", problem)
		}
	}
	if len(workflows) == 0 {
		return findings, errors.New("no workflow in .github/workflows: is this the root of the tree?")
	}
	return findings, nil
}

// markdown lists the documents that belong to the project.
func markdown(root string) (paths []string, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "bin", "vendor", "testdata", "node_modules"}, entry.Name()):
			return filepath.SkipDir
		case filepath.Ext(path) == ".md":
			paths = append(paths, path)
		}
		return nil
	})
	return paths, err
}
