package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/e2e"
)

// verdicts spells lines for a comparison.
func verdicts(lines []line) string {
	var all []string
	for _, l := range lines {
		all = append(all, fmt.Sprintf("%t %s: %s", l.ok, l.figure, l.value))
	}
	return strings.Join(all, "\n")
}

func TestVectorLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		out    string
		passed bool
		want   string
	}{
		{"=== RUN\nvectors: 181 passed, 0 failed\nok\n", true, "true vectors of the reference: 181 passed, 0 failed"},
		{"vectors: 180 passed, 1 failed\nFAIL\n", false, "false vectors of the reference: 180 passed, 1 failed"},
		{"vectors: 181 passed, 0 failed\nFAIL\n", false, "false vectors of the reference: 181 passed, 0 failed"},
		{"vectors: 0 passed, 0 failed\nok\n", true, "false vectors of the reference: 0 passed, 0 failed"},
	} {
		lines, err := vectorLines(c.out, c.passed)
		if have := verdicts(lines); have != c.want || err != nil {
			t.Errorf("%q gives %s, %v\nwant %s", c.out, have, err, c.want)
		}
	}
	if _, err := vectorLines("ok\n", true); err == nil {
		t.Error("no figure is no error")
	}
}

func TestMatrixLines(t *testing.T) {
	t.Parallel()
	const mutations = "--- PASS: TestMutations (9s)\n" +
		"    --- PASS: TestMutations/no_read-back_before_a_create (4s)\n" +
		"    --- PASS: TestMutations/the_intent_is_recorded_after_the_create (2s)\n"
	for _, c := range []struct {
		out    string
		passed bool
		want   string
	}{
		{
			"    x_test.go:121: crash matrix: 37563 schedules, 0 violations\n" + mutations, true,
			"true crash matrix: 37563 schedules, 0 violations\ntrue mutations of the engine: 2 of 2 found",
		},
		{
			"    x_test.go:121: crash matrix: 37563 schedules, 2 violations\n" + mutations, false,
			"false crash matrix: 37563 schedules, 2 violations\nfalse mutations of the engine: 2 of 2 found",
		},
		{
			"crash matrix: 10 schedules, 0 violations\n" + mutations + "    --- FAIL: TestMutations/another (2s)\n", false,
			"false crash matrix: 10 schedules, 0 violations\nfalse mutations of the engine: 2 of 3 found",
		},
		{ // the one that matters is not among them
			"crash matrix: 10 schedules, 0 violations\n    --- PASS: TestMutations/another (2s)\n", true,
			"true crash matrix: 10 schedules, 0 violations\nfalse mutations of the engine: 1 of 1 found",
		},
	} {
		lines, err := matrixLines(c.out, c.passed)
		if have := verdicts(lines); have != c.want || err != nil {
			t.Errorf("%q gives\n%s, %v\nwant\n%s", c.out, have, err, c.want)
		}
	}
	if _, err := matrixLines("ok\n", true); err == nil {
		t.Error("no figure is no error")
	}
}

const benchFile = `{"schema": "aks-oneshot.bench/v1", "rounds": 7, "figures": [
	{"name": "start_to_create", "title": "start to created Job", "unit": "ms", "aks_oneshot": {"value": 61.25}, "ratio": 0.05,
	 "goal": {"text": "at most 1/4 of kubectl's", "of": "ratio", "limit": 0.25, "met": true}},
	{"name": "detection", "title": "detection", "unit": "ms", "aks_oneshot": {"value": 12}, "goal": {"text": "g", "of": "value", "met": true}},
	{"name": "replay", "title": "replay", "unit": "ms", "aks_oneshot": {"value": 70}, "goal": {"text": "under 60 ms", "of": "value", "met": false}},
	{"name": "run_requests", "title": "requests", "unit": "requests", "aks_oneshot": {"value": 5}},
	{"name": "wait_requests", "title": "waiting", "unit": "requests", "aks_oneshot": {"value": 2}, "goal": {"text": "g", "of": "value", "met": true}},
	{"name": "peak_memory", "title": "peak memory", "unit": "MiB", "aks_oneshot": {"value": 14}, "goal": {"text": "g", "of": "value", "met": true}}
]}`

