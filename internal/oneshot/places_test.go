package oneshot

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// place is a shared place as the world has it. What the kinds differ in is what
// the real ones promise: none is kinder than that.
type place struct {
	kind placeKind
	rows []*row
}

// placeKind says what a place promises.
type placeKind struct {
	name string
	// perAttempt: each attempt of the workflow has names of its own, so that one
	// step may have several rows that differ; otherwise the first one counts.
	perAttempt bool
	// complete: what is not found was never stored, as far as the place says.
	complete bool
	// forbidden: later attempts cannot see what earlier ones stored, and say so.
	forbidden bool
	// reserves: a step can be begun before its content is known.
	reserves bool
}

var (
	artifactKind  = placeKind{name: "artifact", perAttempt: true, complete: true, reserves: true}
	forbiddenKind = placeKind{name: "artifact", perAttempt: true, complete: true, reserves: true, forbidden: true}
	clusterKind   = placeKind{name: "cluster", complete: true}
	cacheKind     = placeKind{name: "cache", perAttempt: true}
)

// row is what one write stored: the documents of a step.
type row struct {
	name      string
	attempt   int
	documents []checkpoint.Document
	at        time.Time
	by        *process
	place     string
	// taken are the runs that were told that it is stored.
	taken map[*process]bool
	// lostBy is the run whose fault took the row away, lostAt when that was.
	lostBy *process
	lostAt int
	// removed says that it was cleaned up.
	removed bool
}

func (r *row) lose(by *process) { r.lostBy, r.lostAt = by, by.world.tick() }

// tick counts what happens: much of it does at one moment of the bubble's time.
func (w *world) tick() int { w.ticks++; return w.ticks }

// step is the step that the row is about; what came with it is before it.
func (r *row) step() checkpoint.Step { return r.documents[len(r.documents)-1].Step }

func (r *row) there() bool { return r.lostBy == nil && !r.removed }

// of returns the rows of an execution that are there, in the order of writing.
func (pl *place) of(name string) (rows []*row) {
	for _, r := range pl.rows {
		if r.name == name && r.there() {
			rows = append(rows, r)
		}
	}
	return rows
}

// blind reports whether an attempt is not shown what earlier ones stored.
func (pl *place) blind(attempt int) bool { return pl.kind.forbidden && attempt > 1 }

// shown returns the rows that an attempt can be shown.
func (pl *place) shown(name string, attempt int) []*row {
	return slices.DeleteFunc(pl.of(name), func(r *row) bool { return pl.blind(attempt) && r.attempt != attempt })
}

// read returns what a run is shown.
func (pl *place) read(p *process, name string, struck faultKind) checkpoint.Found {
	rows := pl.shown(name, p.attempt)
	key := pl.kind.name + "/" + name
	p.hidden[key] = nil
	found := checkpoint.Found{Complete: pl.kind.complete && !pl.blind(p.attempt)}
	if pl.blind(p.attempt) {
		found.Blind = failure.New(failure.PermissionDenied, "earlier attempts cannot be looked at").WithFix("Grant permissions: actions: read")
	}
	var last *row
	if len(rows) > 0 {
		last = rows[len(rows)-1]
	}
	switch {
	case last == nil:
	case struck == staleRead:
		p.hidden[key] = last
		rows = rows[:len(rows)-1]
	case struck == lostRecord:
		last.lose(p)
		rows = rows[:len(rows)-1]
	case struck == reordered:
		slices.Reverse(rows)
	}
	p.readAt[key] = p.world.tick()
	p.shownEnd[key] = slices.ContainsFunc(rows, func(r *row) bool { return r.step() == checkpoint.Terminal })
	for _, r := range rows {
		for _, d := range r.documents {
			c := checkpoint.Copy{Document: d, Where: string(r.step()), Attempt: r.attempt}
			if struck == unreadable && r == last {
				c.Document, c.Err = checkpoint.Document{Step: d.Step}, failure.New(failure.CheckpointStoreFailed, "cut short")
			}
			found.Copies = append(found.Copies, c)
		}
	}
	if struck == reordered {
		slices.Reverse(found.Copies)
	}
	return found
}

