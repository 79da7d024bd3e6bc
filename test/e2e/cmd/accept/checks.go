package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

var (
	vectorLine = regexp.MustCompile(`(?m)^vectors: ([0-9]+) passed, ([0-9]+) failed$`)
	matrixLine = regexp.MustCompile(`crash matrix: ([0-9]+) schedules, ([0-9]+) violations`)
	mutantLine = regexp.MustCompile(`(?m)^\s+--- (PASS|FAIL): TestMutations/(\S+)`)
)

// vectors replays what the reference did.
func vectors(ctx context.Context, t *tree) ([]line, error) {
	out, passed, err := t.output(ctx, nil, "go", "test", "-count=1", "-run", "TestVectors", "-v", "./internal/conformance")
	if err != nil {
		return nil, err
	}
	return vectorLines(out, passed)
}

func vectorLines(out string, passed bool) ([]line, error) {
	all := vectorLine.FindAllStringSubmatch(out, -1)
	if len(all) != 1 {
		return nil, errors.New("the vectors' tests do not say how many there are")
	}
	good, bad := number(all[0][1]), number(all[0][2])
	return []line{{
		ok: passed && good > 0 && bad == 0, figure: "vectors of the reference",
		value: fmt.Sprintf("%d passed, %d failed", good, bad), goal: "all pass",
	}}, nil
}

// matrix plays the engine through every schedule of faults, and through
// mutations of itself.
func matrix(ctx context.Context, t *tree) ([]line, error) {
	out, passed, err := t.output(ctx, []string{"ONESHOT_MATRIX=full"}, "go", "test", "-count=1", "-timeout", "30m",
		"-run", "^(TestCrashMatrix|TestMutations)$", "-v", "./internal/oneshot")
	if err != nil {
		return nil, err
	}
	return matrixLines(out, passed)
}

// mustFind are the mutations that the matrix has to find whatever else it does.
var mustFind = []string{"no_read-back_before_a_create", "the_intent_is_recorded_after_the_create"}

func matrixLines(out string, passed bool) ([]line, error) {
	all := matrixLine.FindAllStringSubmatch(out, -1)
	if len(all) != 1 {
		return nil, errors.New("the crash matrix does not say how many schedules it ran")
	}
	schedules, violations := number(all[0][1]), number(all[0][2])
	found, mutations := map[string]bool{}, 0
	for _, m := range mutantLine.FindAllStringSubmatch(out, -1) {
		mutations++
		if m[1] == "PASS" {
			found[m[2]] = true
		}
	}
	both := true
	for _, name := range mustFind {
		both = both && found[name]
	}
	return []line{
		{
			ok: passed && schedules > 0 && violations == 0, figure: "crash matrix",
			value: fmt.Sprintf("%d schedules, %d violations", schedules, violations), goal: "0 violations",
		},
		{
			ok: passed && both && len(found) == mutations, figure: "mutations of the engine",
			value: fmt.Sprintf("%d of %d found", len(found), mutations), goal: "all found, the lost read-back and the late intent among them",
		},
	}, nil
}

func lint(ctx context.Context, t *tree) ([]line, error) {
	_, passed, err := t.output(ctx, nil, "make", "lint")
	if err != nil {
		return nil, err
	}
	value := "clean"
	if !passed {
		value = "findings, or it could not run"
	}
	return []line{{ok: passed, figure: "make lint", value: value, goal: "clean"}}, nil
}

// bench measures the action beside kubectl.
func bench(ctx context.Context, t *tree) ([]line, error) {
	b, err := t.bench(ctx)
	if err != nil {
		return nil, err
	}
	return benchLines(b)
}

// bench runs the benchmark, shows what it prints and returns the file that it
// writes.
func (t *tree) bench(ctx context.Context, args ...string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "accept-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "bench.json")
	args = append([]string{"-C", "test/e2e", "run", "./cmd/bench"}, args...)
	out, passed, err := t.output(ctx, []string{"BENCH_OUT=" + path}, "go", args...)
	if err != nil {
		return nil, err
	}
	if !passed {
		return nil, errors.New("the benchmark could not be carried out")
	}
	for l := range strings.Lines(out) {
		t.say("%s", strings.TrimRight(l, "\n"))
	}
	return os.ReadFile(path)
}

// benchResult is what is needed of the file that the benchmark writes.
type benchResult struct {
	Schema  string
	Rounds  int
	Figures []struct {
		Name, Title, Unit string
		Action            struct{ Value float64 } `json:"aks_oneshot"`
		Ratio             *float64
		Goal              *struct {
			Text, Of string
			Met      bool
		}
	}
}

// withGoal are the figures that have a goal.
var withGoal = []string{"start_to_create", "detection", "replay", "wait_requests", "peak_memory", "binary_size"}

func benchLines(b []byte) ([]line, error) {
	var r benchResult
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("the benchmark's file cannot be read: %w", err)
	}
	const schema = "aks-oneshot.bench/v1"
	if r.Schema != schema {
		return nil, fmt.Errorf("the benchmark's file is %q, want %q", r.Schema, schema)
	}
	lines := []line{{ok: r.Rounds >= 7, figure: "rounds of the benchmark", value: strconv.Itoa(r.Rounds), goal: "at least 7"}}
	seen := map[string]bool{}
	for _, f := range r.Figures {
		if f.Goal == nil {
			continue
		}
		seen[f.Name] = true
		value := fmt.Sprintf("%.1f %s", f.Action.Value, f.Unit)
		if f.Goal.Of == "ratio" && f.Ratio != nil {
			value += fmt.Sprintf(", %.3f of kubectl's", *f.Ratio)
		}
		lines = append(lines, line{ok: f.Goal.Met, figure: f.Title, value: value, goal: f.Goal.Text})
	}
	for _, name := range withGoal {
		if !seen[name] {
			lines = append(lines, line{figure: name, value: "not measured", goal: "measured"})
		}
	}
	return lines, nil
}

// number reads digits.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1 // more than any goal allows
	}
	return n
}
