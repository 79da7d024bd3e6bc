package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/test/e2e"
)

var (
	storeMatrixLine   = regexp.MustCompile(`crash matrix over the stores: ([0-9]+) schedules, ([0-9]+) violations`)
	storeSettingLine  = regexp.MustCompile(`(?m)stores ([A-Za-z+ ,-]+): ([0-9]+) schedules$`)
	storeMutationLine = regexp.MustCompile(`(?m)^\s+--- (PASS|FAIL): (TestMutations|TestStoreMutations|TestNamedMutations)/(\S+)`)
)

// storeMatrix plays the engine over the stores through every schedule of faults,
// and through mutations of both.
func storeMatrix(ctx context.Context, t *tree) ([]line, error) {
	out, passed, err := t.output(ctx, []string{"ONESHOT_MATRIX=full"}, "go", "test", "-count=1", "-timeout", "40m",
		"-run", "^(TestCrashMatrix|TestStoreMatrix|TestMutations|TestStoreMutations|TestNamedMutations)$", "-v", "./internal/oneshot")
	if err != nil {
		return nil, err
	}
	return storeMatrixLines(out, passed)
}

// mustFindStores are the mutations that have to be found whatever else is.
var mustFindStores = []string{
	// After the TTL there is no Job to be seen either.
	"TestStoreMutations/no_checkpoint_in_the_work_folder_is_taken_for_not_dispatched,_whatever_the_stores_have",
	"TestStoreMutations/that_a_place_could_not_look_everywhere_is_ignored",
	"TestMutations/no_read-back_before_a_create",
}

// leastSettings is how many settings of stores the matrix has at least: each store,
// pairs of them, and the work folder alone.
const leastSettings = 6

func storeMatrixLines(out string, passed bool) ([]line, error) {
	all := storeMatrixLine.FindAllStringSubmatch(out, -1)
	alone := matrixLine.FindAllStringSubmatch(out, -1)
	settings := storeSettingLine.FindAllStringSubmatch(out, -1)
	if len(all) != 1 || len(alone) != 1 {
		return nil, errors.New("the crash matrix does not say how many schedules it ran")
	}
	lines := []line{{
		ok: passed && number(alone[0][1]) > 0 && number(alone[0][2]) == 0, figure: "crash matrix",
		value: fmt.Sprintf("%s schedules, %s violations", alone[0][1], alone[0][2]), goal: "0 violations",
	}, {
		ok: passed && number(all[0][1]) > 0 && number(all[0][2]) == 0 && len(settings) >= leastSettings, figure: "crash matrix over the stores",
		value: fmt.Sprintf("%s schedules, %s violations, %d settings", all[0][1], all[0][2], len(settings)), goal: "0 violations",
	}}
	for _, s := range settings {
		lines = append(lines, line{ok: number(s[2]) > 0, figure: "schedules over " + s[1], value: s[2], goal: "more than 0"})
	}
	found, mutations := map[string]bool{}, 0
	for _, m := range storeMutationLine.FindAllStringSubmatch(out, -1) {
		mutations++
		if m[1] == "PASS" {
			found[m[2]+"/"+m[3]] = true
		}
	}
	must := true
	for _, name := range mustFindStores {
		must = must && found[name]
	}
	return append(lines, line{
		ok: passed && mutations > 0 && must && len(found) == mutations, figure: "mutations of the engine and the stores",
		value: fmt.Sprintf("%d of %d found", len(found), mutations),
		goal:  "all found; among them that no checkpoint is taken for not dispatched",
	}), nil
}

// storeUnits runs the tests of the stores themselves. Some field cases are shown
// here.
func storeUnits(ctx context.Context, t *tree) ([]line, error) {
	args := append([]string{"test"}, testFlags...)
	r, passed, err := t.results(ctx, "go", append(args, "./internal/checkpoint/...", "./internal/config/...", "./internal/host/...",
		"./internal/report/...", "./internal/cluster/...", "./cmd/action/...", "./test/standin/...")...)
	if err != nil {
		return nil, err
	}
	t.units = r
	return r.lines("tests of the stores", passed), nil
}

