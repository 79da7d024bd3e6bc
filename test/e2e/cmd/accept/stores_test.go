package main

import (
	"fmt"
	"strings"
	"testing"
)

// storeMatrix is what the tests of the engine over the stores print.
const storeMatrixOutput = `=== RUN   TestCrashMatrix
    matrix_test.go:134: crash matrix: 5000 schedules, 0 violations
--- PASS: TestCrashMatrix (9.00s)
    stores_matrix_test.go:141: stores none: 10 schedules
    stores_matrix_test.go:141: stores artifact: 20 schedules
    stores_matrix_test.go:141: stores cluster: 30 schedules
    stores_matrix_test.go:141: stores cache: 40 schedules
    stores_matrix_test.go:141: stores artifact without REST+cluster: 50 schedules
    stores_matrix_test.go:141: stores artifact+cache with key, cleanup: 60 schedules
    stores_matrix_test.go:143: crash matrix over the stores: 210 schedules, 0 violations
--- PASS: TestMutations (9.00s)
    --- PASS: TestMutations/no_read-back_before_a_create (1.00s)
--- PASS: TestStoreMutations (9.00s)
    --- PASS: TestStoreMutations/no_checkpoint_in_the_work_folder_is_taken_for_not_dispatched,_whatever_the_stores_have (1.00s)
    --- PASS: TestStoreMutations/that_a_place_could_not_look_everywhere_is_ignored (1.00s)
    --- PASS: TestStoreMutations/a_failure_is_forgotten (1.00s)
--- PASS: TestNamedMutations (9.00s)
    --- PASS: TestNamedMutations/what_is_not_signed_is_believed (1.00s)
`

func TestStoreMatrixLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, old, new string
		passed         bool
		want           string // the verdicts of the three that can be wrong
	}{
		{"as it is to be", "", "", true, "true true true"},
		{"the tests failed", "", "", false, "false false false"},
		{"a violation", "210 schedules, 0", "210 schedules, 1", true, "true false true"},
		{"a violation without stores", "5000 schedules, 0", "5000 schedules, 2", true, "false true true"},
		{"a setting is not there", "    stores_matrix_test.go:141: stores cache: 40 schedules\n", "", true, "true false true"},
		{"a mutation is not found", "--- PASS: TestStoreMutations/a_failure", "--- FAIL: TestStoreMutations/a_failure", true, "true true false"},
		{"one that has to be there is not", "/no_checkpoint_in", "/another_in", true, "true true false"},
	} {
		out := storeMatrixOutput
		if c.old != "" {
			if out = strings.Replace(out, c.old, c.new, 1); out == storeMatrixOutput {
				t.Fatalf("%s: nothing was changed", c.what)
			}
		}
		lines, err := storeMatrixLines(out, c.passed)
		if err != nil {
			t.Fatal(err)
		}
		have := fmt.Sprint(lines[0].ok, lines[1].ok, lines[len(lines)-1].ok)
		if have != c.want {
			t.Errorf("%s: %s, want %s\n%v", c.what, have, c.want, lines)
		}
	}
	for _, bad := range []string{"", strings.ReplaceAll(storeMatrixOutput, "over the stores", "")} {
		if _, err := storeMatrixLines(bad, true); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// rerunResults are those of end-to-end tests that all passed.
func rerunResults(t *testing.T, figures ...string) *results {
	t.Helper()
	var names []string
	for i := range leastScenes {
		names = append(names, fmt.Sprintf("TestStoresKilledAndRerun/m/s/r%d", i))
	}
	names = append(names, "TestStoresKilledAndRerun", "TestStoresRaceOfTwoMachines",
		"TestStoresRounds/none", "TestStoresRounds/artifact", "TestStoresRounds/cluster", "TestStoresRounds/both", "TestStoresRounds/cache")
	for _, l := range named(taken(t)) {
		names = append(names, strings.TrimSuffix(l.value, " did not pass"))
	}
	r := taken(t, events(folder, "pass", names...))
	for _, f := range append([]string{
		fmt.Sprintf("figure: runners lost and runs run again: %d scenes, %d Jobs, 14 refused for want of actions: read", leastScenes, leastScenes),
		"figure: races of two machines: 50 races, 50 Jobs, 100 runs succeeded, 50 of them by the other one's Job, 50 creates of Jobs sent",
		"figure: delays added before dispatch by none: 0", "figure: delays added before dispatch by artifact: 3",
		"figure: delays added before dispatch by cluster: 1", "figure: delays added before dispatch by both: 4",
		"figure: delays added before dispatch by cache: 4",
		"figure: scan for secrets: 400 runs, 4000000 bytes, 2000 secrets issued, 0 found",
	}, figures...) {
		r.figure(f)
	}
	return r
}

// wrong are the figures of the lines that do not hold.
func wrong(lines []line) string {
	var all []string
	for _, l := range lines {
		if !l.ok {
			all = append(all, l.figure)
		}
	}
	return strings.Join(all, "; ")
}

func TestRerunLines(t *testing.T) {
	t.Parallel()
	if have := wrong(rerunLines(rerunResults(t))); have != "" {
		t.Errorf("these do not hold: %s", have)
	}
	for figure, want := range map[string]string{
		fmt.Sprintf("figure: runners lost and runs run again: %d scenes, %d Jobs, 14 refused for want of actions: read", leastScenes, leastScenes+1): "runners lost and runs run again",
		"figure: runners lost and runs run again: 3 scenes, 3 Jobs, 14 refused for want of actions: read":                                            "runners lost and runs run again",
		"figure: races of two machines: 50 races, 51 Jobs, 100 runs succeeded, 50 of them by the other one's Job, 51 creates of Jobs sent":           "races of two machines",
		"figure: races of two machines: 50 races, 50 Jobs, 99 runs succeeded, 50 of them by the other one's Job, 50 creates of Jobs sent":            "races of two machines",
		"figure: delays added before dispatch by artifact: 4":                                                                                        "delays added before dispatch by artifact",
		"figure: delays added before dispatch by cache: 5":                                                                                           "delays added before dispatch by cache",
		"figure: delays added before dispatch by cluster: 2":                                                                                         "delays added before dispatch by cluster",
		"figure: scan for secrets: 400 runs, 4000000 bytes, 2000 secrets issued, 1 found":                                                            "scan for secrets",
	} {
		if have := wrong(rerunLines(rerunResults(t, figure))); have != want {
			t.Errorf("%s: what does not hold is %q", figure, have)
		}
	}
	r := rerunResults(t)
	r.outcome[test{modulePath + "/" + folder, "TestStoresKilledAndRerun/m/s/r3"}] = "fail"
	if have := wrong(rerunLines(r)); !strings.HasPrefix(have, "lost and run again") {
		t.Errorf("a scene that failed: what does not hold is %q", have)
	}
	r = rerunResults(t)
	delete(r.outcome, test{modulePath + "/" + folder, "TestStoresDisagree"})
	if have := wrong(rerunLines(r)); have != "two stores disagree" {
		t.Errorf("a test that did not run: what does not hold is %q", have)
	}
	if have := rerunLines(taken(t)); strings.Count(wrong(have), ";")+1 != len(have) {
		t.Errorf("nothing ran, and only these do not hold: %s", wrong(have))
	}
}

func TestPeerLines(t *testing.T) {
	t.Parallel()
	r := taken(t, events("test/peers", "pass", "TestAzurite"), events("test/peers/act", "pass", "TestAct"))
	if have := wrong(peerLines(r)); have != "" {
		t.Errorf("these do not hold: %s", have)
	}
	r = taken(t, events("test/peers", "pass", "TestAzurite"), events("test/peers/act", "skip", "TestAct"))
	if have := wrong(peerLines(r)); have != "nektos/act's artifact server" {
		t.Errorf("one that was left out: %s", have)
	}
	if have := wrong(peerLines(taken(t, events("test/peers", "fail", "TestAzurite")))); have != "azurite and the official clients; nektos/act's artifact server" {
		t.Errorf("one that failed: %s", have)
	}
}