// write stores documents, unless the step is there: equal or not.
func (pl *place) write(p *process, name string, documents []checkpoint.Document, struck faultKind) error {
	written := &row{name: name, place: pl.kind.name, attempt: p.attempt, documents: slices.Clone(documents), at: time.Now(), by: p, taken: map[*process]bool{p: true}}
	for _, r := range pl.of(name) {
		if r.step() != written.step() || pl.kind.perAttempt && r.attempt != p.attempt {
			continue
		}
		if !r.holds(documents[len(documents)-1]) {
			return checkpoint.ErrTaken
		}
		if r.taken[p] = true; struck == lostRecord {
			r.lose(p)
		}
		return nil
	}
	pl.rows = append(pl.rows, written)
	if struck == lostRecord {
		written.lose(p)
	}
	return nil
}

// holds reports whether the row is about the step of a document, and says the
// same.
func (r *row) holds(d checkpoint.Document) bool {
	own := r.documents[len(r.documents)-1]
	return own.Step == d.Step && own.Seal == d.Seal && bytes.Equal(own.Data, d.Data)
}

// handle is a place as one run reaches it. What is promised of a real one holds
// of it too: it ends with its context.
type handle struct {
	p     *process
	place *place
}

func (h handle) Name() string { return h.place.kind.name }

func (h handle) Read(ctx context.Context, name string) (found checkpoint.Found, err error) {
	var read checkpoint.Found
	err = h.p.callStruck(ctx, "read "+h.Name(), func(struck faultKind) error {
		read = h.place.read(h.p, name, struck)
		return nil
	})
	if err != nil {
		return checkpoint.Found{}, err
	}
	return read, nil
}

func (h handle) Write(ctx context.Context, name string, documents ...checkpoint.Document) error {
	what := "write " + h.Name() + " " + string(documents[len(documents)-1].Step)
	return h.p.callStruck(ctx, what, func(struck faultKind) error {
		return h.place.write(h.p, name, documents, struck)
	})
}

// Clean removes what a terminal record makes superfluous.
func (h handle) Clean(ctx context.Context, name string) error {
	return h.p.callStruck(ctx, "clean "+h.Name(), func(struck faultKind) error {
		rows := h.place.of(name)
		isEnd := func(r *row) bool { return r.step() == checkpoint.Terminal }
		if !h.p.shownEnd[h.Name()+"/"+name] {
			h.p.note("the older records of %s were removed from %s before a terminal one was read back", name, h.Name())
		}
		for _, r := range rows {
			r.removed = !isEnd(r)
			if struck == lostRecord && isEnd(r) {
				r.lose(h.p)
			}
		}
		return nil
	})
}

// reserver is a handle of a place that can begin before the content is known. A
// name without content is shown to nobody, so that nothing comes of it but what
// the run itself suffers meanwhile.
type reserver struct{ handle }

func (h reserver) Reserve(ctx context.Context, _ string, step checkpoint.Step) {
	_ = h.p.call(ctx, "reserve "+h.Name()+" "+string(step), func() error { return nil })
}

// storeSetting is which places a schedule keeps records in.
type storeSetting struct {
	kinds   []placeKind
	key     bool
	cleanup bool
}

func (s *storeSetting) places() (places []*place) {
	for _, kind := range s.kinds {
		places = append(places, &place{kind: kind})
	}
	return places
}

// secret returns the key of the setting, the zero key when it has none.
func (s *storeSetting) secret() checkpoint.Key {
	if s == nil || !s.key {
		return checkpoint.Key{}
	}
	return must(checkpoint.NewKey("a key that has thirty-two bytes, or more"))
}

func (s *storeSetting) String() string {
	if len(s.kinds) == 0 {
		return "none"
	}
	var names []string
	for _, kind := range s.kinds {
		name := kind.name
		if kind.forbidden {
			name += " without REST"
		}
		names = append(names, name)
	}
	text := strings.Join(names, "+")
	if s.key {
		text += " with key"
	}
	if s.cleanup {
		text += ", cleanup"
	}
	return text
}
