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

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
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

// judge checks what can be said of one run: that it told the truth and ended in
// time.
func (p *process) judge(s schedule, result Result, err error) (broken []string) {
	if p.dead {
		return nil // nobody heard what it said
	}
	w := p.world
	if (err == nil) != (result.Outcome == Succeeded) {
		broken = append(broken, fmt.Sprintf("the outcome %s came with the error %v", result.Outcome, err))
	}
	truth := w.jobs[result.Execution.Name]
	if truth != nil && truth.fate.removed > 0 {
		truth = nil // it never came to an end
	}
	want := map[Outcome]contract.State{Succeeded: contract.Succeeded, Failed: contract.Failed}[result.Outcome]
	if want != "" && (truth == nil || truth.fate.state != want || time.Since(truth.created) < truth.fate.after) {
		broken = append(broken, fmt.Sprintf("promise 5: the outcome %s is not what became of the Job", result.Outcome))
	}
	if most := time.Duration(1+s.successors)*matrixTimeout + 2*grace; result.Duration > most {
		broken = append(broken, fmt.Sprintf("promise 6: the run took %s, its deadline and grace are %s", result.Duration, most))
	}
	if p.stopped && time.Since(p.stoppedAt) > 5*time.Second {
		broken = append(broken, fmt.Sprintf("promise 6: the run ended %s after it was told to stop", time.Since(p.stoppedAt)))
	}
	return append(broken, p.untold...)
}

// judgeEnd checks that the tool is of use: once nothing disturbs it any more, it
// knows how the Job ended, unless there is a reason not to.
func (s schedule) judgeEnd(w *world, past []*process, result Result, err error) []string {
	if s.stores != nil {
		return s.judgeStoresEnd(w, past, result, err)
	}
	if s.folders > 1 && failure.CodeOf(err) == failure.JobWithoutIntent {
		return nil // whose Job it is, is known in the other folder
	}
	for _, p := range past {
		if p.fault.kind == answerAltered && w.jobs[result.Execution.Name] != nil && s.pause == afterTheTTL {
			return nil
		}
	}
	if s.pause == afterTheTTL || s.first.removed > 0 {
		// A Job may have come and gone unseen.
		if result.Outcome == Succeeded || result.Outcome == Failed || result.Outcome == Unknown {
			return nil
		}
		return []string{fmt.Sprintf("the last run ended %s: %v", result.Outcome, err)}
	}
	for _, p := range past {
		for _, a := range p.attempts {
			if a.unanswered && w.jobs[a.name] == nil {
				return nil // never repeated, by the dialect
			}
		}
	}
	if result.Outcome != Succeeded {
		return []string{fmt.Sprintf("the last run, which nothing disturbed, ended %s: %v", result.Outcome, err)}
	}
	return nil
}

// judgeWorld checks promises 1 to 5 against the log of all effects.
func judgeWorld(w *world, past []*process) (broken []string) {
	created := map[string]time.Time{}
	intended := map[string]time.Time{}
	dispatched := map[string]time.Time{}
	for _, e := range w.log {
		switch {
		case e.what == "put" && e.step == checkpoint.Intent:
			intended[e.name] = e.at
		case e.what == "put" && e.step == checkpoint.Dispatched:
			dispatched[e.name] = e.at
		case e.what == "create":
			// What somebody removes by hand before it is known to be there cannot
			// be told from what never was; there the attempts are judged.
			if _, twice := created[e.name]; twice && w.jobs[e.name].fate.removed == 0 {
				broken = append(broken, fmt.Sprintf("promise 1: %s was created twice", e.name))
			}
			created[e.name] = e.at
			if !e.recorded[e.name][checkpoint.Intent] {
				broken = append(broken, fmt.Sprintf("promise 2: %s was created before an intent was durable", e.name))
			}
			if strings.Contains(e.name, "-retry-") && !predecessorFailed(w, e) {
				broken = append(broken, fmt.Sprintf("promise 4: the successor %s was created before its predecessor had failed", e.name))
			}
		}
	}
	unanswered, confirmed := map[string]bool{}, map[string]bool{}
	for _, p := range past {
		for _, a := range p.attempts {
			// What one work folder knows, another does not.
			key := p.folder + "/" + a.name
			if unanswered[key] {
				broken = append(broken, fmt.Sprintf("promise 3: the create of %s had timed out and was repeated", a.name))
			}
			if at, ok := dispatched[a.name]; ok && a.at.After(at) {
				broken = append(broken, fmt.Sprintf("promise 1: a create of %s was sent after it was recorded as dispatched", a.name))
			}
			if confirmed[key] {
				broken = append(broken, fmt.Sprintf("promise 1: the create of %s had been confirmed and was repeated", a.name))
			}
			// Confirmed to a run that could record it.
			confirmed[key] = confirmed[key] || a.confirmed && !p.dead && !strings.HasPrefix(p.fault.at, "put dispatched")
			unanswered[key] = unanswered[key] || a.unanswered
			if at, ok := intended[a.name]; ok && a.at.After(at.Add(time.Hour-absenceMargin)) {
				broken = append(broken, fmt.Sprintf("promise 3: a create of %s was sent %s after the intent", a.name, a.at.Sub(at)))
			}
		}
	}
	for _, folder := range w.folders {
		for name, records := range folder {
			if r, ok := records[checkpoint.Terminal]; ok && (w.jobs[name] == nil || string(w.jobs[name].fate.state) != r.Content["outcome"]) {
				broken = append(broken, fmt.Sprintf("promise 5: the terminal record of %s is not what became of the Job", name))
			}
		}
	}
	return append(broken, judgeResults(w, past)...)
}

func predecessorFailed(w *world, e effect) bool {
	for name, steps := range e.recorded {
		if !strings.Contains(name, "-retry-") && steps[checkpoint.Terminal] {
			job := w.jobs[name]
			return job != nil && job.fate.state == contract.Failed && e.at.Sub(job.created) >= job.fate.after
		}
	}
	return false
}

// judgeResults holds what the runs said they did against what they did.
func judgeResults(w *world, past []*process) (broken []string) {
	for _, p := range past {
		created := false
		for _, e := range w.log {
			created = created || e.what == "create" && e.by == p && e.name == p.result.Execution.Name
		}
		switch {
		case p.dead:
		case p.result.Dispatched && !created:
			broken = append(broken, fmt.Sprintf("a run said that it created %s, and did not", p.result.Execution.Name))
		case created && (p.result.Outcome == Refused || p.result.Outcome == Invalid):
			broken = append(broken, fmt.Sprintf("a run that created %s ended %s", p.result.Execution.Name, p.result.Outcome))
		}
		for _, a := range p.attempts {
			if a.deadline.Before(a.at) {
				broken = append(broken, fmt.Sprintf("promise 6: a create was sent %s after the deadline", a.at.Sub(a.deadline)))
			}
		}
	}
	return broken
}
