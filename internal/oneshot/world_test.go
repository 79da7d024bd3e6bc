package oneshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// world is everything that outlives a run: the cluster's Jobs and the durable
// records. Runs come and go, and may die; the world keeps a log of every effect
// they had, so that the promises can be checked afterwards.
type world struct {
	mu sync.Mutex
	// fate says how the Job of a purpose ends, and after how long.
	fate map[string]fate

	cronJob, serviceAccount contract.Object
	jobs                    map[string]*liveJob
	// folders are the work folders, each with records by name.
	folders map[string]map[string]checkpoint.Records
	// places are those that every machine can reach.
	places []*place
	ticks  int
	log    []effect
}

// fate is what becomes of a Job once it runs.
type fate struct {
	state contract.State
	after time.Duration
	// removed is when somebody deletes it by hand, 0 when nobody does.
	removed time.Duration
}

// liveJob is a Job in the cluster.
type liveJob struct {
	object  contract.Object
	created time.Time
	fate    fate
	ttl     time.Duration
}

// effect is something a run did that lasts.
type effect struct {
	at time.Time
	// what is create, or put of a step.
	what, name string
	step       checkpoint.Step
	// by is the run whose effect it is.
	by *process
	// recorded are the records, of every name, that were durable at that moment
	// in the work folder of the run.
	recorded map[string]map[checkpoint.Step]bool
	// lack and excused are about the places at that moment, for a create: which
	// of them had no intent, and whether all that was known was out of the run's
	// reach by a loss.
	lack    []string
	excused bool
}

func newWorld(cronJob, serviceAccount contract.Object) *world {
	return &world{
		cronJob: cronJob, serviceAccount: serviceAccount,
		fate: map[string]fate{}, jobs: map[string]*liveJob{}, folders: map[string]map[string]checkpoint.Records{},
	}
}

// records returns the records in a work folder.
func (w *world) records(folder string) map[string]checkpoint.Records {
	if w.folders[folder] == nil {
		w.folders[folder] = map[string]checkpoint.Records{}
	}
	return w.folders[folder]
}

// job returns the state of a Job at this moment, nil when it is not there.
func (w *world) job(name string) contract.Object {
	j := w.jobs[name]
	if j == nil {
		return nil
	}
	age := time.Since(j.created)
	if age >= j.fate.after+j.ttl || j.fate.removed > 0 && age >= j.fate.removed {
		return nil // by the TTL controller, or by hand
	}
	object := maps.Clone(j.object)
	status := map[string]any{"active": json.Number("1")}
	if age >= j.fate.after {
		status = terminalStatus(j.fate.state)
	}
	object["status"] = status
	return object
}

func terminalStatus(state contract.State) map[string]any {
	condition := func(kind, reason string) any {
		return map[string]any{"type": kind, "status": "True", "reason": reason}
	}
	if state == contract.Succeeded {
		return map[string]any{
			"succeeded": json.Number("1"), "completionTime": "2026-09-27T01:00:42Z",
			"conditions": []any{condition("SuccessCriteriaMet", "CompletionsReached"), condition("Complete", "CompletionsReached")},
		}
	}
	return map[string]any{
		"failed":     json.Number("2"),
		"conditions": []any{condition("FailureTarget", "BackoffLimitExceeded"), condition("Failed", "BackoffLimitExceeded")},
	}
}

// create stores a Job, or refuses because one of its name is there.
func (w *world) create(by *process, manifest contract.Object) (contract.Object, error) {
	meta := manifest["metadata"].(map[string]any)
	name := meta["name"].(string)
	if w.job(name) != nil {
		return nil, &CallError{Verb: "create", Resource: "jobs.batch", Name: name, Kind: AlreadyExists, Status: 409, Err: errors.New("already exists")}
	}
	object := clone(manifest)
	object["metadata"].(map[string]any)["uid"] = fmt.Sprintf("uid-%d", len(w.log))
	purpose := meta["labels"].(map[string]any)["fdai.io/one-shot"].(string)
	w.jobs[name] = &liveJob{object: object, created: time.Now(), fate: w.fate[purpose], ttl: time.Hour}
	w.note(by, "create", name, "")
	return w.job(name), nil
}

// put stores a record; the step must be new or equal.
func (w *world) put(by *process, name string, record checkpoint.Record) error {
	records := w.records(by.folder)
	if retained, ok := records[name][record.Step]; ok {
		if !retained.Equal(record) {
			return checkpoint.Differs(name+"."+string(record.Step), "differs")
		}
		return nil
	}
	if records[name] == nil {
		records[name] = checkpoint.Records{}
	}
	records[name][record.Step] = record
	w.note(by, "put", name, record.Step)
	return nil
}

func (w *world) note(by *process, what, name string, step checkpoint.Step) {
	recorded := map[string]map[checkpoint.Step]bool{}
	for other, records := range w.records(by.folder) {
		recorded[other] = map[checkpoint.Step]bool{}
		for s := range records {
			recorded[other][s] = true
		}
	}
	e := effect{at: time.Now(), what: what, name: name, step: step, by: by, recorded: recorded}
	if what == "create" && by.stores != nil {
		e.lack, e.excused = w.lack(by, name), w.excused(by, name)
	}
	w.log = append(w.log, e)
}

func clone(o contract.Object) contract.Object {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	c, err := contract.ParseObject(data)
	if err != nil {
		panic(err)
	}
	return c
}

