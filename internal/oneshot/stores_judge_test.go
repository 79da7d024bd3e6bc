package oneshot

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// hearsay is how long what one run records may take to be known to another that
// goes on at the same time: less than it waits for the other's Job.
const hearsay = 4 * time.Second

// knowledge is what a run could know of an execution when it sent a create: what
// was in its work folder and was to be seen in the places, whether or not the
// run looked.
type knowledge struct {
	steps map[checkpoint.Step]bool
	// intentAt is the oldest intent's time.
	intentAt time.Time
	// earlier: something was recorded of the execution before this run, or while it
	// went on; seen: it must have seen something of that.
	earlier, seen bool
	// unseen: records may be there that the run could not look for; blind: and no
	// place was sure that there are none.
	unseen, blind bool
	// disputed is a step of which two records were there that differ.
	disputed checkpoint.Step
}

func (p *process) knowledge(name string) knowledge {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	k := knowledge{steps: map[checkpoint.Step]bool{}}
	contents := map[checkpoint.Step]string{}
	add := func(step checkpoint.Step, data string, earlier bool) {
		if step == checkpoint.Manifest || step == checkpoint.Prepared {
			return
		}
		k.steps[step] = true
		k.earlier, k.seen = k.earlier || earlier, k.seen || earlier
		if other, ok := contents[step]; ok && other != data {
			k.disputed = step
		}
		contents[step] = data
		if object, err := contract.ParseObject([]byte(data)); err == nil && step == checkpoint.Intent {
			at, _ := object["recorded_at"].(string)
			if t, err := time.Parse(time.RFC3339, at); err == nil && (k.intentAt.IsZero() || t.Before(k.intentAt)) {
				k.intentAt = t
			}
		}
	}
	for step, record := range p.world.records(p.folder)[name] {
		data, err := record.Encode()
		if err != nil {
			panic(err)
		}
		add(step, string(data), p.before[name][step])
	}
	sure := false
	for _, pl := range p.world.places {
		k.unseen = k.unseen || pl.blind(p.attempt)
		sure = sure || pl.kind.complete && !pl.blind(p.attempt)
		for _, r := range pl.shown(name, p.attempt) {
			if r == p.hidden[pl.kind.name+"/"+name] {
				continue
			}
			if r.by != p && r.at.After(p.started) && time.Since(r.at) < hearsay {
				k.earlier = true // it may have been seen, or not
				continue
			}
			for _, d := range r.documents {
				add(d.Step, string(d.Data), r.by != p)
			}
		}
	}
	k.blind = k.unseen && !sure
	return k
}

// lack returns the places that do not have the intent that the run has in its
// work folder. What is lost after a run has stored it, or read it, cannot be known
// to that run.
func (w *world) lack(p *process, name string) (lack []string) {
	own, ok := w.records(p.folder)[name][checkpoint.Intent]
	if !ok {
		return []string{"the work folder"}
	}
	want := must(p.stores.secret().Seal(name, own))
	for _, pl := range w.places {
		if !slices.ContainsFunc(pl.rows, func(r *row) bool {
			return r.name == name && r.holds(want) && (r.there() || r.lostAfter(p))
		}) {
			lack = append(lack, pl.kind.name)
		}
	}
	return lack
}

// excused reports whether nobody could know of an earlier create: the work
// folder is new, and every single place lost, or did not show, each record of
// the execution that it ever had from another run. One place that still has one
// is no excuse, nor is one that never got any. What a place may not show to later
// attempts is out of reach, too: such a run goes on only where another place is
// sure, which then is the one that lost its record.
func (w *world) excused(p *process, name string) bool {
	for step := range p.before[name] {
		if step != checkpoint.Manifest && step != checkpoint.Prepared {
			return false
		}
	}
	for _, pl := range w.places {
		had, lost := false, false
		for _, r := range pl.rows {
			if r.name != name || r.by == p {
				continue
			}
			had = true
			hidden := r == p.hidden[pl.kind.name+"/"+name] || pl.blind(p.attempt) && r.attempt != p.attempt
			lost = lost || r.lostBy != nil || hidden
			if r.there() && !hidden {
				return false
			}
		}
		if !had || !lost {
			return false
		}
	}
	return true
}