func TestBenchLines(t *testing.T) {
	t.Parallel()
	lines, err := benchLines([]byte(benchFile))
	const want = `true rounds of the benchmark: 7
true start to created Job: 61.2 ms, 0.050 of kubectl's
true detection: 12.0 ms
false replay: 70.0 ms
true waiting: 2.0 requests
true peak memory: 14.0 MiB
false binary_size: not measured`
	if have := verdicts(lines); have != want || err != nil {
		t.Errorf("the lines are\n%s, %v\nwant\n%s", have, err, want)
	}
	few, err := benchLines([]byte(strings.Replace(benchFile, `"rounds": 7`, `"rounds": 6`, 1)))
	if err != nil || few[0].ok {
		t.Errorf("6 rounds give %v, %v", few, err)
	}
	for _, bad := range []string{"", `{"schema": "another"}`} {
		if _, err := benchLines([]byte(bad)); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
}

// testEvents is what go test prints of tests that all pass.
func testEvents(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, c := range e2e.Execution {
		for folder, names := range c.Tests {
			for _, name := range names {
				fmt.Fprintf(&b, `{"Action":"output","Package":"%s/%s","Test":"%s","Output":"quiet\n"}`+"\n", modulePath, folder, name)
				fmt.Fprintf(&b, `{"Action":"pass","Package":"%s/%s","Test":"%s"}`+"\n", modulePath, folder, name)
			}
		}
	}
	return b.String() + `{"Action":"pass","Package":"` + modulePath + `/internal/oneshot"}` + "\n"
}

func TestResults(t *testing.T) {
	t.Parallel()
	const pkg = modulePath + "/internal/oneshot"
	all := testEvents(t)
	for name, c := range map[string]struct {
		out    string
		passed bool
		// failed are the figures that do not hold, shown is what is shown.
		failed, shown string
	}{
		"good":        {all, true, "", ""},
		"make's word": {all + "==> tests\n", true, "", "==> tests\n"},
		"failed": {
			all + `{"Action":"output","Package":"` + pkg + `","Test":"TestX","Output":"broken\n"}` + "\n" +
				`{"Action":"fail","Package":"` + pkg + `","Test":"TestX"}` + "\n",
			false, "make test (race, shuffled)", "broken\n",
		},
		"does not build": {
			all + `{"Action":"build-output","ImportPath":"x","Output":"syntax error\n"}` + "\n" + `{"Action":"fail","Package":"` + pkg + `"}` + "\n",
			false, "make test (race, shuffled)", "syntax error\n",
		},
		"crashed": {
			all + `{"Action":"output","Package":"` + pkg + `","Test":"TestX","Output":"panic: x\n"}` + "\n" +
				`{"Action":"output","Package":"` + pkg + `","Output":"FAIL\n"}` + "\n" + `{"Action":"fail","Package":"` + pkg + `"}` + "\n",
			false, "make test (race, shuffled)", "panic: x\nFAIL\n",
		},
		"left out": {all + `{"Action":"skip","Package":"` + pkg + `","Test":"TestX"}` + "\n", true, "tests left out", ""},
		"case is gone": {
			strings.ReplaceAll(all, `"TestJobBeingDeleted"`, `"TestAnother"`), true, "field case", "",
		},
		"nothing": {"", true, "make test (race, shuffled)" + strings.Repeat(", field case", len(e2e.Execution)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var shown bytes.Buffer
			r := newResults(&shown)
			if err := r.read(strings.NewReader(c.out)); err != nil {
				t.Fatal(err)
			}
			var failed []string
			for _, l := range append(r.lines("make test (race, shuffled)", c.passed), r.fieldCases(e2e.Execution)...) {
				if !l.ok {
					name, _, _ := strings.Cut(l.figure, ": ")
					failed = append(failed, name)
				}
			}
			if have := strings.Join(failed, ", "); have != c.failed || shown.String() != c.shown {
				t.Errorf("what does not hold: %q, want %q\nshown: %q, want %q", have, c.failed, shown.String(), c.shown)
			}
		})
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]int{
		"-only=nothing": 2, "-suite=nothing": 2, "-suite=credentials -only=vectors": 2, "-no": 2, "-help": 0,
	} {
		if have := realMain(t.Context(), strings.Fields(args), io.Discard, io.Discard); have != want {
			t.Errorf("accept %s ends with %d, want %d", args, have, want)
		}
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	good := func(context.Context, *tree) ([]line, error) {
		return []line{{ok: true, figure: "f", value: "v", goal: "g"}}, nil
	}
	bad := func(context.Context, *tree) ([]line, error) { return []line{{figure: "f", value: "v", goal: "g"}}, nil }
	broken := func(context.Context, *tree) ([]line, error) { return nil, errors.New("no compiler") }
	empty := func(context.Context, *tree) ([]line, error) { return nil, nil }
	for _, c := range []struct {
		checks []check
		status int
		says   string
	}{
		{[]check{{"a", good}, {"b", good}}, 0, "2 figures, all of it holds"},
		{[]check{{"a", bad}, {"b", good}}, 1, "2 figures, 1 of it FAILED"},
		{[]check{{"a", broken}, {"b", good}}, 1, "no compiler"},
		{[]check{{"a", empty}}, 1, "nothing was measured"},
	} {
		var out bytes.Buffer
		status := accept(t.Context(), &tree{stderr: io.Discard}, c.checks, &out)
		if status != c.status || !strings.Contains(out.String(), c.says) {
			t.Errorf("status %d, want %d, and %q in\n%s", status, c.status, c.says, out.String())
		}
	}
}

// TestStoppedCommand: what a command started ends with it, and with it the last
// writer of the pipe.
func TestStoppedCommand(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd := (&tree{root: t.TempDir(), stderr: io.Discard}).command(ctx, nil, "sh", "-c", "sleep 60 & echo started; wait")
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscan(in, new(string)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := cmd.Wait(); err == nil {
		t.Error("the command ended well")
	}
	if err := in.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(in); err != nil {
		t.Errorf("what the command started goes on: %v", err)
	}
}
