package oneshot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/composite"
)

const (
	// finishing and finishingStopped are how long a run waits for its records in
	// the end, as the command does.
	finishing        = 30 * time.Second
	finishingStopped = 500 * time.Millisecond
)

// machine is what a run has of its own where there are shared places.
type machine struct {
	stores *storeSetting
	// attempt is the attempt of the workflow, from 1.
	attempt int
	// latency is how long each call takes to get through.
	latency time.Duration
	started time.Time
	// before are the steps that the work folder had when the run began, by name.
	before map[string]map[checkpoint.Step]bool
	// hidden is the row that the last read of a place should have shown and did
	// not; readAt is when that was, and shownEnd whether a terminal record was among
	// what it showed. Keys are the place and the name.
	hidden   map[string]*row
	readAt   map[string]int
	shownEnd map[string]bool
	status   composite.Status
	// loaded is what was read last.
	loaded checkpoint.Records
	// kept are the records that the run had to have everywhere in the end.
	kept []keptRecord
	// untold are promises that were seen broken while it went on.
	untold []string
}

// keptRecord is a record that has to be in every place when a run ends, or to be
// told as missing.
type keptRecord struct {
	name   string
	record checkpoint.Record
}

func (p *process) note(format string, args ...any) {
	p.untold = append(p.untold, fmt.Sprintf(format, args...))
}

// race has the first two runs go on at once.
type race struct {
	// offset is how long after the first the second begins, in calls.
	offset int
	// slower is how many times as long the calls of the second take.
	slower int
}

// step is how long a call takes in a race.
const step = time.Millisecond

// first plays the first two runs.
func (r *race) first(s schedule, past []*process) []string {
	broken := make([][]string, 2)
	var both sync.WaitGroup
	for i, p := range past[:2] {
		p.latency = step
		if i == 1 {
			p.latency *= time.Duration(r.slower)
		}
		both.Go(func() {
			if i == 1 {
				time.Sleep(time.Duration(r.offset)*step + step/2)
			}
			broken[i] = s.runAndJudge(past[:i+1])
		})
	}
	both.Wait()
	return append(broken[0], broken[1]...)
}

// runWithStores plays one run as the command does: the engine over all places,
// and the end of the store afterwards.
func (s schedule) runWithStores(ctx context.Context, p *process, engine *Engine, plan Plan) (Result, error) {
	p.begin(s)
	options := composite.Options{Folder: p, Key: s.stores.secret(), Cleanup: s.stores.cleanup}
	for _, place := range p.world.places {
		var shared checkpoint.Shared = handle{p, place}
		if place.kind.reserves {
			shared = reserver{handle{p, place}}
		}
		if !place.kind.perAttempt {
			options.Arbiter = shared
		}
		options.Shared = append(options.Shared, shared)
	}
	store := composite.New(options)
	engine.Store = witness{store, p}
	result, err := engine.Run(ctx, plan)
	bound := finishing
	p.mu.Lock()
	if p.stopped {
		bound = finishingStopped
	}
	p.mu.Unlock()
	ending, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	status := store.Finish(ending)
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	p.status = status
	if result.Resumed && status.Resumed == nil && !p.dead {
		p.note("the run resumed and does not say from where")
	}
	p.judgeStatus()
	p.judgeOutcome(s, result, err)
	return result, err
}

func (p *process) begin(s schedule) {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	p.stores, p.started = s.stores, time.Now()
	p.before = map[string]map[checkpoint.Step]bool{}
	for name, records := range p.world.records(p.folder) {
		p.before[name] = map[checkpoint.Step]bool{}
		for step := range records {
			p.before[name][step] = true
		}
	}
	p.hidden, p.readAt, p.shownEnd = map[string]*row{}, map[string]int{}, map[string]bool{}
}

// witness keeps what a run has to have stored in the end.
type witness struct {
	checkpoint.Store
	p *process
}

func (w witness) Put(ctx context.Context, name string, record checkpoint.Record) error {
	err := w.Store.Put(ctx, name, record)
	if late(record.Step) && (err == nil || errors.Is(err, checkpoint.ErrLater)) {
		w.keep(name, record)
	}
	return err
}

func (w witness) Load(ctx context.Context, name string) (checkpoint.Records, error) {
	records, err := w.Store.Load(ctx, name)
	w.p.world.mu.Lock()
	defer w.p.world.mu.Unlock()
	w.p.loaded = records
	return records, err
}

// Heal has what was loaded be everywhere: a terminal record, which stands alone,
// or what comes after a create.
func (w witness) Heal(ctx context.Context, name string) error {
	if err := w.Store.Heal(ctx, name); err != nil {
		return err
	}
	w.p.world.mu.Lock()
	loaded := w.p.loaded
	w.p.world.mu.Unlock()
	if end, ok := loaded[checkpoint.Terminal]; ok {
		w.keep(name, end)
		return nil
	}
	for _, record := range loaded {
		if late(record.Step) {
			w.keep(name, record)
		}
	}
	return nil
}

func (w witness) keep(name string, record checkpoint.Record) {
	w.p.world.mu.Lock()
	defer w.p.world.mu.Unlock()
	w.p.kept = append(w.p.kept, keptRecord{name, record})
}

// late reports whether a step is recorded after the create.
func late(step checkpoint.Step) bool {
	return step == checkpoint.Dispatched || step == checkpoint.Ambiguous || step == checkpoint.Terminal
}