// lostAfter reports whether a row was lost after the run had stored or seen it, so
// that it cannot know. What is read back for the cleanup alone does not count.
func (r *row) lostAfter(p *process) bool {
	return r.lostBy != nil && (r.taken[p] || r.lostAt > p.readAt[r.place+"/"+r.name])
}

// judgeStatus holds what a run says of its records in the end against what is
// there. A run must never take a record for stored that is not; for missing it
// may take one whose writing went wrong.
func (p *process) judgeStatus() {
	if p.dead {
		return
	}
	missing := map[string]bool{}
	for _, m := range p.status.Missing {
		missing[m.Place+" "+m.Execution+" "+string(m.Step)] = true
		if m.Err == nil {
			p.note("the %s record is missing in %s without a reason", m.Step, m.Place)
		}
	}
	disturbed := func(place string) bool {
		if place == "work-dir" {
			return p.fault.at != "" && !strings.Contains(p.fault.at, " ") || strings.HasPrefix(p.fault.at, "put ")
		}
		return strings.Contains(p.fault.at, " "+place)
	}
	told := func(place string, k keptRecord, there bool) {
		said := missing[place+" "+k.name+" "+string(k.record.Step)]
		if !there && !said {
			p.note("the %s record of %s is not in %s, and the run does not say so", k.record.Step, k.name, place)
		}
		if there && said && !p.stopped && !disturbed(place) {
			p.note("the %s record of %s is in %s, and the run says that it is missing", k.record.Step, k.name, place)
		}
	}
	for _, k := range p.kept {
		retained, ok := p.world.records(p.folder)[k.name][k.record.Step]
		told("work-dir", k, ok && retained.Equal(k.record))
		want := must(p.stores.secret().Seal(k.name, k.record))
		for _, pl := range p.world.places {
			// Where older steps are removed after the end, none is stored after it.
			superfluous := p.stores.cleanup && k.record.Step != checkpoint.Terminal &&
				slices.ContainsFunc(pl.rows, func(r *row) bool { return r.name == k.name && r.step() == checkpoint.Terminal })
			told(pl.kind.name, k, superfluous || slices.ContainsFunc(pl.rows, func(r *row) bool {
				return r.name == k.name && r.holds(want) && (r.there() || r.removed || r.lostAfter(p))
			}))
		}
	}
}

// judgeOutcome checks that what goes wrong with a record after the create does not
// change how a run ends, and that two runs at once end alike where there is a
// place that decides between them. It judges first runs, which find nothing.
func (p *process) judgeOutcome(s schedule, result Result, err error) {
	disturbed := p.fault.kind == crashBefore || p.fault.kind == crashAfter || p.fault.kind == cancelBefore
	step := p.fault.at[strings.LastIndex(p.fault.at, " ")+1:]
	step, _, _ = strings.Cut(step, "#")
	if s.race == nil && p.attempt == 1 && !disturbed && late(checkpoint.Step(step)) && s.first.removed == 0 && result.Outcome != Succeeded && result.Outcome != Failed {
		p.note("a run that could not store a record after the create ended %s: %v", result.Outcome, err)
	}
	arbiter := slices.ContainsFunc(s.stores.kinds, func(k placeKind) bool { return !k.perAttempt })
	if s.race != nil && arbiter && len(s.faults) == 0 && result.Outcome != Succeeded {
		p.note("attempt %d of two at once, which nothing disturbed, ended %s: %v", p.attempt, result.Outcome, err)
	}
}

