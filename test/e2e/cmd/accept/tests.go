package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/test/e2e"
)

// modulePath is what the import paths of the tree begin with.
const modulePath = "github.com/aks-oneshot/aks-oneshot"

// tests runs `make test`: every test, with the race detector and in a random
// order. The field cases are among them.
func tests(ctx context.Context, t *tree) ([]line, error) {
	r, passed, err := t.results(ctx, "make", "--keep-going", "test", "TESTFLAGS=-json -count=1")
	if err != nil {
		return nil, err
	}
	return append(r.lines("make test (race, shuffled)", passed), r.fieldCases(e2e.Execution)...), nil
}

// results runs a command that prints what go test -json does. passed says that
// the command itself succeeded.
func (t *tree) results(ctx context.Context, name string, args ...string) (r *results, passed bool, err error) {
	cmd := t.command(ctx, nil, name, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, false, err
	}
	if err := cmd.Start(); err != nil {
		return nil, false, err
	}
	r = newResults(t.stderr)
	readErr := r.read(out)
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, false, err
	}
	return r, err == nil, readErr
}

// results are those of tests, by package and name.
type results struct {
	stderr   io.Writer
	outcome  map[test]string
	output   map[test][]string
	packages map[string]string
	// figures are what the tests measured, by name.
	figures map[string]string
}

// test is a test, or a package as a whole when name is "".
type test struct{ pkg, name string }

func newResults(stderr io.Writer) *results {
	return &results{stderr: stderr, outcome: map[test]string{}, output: map[test][]string{}, packages: map[string]string{}, figures: map[string]string{}}
}

// event is what go test -json prints (go doc test2json).
type event struct {
	Action, Package, Test, Output string
}

// read takes in what go test -json prints. What tests print is shown when they
// fail.
func (r *results) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		text, err := lines.ReadString('\n')
		if text != "" {
			r.take(text)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading what the tests print: %w", err)
		}
	}
}

func (r *results) take(text string) {
	var e event
	if json.Unmarshal([]byte(text), &e) != nil || e.Action == "" {
		r.show(text) // make's own words
		return
	}
	at := test{e.Package, e.Test}
	switch e.Action {
	case "output":
		r.figure(e.Output)
		r.output[at] = append(r.output[at], e.Output)
	case "build-output":
		r.show(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.packages[e.Package] = e.Action
		} else {
			r.outcome[at] = e.Action
		}
		if e.Action == "fail" && e.Test == "" {
			r.showUnfinished(e.Package)
		}
		if e.Action == "fail" {
			r.show(strings.Join(r.output[at], ""))
		}
		delete(r.output, at)
	}
}

// figure keeps what a test measured: a line "figure: NAME: VALUE".
func (r *results) figure(text string) {
	rest, ok := strings.CutPrefix(text, "figure: ")
	name, value, found := strings.Cut(strings.TrimSpace(rest), ": ")
	if ok && found {
		r.figures[name] = value
	}
}

// passed reports whether a test, or a subtest, ran and passed. The folder is that
// of its package.
func (r *results) passed(folder, name string) bool {
	return r.outcome[test{modulePath + "/" + folder, name}] == "pass"
}

// showUnfinished shows what the tests of a package printed that did not come to
// an end: they crashed, or hung.
func (r *results) showUnfinished(pkg string) {
	for at, output := range r.output {
		if at.pkg == pkg && at.name != "" {
			r.show(strings.Join(output, ""))
			delete(r.output, at)
		}
	}
}

func (r *results) show(text string) {
	_, _ = io.WriteString(r.stderr, text) // there is nobody else to tell
}

// lines tells what was found. passed says that the command itself succeeded.
func (r *results) lines(what string, passed bool) []line {
	count := map[string]int{}
	var skipped []string
	for t, outcome := range r.outcome {
		count[outcome]++
		if outcome == "skip" {
			skipped = append(skipped, path.Join(strings.TrimPrefix(t.pkg, modulePath+"/"), t.name))
		}
	}
	slices.Sort(skipped)
	failedPackages := 0
	for _, outcome := range r.packages {
		if outcome == "fail" {
			failedPackages++
		}
	}
	return []line{
		{
			ok: passed && count["pass"] > 0 && count["fail"] == 0 && failedPackages == 0, figure: what,
			value: fmt.Sprintf("%d passed, %d failed, %d packages", count["pass"], count["fail"], len(r.packages)), goal: "all pass",
		},
		{
			ok: len(skipped) == 0, figure: "tests left out",
			value: strings.TrimSpace(fmt.Sprintf("%d %s", len(skipped), strings.Join(skipped, " "))), goal: "none",
		},
	}
}

// fieldCases tells of cases, one line each.
func (r *results) fieldCases(cases []e2e.Case) []line {
	var lines []line
	for _, c := range cases {
		lines = append(lines, r.fieldCase(c))
	}
	return lines
}

// fieldCase holds when each of its tests ran and passed.
func (r *results) fieldCase(c e2e.Case) line {
	l := line{ok: true, figure: "field case: " + c.Met, goal: c.Right}
	var good, bad []string
	for folder, names := range c.Tests {
		for _, name := range names {
			if r.passed(folder, name) {
				good = append(good, name)
			} else {
				bad = append(bad, folder+"."+name)
			}
		}
	}
	slices.Sort(good)
	slices.Sort(bad)
	l.value = strings.Join(good, ", ") + ": pass"
	if len(bad) > 0 {
		l.ok, l.value = false, strings.Join(bad, ", ")+": did not pass"
	}
	return l
}