// peers runs the tests against programs that are not of this tree.
func peers(ctx context.Context, t *tree) ([]line, error) {
	r, passed, err := t.results(ctx, "make", "test-peers", "TESTFLAGS=-json -count=1")
	if err != nil {
		return nil, err
	}
	return append(r.lines("azurite, the official clients, act", passed), peerLines(r)...), nil
}

// peerLines tells of each of the programs.
func peerLines(r *results) []line {
	var lines []line
	for _, p := range []struct{ what, folder string }{
		{"azurite and the official clients", "test/peers"},
		{"nektos/act's artifact server", "test/peers/act"},
	} {
		good, bad := r.count(func(at test) bool { return at.pkg == modulePath+"/"+p.folder })
		lines = append(lines, line{ok: good > 0 && bad == 0, figure: p.what, value: fmt.Sprintf("%d passed, %d not", good, bad), goal: "all pass"})
	}
	return lines
}

// count returns how many of the tests that are chosen passed, and how many not.
func (r *results) count(chosen func(test) bool) (good, bad int) {
	for at, outcome := range r.outcome {
		switch {
		case !chosen(at):
		case outcome == "pass":
			good++
		default:
			bad++
		}
	}
	return good, bad
}

// rerun loses runners of the built action, with the real API server, and runs again.
func rerun(ctx context.Context, t *tree) ([]line, error) {
	args := append([]string{"ONESHOT_MATRIX=full", "go", "-C", "test/e2e", "test", "-p", "1"}, testFlags...)
	r, passed, err := t.results(ctx, "env", append(args, "-run", "^(TestStores.*|TestCasesNameTests)$", ".")...)
	if err != nil {
		return nil, err
	}
	args = append([]string{"-C", "test/e2e", "test"}, testFlags...)
	apart, apartPassed, err := t.results(ctx, "go", append(args, "./stores/...")...)
	if err != nil {
		return nil, err
	}
	lines := append(r.lines("end to end, with the real API server", passed), rerunLines(r)...)
	lines = append(lines, apart.lines("ConfigMaps, with the real API server", apartPassed)...)
	if t.units != nil {
		for at, outcome := range t.units.outcome {
			r.outcome[at] = outcome
		}
		lines = append(lines, r.fieldCases(e2e.Stores)...)
	}
	return lines, nil
}

var (
	lostFigure  = regexp.MustCompile(`^([0-9]+) scenes, ([0-9]+) Jobs, ([0-9]+) refused for want of actions: read$`)
	racesFigure = regexp.MustCompile(`^([0-9]+) races, ([0-9]+) Jobs, ([0-9]+) runs succeeded, ([0-9]+) of them by the other one's Job, ([0-9]+) creates of Jobs sent$`)
)

// rerunLines are what the end-to-end tests showed.
func rerunLines(r *results) []line {
	lines := []line{matrixOfReruns(r)}
	lost := line{figure: "runners lost and runs run again", value: "not measured", goal: "one Job for each"}
	if value, ok := r.figures[lost.figure]; ok {
		lost.value = value
		m := lostFigure.FindStringSubmatch(value)
		lost.ok = m != nil && number(m[1]) >= leastScenes && m[1] == m[2] && number(m[3]) > 0
	}
	races := line{figure: "races of two machines", value: "not measured", goal: "50 races, one Job each, all runs succeed"}
	if value, ok := r.figures[races.figure]; ok {
		races.value = value
		m := racesFigure.FindStringSubmatch(value)
		races.ok = m != nil && number(m[1]) >= 50 && m[1] == m[2] && number(m[3]) == 2*number(m[1]) && r.passed(folder, "TestStoresRaceOfTwoMachines")
	}
	lines = append(lines, lost, races)
	for _, most := range []struct {
		store  string
		delays int
	}{{"none", 0}, {"artifact", 3}, {"cluster", 1}, {"both", 4}, {"cache", 4}} {
		l := line{figure: "delays added before dispatch by " + most.store, value: "not measured", goal: fmt.Sprintf("at most %d", most.delays)}
		if value, ok := r.figures[l.figure]; ok {
			l.value, l.ok = value, number(value) >= 0 && number(value) <= most.delays && r.passed(folder, "TestStoresRounds/"+most.store)
		}
		lines = append(lines, l)
	}
	lines = append(lines, named(r)...)
	scan := line{figure: "scan for secrets", value: "not measured", goal: "0 found"}
	if value, ok := r.figures[scan.figure]; ok {
		scan.value = value
		m := scanFigure.FindStringSubmatch(value)
		scan.ok = m != nil && number(m[1]) > 100 && number(m[3]) > 500 && m[4] == "0"
	}
	return append(lines, scan)
}

