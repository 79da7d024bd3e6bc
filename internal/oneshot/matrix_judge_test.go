package oneshot

import (
	"fmt"
	"strings"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

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