// process is one run as the world sees it: it makes calls, one of which may go
// wrong, and after a crash none of them reaches the world any more.
type process struct {
	world  *world
	folder string
	cancel context.CancelFunc
	// fault is what goes wrong, at the call of its key.
	fault fault
	// machine is what a run has of its own where there are shared places.
	machine

	mu    sync.Mutex
	seen  map[string]int
	calls []string
	dead  bool
	// stopped is set once the run was told to stop or died.
	stopped bool
	// began is when the execution at work sent its first request.
	began     time.Time
	stoppedAt time.Time
	// attempts are the creates that were sent, with how each ended.
	attempts []attempt
	// result is what the run said in the end.
	result Result
}

// attempt is one create that a run sent.
type attempt struct {
	at   time.Time
	name string
	// deadline is the end of the execution's time.
	deadline time.Time
	// knows is what the run could know of the execution then.
	knows knowledge
	// unanswered is set when no answer came in the time there was, confirmed
	// when the answer was that the Job is created.
	unanswered, confirmed bool
}

// call is one call of a run on the world: a fault may come before, instead of
// or after the effect.
func (p *process) call(ctx context.Context, what string, effect func() error) error {
	return p.callStruck(ctx, what, func(faultKind) error { return effect() })
}

// callStruck is call with an effect that is told what goes wrong with it.
func (p *process) callStruck(ctx context.Context, what string, struck func(faultKind) error) error {
	p.mu.Lock()
	latency := p.latency
	p.mu.Unlock()
	if latency > 0 && !slept(ctx, latency) {
		return context.Cause(ctx)
	}
	p.mu.Lock()
	p.seen[what]++
	key := fmt.Sprintf("%s#%d", what, p.seen[what])
	p.calls = append(p.calls, key)
	dead := p.dead
	p.mu.Unlock()
	if dead {
		return p.block(ctx)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if key != p.fault.at {
		return p.do(func() error { return struck("") })
	}
	return p.fault.kind.strike(ctx, p, what, func() error { return struck(p.fault.kind) })
}

func (p *process) do(effect func() error) error {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	return effect()
}

func (p *process) kill() {
	p.mu.Lock()
	p.dead = true
	p.mu.Unlock()
	p.stop()
}

// stop tells the run to end.
func (p *process) stop() {
	p.mu.Lock()
	p.stopped = true
	p.stoppedAt = time.Now()
	p.mu.Unlock()
	p.cancel()
}

func (p *process) block(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func (p *process) get(ctx context.Context, what, resource string, object func() contract.Object) (contract.Object, error) {
	var found contract.Object
	err := p.call(ctx, what, func() error {
		if found = object(); found == nil {
			return &CallError{Verb: "get", Resource: resource, Kind: NotFound, Status: 404, Err: errors.New("not found")}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

func (p *process) CronJob(ctx context.Context, _, _ string) (contract.Object, error) {
	p.mu.Lock()
	if p.began.IsZero() || p.seen["load"] > 0 {
		p.began = time.Now() // a new execution; retries of its first read come before
	}
	p.mu.Unlock()
	return p.get(ctx, "get cronjob", "cronjobs.batch", func() contract.Object { return p.world.cronJob })
}

func (p *process) ServiceAccount(ctx context.Context, _, _ string) (contract.Object, error) {
	return p.get(ctx, "get serviceaccount", "serviceaccounts", func() contract.Object { return p.world.serviceAccount })
}

func (p *process) Job(ctx context.Context, _, name string) (contract.Object, error) {
	return p.get(ctx, "get job", "jobs.batch", func() contract.Object { return p.world.job(name) })
}

func (p *process) CreateJob(ctx context.Context, _ string, manifest contract.Object) (contract.Object, error) {
	sent := attempt{at: time.Now(), deadline: p.began.Add(matrixTimeout), name: manifest["metadata"].(map[string]any)["name"].(string)}
	sent.knows = p.knowledge(sent.name)
	var created contract.Object
	err := p.call(ctx, "create job", func() (err error) {
		created, err = p.world.create(p, manifest)
		return err
	})
	if err == nil && p.fault.kind == answerAltered {
		created = clone(created)
		created["spec"].(map[string]any)["backoffLimit"] = json.Number("9")
	}
	if call, ok := errors.AsType[*CallError](err); ok {
		sent.unanswered = call.Kind == TimedOut
	} else if err != nil {
		sent.unanswered = !p.stopped
	}
	sent.confirmed = err == nil
	p.attempts = append(p.attempts, sent)
	if err != nil {
		return nil, err
	}
	return created, nil
}

// WatchJob shows the Job once a second of the world's time.
func (p *process) WatchJob(ctx context.Context, _, name string, _ contract.Object, see func(contract.Object) (bool, error)) error {
	for {
		var job contract.Object
		err := p.call(ctx, "watch job", func() error { job = p.world.job(name); return nil })
		if call, ok := errors.AsType[*CallError](err); ok && call.Temporary() {
			continue // an adapter mends these
		}
		if err != nil {
			return err
		}
		if more, err := see(job); !more || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

func (p *process) Load(ctx context.Context, name string) (checkpoint.Records, error) {
	records := checkpoint.Records{}
	err := p.call(ctx, "load", func() error {
		for step, record := range p.world.records(p.folder)[name] {
			records[step] = record
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// Heal and Doubt have nothing to do in one place.
func (p *process) Heal(context.Context, string) error { return nil }
func (p *process) Doubt(string) error                 { return nil }

func (p *process) Put(ctx context.Context, name string, record checkpoint.Record) error {
	return p.call(ctx, "put "+string(record.Step), func() error { return p.world.put(p, name, record) })
}