// The matrix of re-runs: the moments at which a runner is lost, the settings of
// stores, and the ways to run again.
const (
	moments     = 7
	settings    = 5
	anews       = 4
	leastScenes = moments * settings * anews
)

// matrixOfReruns counts the scenes of the matrix that passed.
func matrixOfReruns(r *results) line {
	good, bad := r.count(func(at test) bool {
		return at.pkg == modulePath+"/"+folder && strings.Count(at.name, "/") == 3 &&
			slices.ContainsFunc([]string{"TestStoresKilledAndRerun/", "TestStoresKilledAndTheJobIsGone/", "TestStoresReplayElsewhere/"},
				func(prefix string) bool { return strings.HasPrefix(at.name, prefix) })
	})
	return line{
		ok: good >= leastScenes && bad == 0, figure: "lost and run again: moment x stores x re-run",
		value: fmt.Sprintf("%d right, %d not", good, bad),
		goal:  fmt.Sprintf("at least %d: one Job ever, the right outcome, or a refusal that names the permission", leastScenes),
	}
}

// named are the tests whose names are figures of their own.
func named(r *results) []line {
	var lines []line
	for _, c := range []struct{ what, test string }{
		{"a forged record in the cache, with a key", "TestStoresForgedRecordInTheCache"},
		{"a forged record beside a good one", "TestStoresForgedRecordBesideAGoodOne"},
		{"cache without a key", "TestStoresCacheAloneNeedsAKey"},
		{"records of another cluster", "TestStoresOfTwoClusters"},
		{"a run that stands still", "TestStoresRunStandsStill"},
		{"nothing was recorded, as far as seen", "TestStoresNothingWasRecorded"},
		{"down before the intent", "TestStoresDownBeforeTheIntent"},
		{"the intent is not stored", "TestStoresIntentThatIsNotStored"},
		{"down after dispatch", "TestStoresDownAfterDispatch"},
		{"down and up while the Job runs", "TestStoresRecoverBeforeTheEnd"},
		{"two stores disagree", "TestStoresDisagree"},
		{"a lost step is healed", "TestStoresLostStepIsHealed"},
		{"SIGTERM while a store hangs", "TestStoresSignalWhileOneHangs"},
		{"a runner that was thought dead", "TestStoresRunnerThoughtDead"},
		{"a create without an answer", "TestStoresAmbiguousElsewhere"},
		{"a successor, on another machine", "TestStoresSuccessorElsewhere"},
		{"half an intent", "TestStoresHalfAnIntent"},
		{"a key that changes", "TestStoresKeyIsChanged"},
		{"REST is down", "TestStoresRESTIsDown"},
		{"where records go by default", "TestStoresByDefault"},
		{"stores that cannot be", "TestStoresThatCannotBe"},
		{"checkpoint-cleanup", "TestStoresCleanup"},
		{"checkpoint-cleanup waits", "TestStoresCleanupWaitsForTheEnd"},
		{"no permission on ConfigMaps", "TestStoresConfigMapsAreDenied"},
		{"expired ConfigMaps", "TestStoresExpiredConfigMaps"},
	} {
		l := line{ok: r.passed(folder, c.test), figure: c.what, value: c.test + " passed", goal: "passes"}
		if !l.ok {
			l.value = c.test + " did not pass"
		}
		lines = append(lines, l)
	}
	return lines
}

// storeLatency measures what the stores add to the way to the create of a Job.
func storeLatency(ctx context.Context, t *tree) ([]line, error) {
	b, err := t.bench(ctx, "-parts=stores")
	if err != nil {
		return nil, err
	}
	return figureLines(b, "stores_")
}
