package oneshot

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// The crash matrix runs the engine through every schedule of faults: each call
// of a first run gone wrong in each way, then each call of the run that resumes,
// then runs that nothing disturbs. After each schedule the promises are checked
// against what the world saw.

const (
	matrixTimeout = time.Minute
	// matrixRuns is how many runs a schedule has: two that faults may strike and
	// two that are left alone.
	matrixRuns = 4
)

// setting is what a schedule plays in.
type setting struct {
	name string
	// pause is the time between one run and the next.
	pause time.Duration
	first fate
	// successors and successor are how many may follow, and what becomes of them.
	successors int
	successor  fate
	// folders is how many work folders the runs take turns with, 0 for one.
	folders int
	// stores are where records are kept, nil for nowhere but in the work folder.
	stores *storeSetting
	// race has the second run begin while the first goes on.
	race *race
}

var (
	succeeds = fate{state: contract.Succeeded, after: 2 * time.Second}
	fails    = fate{state: contract.Failed, after: time.Second}
	removed  = fate{state: contract.Succeeded, after: time.Minute, removed: 2 * time.Second}
)

const (
	soon        = 20 * time.Second
	afterTheTTL = 2 * time.Hour
)

var settings = []setting{
	{name: "succeeds, resumed soon", pause: soon, first: succeeds},
	{name: "succeeds, resumed after the TTL", pause: afterTheTTL, first: succeeds},
	{name: "removed by hand, resumed soon", pause: soon, first: removed},
	{name: "succeeds, resumed soon elsewhere", pause: soon, first: succeeds, folders: 2},
	{name: "fails, successor succeeds", pause: soon, first: fails, successors: 1, successor: succeeds},
	{name: "fails, successor fails, resumed after the TTL", pause: afterTheTTL, first: fails, successors: 1, successor: fails},
}

// schedule is a setting and the faults of its first runs.
type schedule struct {
	setting
	faults []fault
}

func (s schedule) String() string {
	var b strings.Builder
	b.WriteString(s.name)
	for i, f := range s.faults {
		if f.at == "" {
			continue
		}
		fmt.Fprintf(&b, "; run %d: %s at %s", i+1, f.kind, f.at)
	}
	return b.String()
}

// TestCrashMatrix checks the promises over every schedule. The first run is
// always struck at every call. With ONESHOT_MATRIX=full so is the second, for
// each fault of the first; without, it is for one first fault in sixteen, under
// the race detector in sixty-four: what there is time for in every test run.
func TestCrashMatrix(t *testing.T) {
	sample := 16
	if raceEnabled {
		sample = 64
	}
	if os.Getenv("ONESHOT_MATRIX") == "full" {
		sample = 1
	}
	mutant := os.Getenv("ONESHOT_MUTANT") != ""
	var schedules, violations atomic.Int64
	t.Run("settings", func(t *testing.T) {
		for _, setting := range settings {
			t.Run(setting.name, func(t *testing.T) {
				t.Parallel()
				n := 0
				check := func(s schedule) []string {
					schedules.Add(1)
					calls, broken := s.play(t)
					for _, violation := range broken {
						if violations.Add(1) <= 20 {
							t.Errorf("violation: %s\n  schedule: %s", violation, s)
						}
					}
					return calls
				}
				for _, at := range check(schedule{setting: setting}) {
					for _, kind := range faultKinds(at) {
						n++
						first := fault{at, kind}
						calls := check(schedule{setting, []fault{first}})
						if mutant && violations.Load() > 0 {
							return // found; no need to go on
						}
						if n%sample != 0 {
							continue
						}
						for _, at := range calls {
							for _, kind := range faultKinds(at) {
								check(schedule{setting, []fault{first, {at, kind}}})
							}
						}
					}
				}
			})
		}
	})
	t.Logf("crash matrix: %d schedules, %d violations", schedules.Load(), violations.Load())
	if schedules.Load() < 800 && violations.Load() == 0 {
		t.Errorf("only %d schedules ran", schedules.Load())
	}
}

// play runs the schedule in a world of its own. It returns the calls of the
// first run that no fault struck, and every promise that was broken.
func (s schedule) play(t *testing.T) (calls []string, broken []string) {
	synctest.Test(t, func(*testing.T) {
		w := newWorld(testCronJob(), testServiceAccount())
		w.fate["inventory"], w.fate["inventory-retry-1"] = s.first, s.successor
		if s.stores != nil {
			w.places = s.stores.places()
		}
		var past []*process
		for n := range matrixRuns {
			p := &process{world: w, seen: map[string]int{}, folder: strconv.Itoa(n % max(s.folders, 1)), machine: machine{attempt: n + 1}}
			if n < len(s.faults) {
				p.fault = s.faults[n]
			}
			past = append(past, p)
		}
		for n := 0; n < matrixRuns; n++ {
			if s.race != nil && n == 0 {
				broken = append(broken, s.race.first(s, past)...)
				n++
			} else {
				broken = append(broken, s.runAndJudge(past[:n+1])...)
			}
			if n >= len(s.faults) && calls == nil {
				calls = past[len(s.faults)].called()
			}
			time.Sleep(s.pause)
		}
		time.Sleep(soon) // what comes late has come
		w.mu.Lock()
		defer w.mu.Unlock()
		if s.stores != nil {
			broken = append(broken, judgeStores(w, past)...)
		} else {
			broken = append(broken, judgeWorld(w, past)...)
		}
	})
	return calls, broken
}

// runAndJudge plays the last of the runs, and judges what can be said of it.
func (s schedule) runAndJudge(past []*process) (broken []string) {
	p := past[len(past)-1]
	result, err := s.run(p)
	p.world.mu.Lock() // effects that come late may still be on their way
	defer p.world.mu.Unlock()
	p.result = result
	broken = p.judge(s, result, err)
	if len(past) == matrixRuns {
		broken = append(broken, s.judgeEnd(p.world, past, result, err)...)
	}
	return broken
}

// called returns the calls that a run made.
func (p *process) called() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

func (s schedule) run(p *process) (Result, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p.cancel = cancel
	plan := testPlan()
	plan.Timeout = matrixTimeout
	for range s.successors {
		plan.Successors++
		plan.SuccessorEnvironments = append(plan.SuccessorEnvironments, map[string]string{"PROGRESS_RUN_ID": "again"})
	}
	engine := &Engine{Cluster: p, Store: p}
	if s.stores != nil {
		return s.runWithStores(ctx, p, engine, plan)
	}
	return engine.Run(ctx, plan)
}