// judgeStores checks promises 1 to 5 where there are shared places.
func judgeStores(w *world, past []*process) (broken []string) {
	add := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	created := map[string]bool{}
	for _, e := range w.log {
		if e.what != "create" {
			continue
		}
		// What was removed by hand and is not known to have been there is judged
		// by the creates that were sent.
		if created[e.name] && w.jobs[e.name].fate.removed == 0 && !e.excused {
			add("promise 1: %s was created twice", e.name)
		}
		created[e.name] = true
		if len(e.lack) > 0 {
			add("promise 2: %s was created before its intent was durable: not in %v", e.name, e.lack)
		}
		if strings.Contains(e.name, "-retry-") && !endedBefore(w, e) {
			add("promise 4: the successor %s was created before its predecessor had failed", e.name)
		}
	}
	for _, p := range past {
		sent := map[string]attempt{}
		for _, a := range p.attempts {
			k := a.knows
			switch {
			case k.steps[checkpoint.Dispatched] || k.steps[checkpoint.Terminal]:
				add("promise 1: a create of %s was sent after it was recorded as dispatched", a.name)
			case k.steps[checkpoint.Ambiguous] || sent[a.name].unanswered:
				add("promise 3: the create of %s had timed out and was repeated", a.name)
			case sent[a.name].confirmed:
				add("promise 1: the create of %s had been confirmed and was repeated", a.name)
			case a.at.After(k.intentAt.Add(time.Hour - absenceMargin)):
				add("promise 3: a create of %s was sent %s after the intent", a.name, a.at.Sub(k.intentAt))
			case k.unseen && k.seen:
				add("promise 3: a create of %s was sent although it may be recorded where nobody could look that it must not be", a.name)
			case k.blind && !k.earlier:
				add("promise 1: a create of %s was sent although records may be where nobody could look", a.name)
			case k.disputed != "":
				add("promise 1: a create of %s was sent although the stores disagree on %s", a.name, k.disputed)
			}
			sent[a.name] = a
		}
	}
	return append(append(broken, judgeEnds(w)...), judgeResults(w, past)...)
}

// endedBefore reports whether the Job before a successor's had failed when that
// was created.
func endedBefore(w *world, e effect) bool {
	for name, job := range w.jobs {
		if !strings.Contains(name, "-retry-") {
			return job.fate.state == contract.Failed && e.at.Sub(job.created) >= job.fate.after
		}
	}
	return false
}

// judgeEnds checks that every terminal record says what became of the Job.
func judgeEnds(w *world) (broken []string) {
	check := func(name string, content contract.Object) {
		if w.jobs[name] == nil || string(w.jobs[name].fate.state) != content["outcome"] {
			broken = append(broken, fmt.Sprintf("promise 5: a terminal record of %s is not what became of the Job", name))
		}
	}
	for _, folder := range w.folders {
		for name, records := range folder {
			if r, ok := records[checkpoint.Terminal]; ok {
				check(name, r.Content)
			}
		}
	}
	for _, pl := range w.places {
		for _, r := range pl.rows {
			if r.step() == checkpoint.Terminal {
				check(r.name, must(contract.ParseObject(r.documents[0].Data)))
			}
		}
	}
	return broken
}

// judgeStoresEnd checks that the tool is of use with its stores, too: the last
// run, which nothing disturbed, knows how the Job ended, unless there is one of
// a few reasons.
func (s schedule) judgeStoresEnd(w *world, past []*process, result Result, err error) []string {
	code := failure.CodeOf(err)
	if result.Outcome == Succeeded || result.Outcome == Failed && s.successor.state == contract.Failed {
		return nil
	}
	last := past[len(past)-1]
	unhappy := s.pause == afterTheTTL || s.first.removed > 0 // A Job may have come and gone unseen.
	for _, p := range past {
		for _, a := range p.attempts {
			unhappy = unhappy || a.unanswered && w.jobs[a.name] == nil // never repeated, by the dialect
		}
	}
	lost, disputed := false, false
	for _, pl := range w.places {
		for _, r := range pl.rows {
			lost = lost || r.lostBy != nil
			for _, other := range w.places {
				for _, o := range other.rows {
					disputed = disputed || o.name == r.name && o.step() == r.step() && o.there() && r.there() && !o.holds(r.documents[len(r.documents)-1])
				}
			}
		}
	}
	switch {
	case unhappy && result.Outcome == Unknown,
		lost && code == failure.JobWithoutIntent,
		disputed && code == failure.CheckpointDiffers,
		code == failure.PermissionDenied && slices.ContainsFunc(w.places, func(pl *place) bool { return pl.blind(last.attempt) }):
		return nil
	}
	return []string{fmt.Sprintf("the last run, which nothing disturbed, ended %s: %v", result.Outcome, err)}
}
