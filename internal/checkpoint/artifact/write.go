package artifact

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/bundle"
)

const (
	// maxNumber is the last name that is tried for a step in an attempt.
	maxNumber = 20
	// looks is how often an artifact is looked for whose name is taken and which is
	// not there yet: another job of the run may be about to finish it.
	looks = 4
)

// Write stores the documents of a step as one artifact, as [checkpoint.Shared] says.
//
// Where the step was reserved, it takes three requests: the content, the list of its
// blocks, and the word that it is all.
func (s *Store) Write(ctx context.Context, execution string, documents ...checkpoint.Document) error {
	if len(documents) == 0 {
		return storeFailed("storing a record of %s as an artifact: there is none", execution)
	}
	step := documents[len(documents)-1].Step
	w := &write{store: s, name: name{execution, step, s.options.Attempt, 1}, documents: documents}
	w.doing = fmt.Sprintf("storing the %s record of %s as an artifact", step, execution)
	if _, ok := parseName(w.name.String()); !ok {
		return storeFailed("%s: it cannot be named %s", w.doing, w.name)
	}
	var err error
	if w.data, err = bundle.Pack(execution, documents); err != nil {
		return storeFailed("%s: %w", w.doing, err)
	}
	w.slot = s.slot(execution, step)
	select {
	case w.slot.turn <- struct{}{}:
	case <-ctx.Done():
		return ended(w.doing, context.Cause(ctx))
	}
	defer func() { <-w.slot.turn }()
	return failureOf(w.run(ctx))
}

// write is one that has its turn.
type write struct {
	store     *Store
	slot      *slot
	name      name
	documents []checkpoint.Document
	data      []byte
	doing     string
}

func (w *write) run(ctx context.Context) error {
	if w.slot.documents != nil {
		if done, err := w.judge(w.slot.documents, w.slot.where); done || err != nil {
			return err
		}
		w.slot.next()
	}
	if done, err := w.known(ctx); done || err != nil {
		return err
	}
	for ; w.slot.number <= maxNumber; w.slot.next() {
		w.name.number = w.slot.number
		if done, err := w.try(ctx); done || err != nil {
			return err
		}
	}
	w.name.number = maxNumber
	return storeFailed("%s: all names up to %s are taken by artifacts that cannot be read", w.doing, w.name).
		WithFix("Run all jobs again: another attempt has names of its own")
}

// try stores the step under the present name. When it is not done and there is no
// error, that name is lost.
func (w *write) try(ctx context.Context) (done bool, err error) {
	if w.slot.sent != "" {
		return w.finalize(ctx)
	}
	reserved := w.slot.address != ""
	if !reserved {
		err := w.store.create(ctx, w.slot, w.name)
		if statusOf(err) == statusTaken {
			// Somebody else may be at it, if it is not what is left of a try of ours.
			return w.look(ctx, !w.slot.held)
		}
		if err != nil {
			return false, err
		}
	}
	if err := w.store.blobs.upload(ctx, w.name, w.slot.address, w.data); err != nil {
		now := w.store.options.Now()
		if t, ok := errors.AsType[*trouble](err); ok && t.denied() && reserved && w.slot.old(now, t.code) {
			w.slot.renewed = now
			return false, nil
		}
		return false, err
	}
	if w.name.number > 1 {
		// Who has the name before this one may have been slow, and not dead.
		if done, err := w.look(ctx, false); done || err != nil {
			return done, err
		}
	}
	return w.finalize(ctx)
}

// finalize makes what was uploaded an artifact, or finds out that it is one.
func (w *write) finalize(ctx context.Context) (done bool, err error) {
	again := w.slot.sent != ""
	digest := digestOf(w.data)
	if again && w.slot.sent != digest {
		return false, storeFailed("%s: it is not known whether it is stored already with other content, as %s", w.doing, w.name)
	}
	w.slot.sent = digest
	id, err := w.store.results.finalize(ctx, w.name, w.data)
	if err == nil {
		w.keep(Artifact{w.name.String(), id}, w.documents, row{name: w.name, id: id}.where())
		return true, nil
	}
	t, ok := errors.AsType[*trouble](err)
	if !ok {
		return false, err
	}
	if !again && !t.mayBeDone {
		w.slot.sent = ""
		return false, err
	}
	if done, lookErr := w.look(ctx, false); done || lookErr != nil {
		return done, lookErr
	}
	if t.err != nil || t.temporary() {
		return false, err
	}
	return false, nil
}

// known holds the step against the artifacts that were listed last, which asks for
// nothing when there is none of it.
func (w *write) known(ctx context.Context) (done bool, err error) {
	w.store.mu.Lock()
	l := w.store.latest
	w.store.mu.Unlock()
	// Where the services have shown nothing, there is nothing to hold it against;
	// that is told by Read.
	if err := l.wait(ctx, w.doing); err != nil {
		return false, err
	}
	return w.compare(ctx, slices.DeleteFunc(l.of(w.name.execution), func(r row) bool { return r.name.step != w.name.step }))
}

// look holds the step against what this attempt of the run has of it. With patience,
// it waits some time for there to be something.
func (w *write) look(ctx context.Context, patient bool) (done bool, err error) {
	for n := 1; ; n++ {
		rows, err := w.store.results.list(ctx)
		if err != nil {
			return false, err
		}
		rows = slices.DeleteFunc(rows, func(r row) bool {
			return r.name.execution != w.name.execution || r.name.step != w.name.step || r.name.attempt != w.name.attempt
		})
		if done, err := w.compare(ctx, rows); done || err != nil {
			return done, err
		}
		there := slices.ContainsFunc(rows, func(r row) bool { return r.name == w.name })
		if there || !patient || n == looks {
			return false, nil
		}
		w.store.options.Sleep(ctx, w.store.results.pace.pause(n, 0))
	}
}

// compare holds the step against rows of it. Of what cannot be read for good nothing
// is said; what might be read later is an error.
func (w *write) compare(ctx context.Context, rows []row) (done bool, err error) {
	for _, r := range rows {
		c := w.store.content(ctx, r)
		if c.err != nil {
			if t, ok := errors.AsType[*trouble](c.err); ok && (t.temporary() || t.limited) || isEnded(c.err) {
				return false, c.err
			}
			continue
		}
		if done, err := w.judge(c.documents, r.where()); done || err != nil {
			if done {
				w.keep(Artifact{r.name.String(), r.id}, c.documents, r.where())
			}
			return done, err
		}
	}
	return false, nil
}

// judge holds the step against what is stored, as [bundle.Holds] does.
func (w *write) judge(stored []checkpoint.Document, where string) (done bool, err error) {
	if done, err = bundle.Holds(stored, w.documents); err != nil {
		return false, fmt.Errorf("%s: %s: %w", w.doing, where, err)
	}
	return done, nil
}

func (w *write) keep(a Artifact, documents []checkpoint.Document, where string) {
	w.slot.documents, w.slot.where = documents, where
	w.slot.address, w.slot.sent = "", ""
	w.store.keep(a)
}
