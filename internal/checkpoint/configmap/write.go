package configmap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

const (
	// maxData is how many bytes the data of a ConfigMap may have.
	// https://kubernetes.io/docs/concepts/configuration/configmap/#motivation
	maxData = 1 << 20
	// rounds is how often others may be quicker before a Write gives up. The
	// runs of one execution are few, and each writes few times.
	rounds = 20
)

// Write implements [checkpoint.Shared]. It takes one request where the state that is
// remembered is still the present one: a create for what comes first, an update for
// what follows.
func (s *Store) Write(ctx context.Context, execution string, documents ...checkpoint.Document) error {
	doing, err := s.doing(execution, documents)
	if err != nil {
		return err
	}
	turn := s.of(execution).turn
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return s.failed(doing, &stoppedError{cause: context.Cause(ctx)})
	}
	w := &write{Store: s, p: s.begin(ctx), execution: execution, documents: documents}
	for range rounds {
		if done, err := w.step(); err != nil {
			return s.failed(doing, err)
		} else if done {
			s.wrote(execution, documents)
			return nil
		}
	}
	return s.failed(doing, fmt.Errorf("somebody else changed it each time, %d times", rounds))
}

// doing says what a Write does, or why its documents cannot be stored.
func (s *Store) doing(execution string, documents []checkpoint.Document) (string, error) {
	if len(documents) == 0 {
		return "", failure.New(failure.CheckpointStoreFailed, "there is no record to store in %s", s.where(execution))
	}
	doing := fmt.Sprintf("storing the %s record in %s", documents[len(documents)-1].Step, s.where(execution))
	seen := map[checkpoint.Step]bool{}
	for _, d := range documents {
		var problem string
		switch {
		case !slices.Contains(checkpoint.SharedSteps(), d.Step):
			problem = "records of that step are not kept there"
		case seen[d.Step]:
			problem = "there are two of that step"
		case !utf8.Valid(d.Data) || !utf8.ValidString(d.Seal):
			problem = "it is no text"
		}
		if problem != "" {
			return "", failure.New(failure.CheckpointStoreFailed, "%s: the %s record: %s", doing, d.Step, problem)
		}
		seen[d.Step] = true
	}
	return doing, nil
}

// wrote remembers what a Write left in a ConfigMap.
func (s *Store) wrote(execution string, documents []checkpoint.Document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.entry(execution)
	written := map[checkpoint.Step]checkpoint.Document{}
	maps.Copy(written, k.written)
	for _, d := range documents {
		written[d.Step] = d
	}
	k.written = written
}

// write is one Write.
type write struct {
	*Store
	p         *patience
	execution string
	documents []checkpoint.Document
	// look says that the remembered state is not the present one, and fresh that it
	// was read during this Write.
	look, fresh bool
}

// step does one thing, which costs at most one request where all goes well, and
// reports whether the documents are stored.
func (w *write) step() (done bool, err error) {
	k := w.of(w.execution)
	switch {
	case w.look:
		object, err := w.get(w.p, w.execution)
		if err != nil {
			return false, err
		}
		if object == nil && k.object != nil {
			w.gone()
		}
		w.look, w.fresh = false, true
		return false, nil
	case k.object == nil:
		return w.create(k)
	}
	return w.update(k)
}

// create makes the ConfigMap, if there is still none.
func (w *write) create(k known) (bool, error) {
	object := w.blank(w.execution)
	for _, d := range k.written {
		w.set(object, d)
	}
	for _, d := range w.documents {
		w.set(object, d)
	}
	return w.send(object, func(ctx context.Context) (contract.Object, error) {
		return w.API.CreateConfigMap(ctx, w.Namespace, object)
	})
}

// update adds to the ConfigMap what it lacks.
func (w *write) update(k known) (bool, error) {
	object, changed, err := w.merged(k)
	if (err != nil || !changed) && !w.fresh {
		// What is remembered may have changed since.
		w.look = true
		return false, nil
	}
	if err != nil || !changed {
		return err == nil, err
	}
	return w.send(object, func(ctx context.Context) (contract.Object, error) {
		return w.API.UpdateConfigMap(ctx, w.Namespace, object)
	})
}

// send sends a create or an update, and looks at what the server made of it.
func (w *write) send(object contract.Object, request func(context.Context) (contract.Object, error)) (bool, error) {
	if size := sizeOf(object); size > maxData {
		return false, fmt.Errorf("it would have %d bytes of data, %d at most can be stored", size, maxData)
	}
	var stored contract.Object
	err := w.p.do(writeTime, func(ctx context.Context) (err error) {
		stored, err = request(ctx)
		return err
	})
	switch kindOf(err) {
	case oneshot.AlreadyExists, oneshot.Conflict:
		// Somebody else was quicker, or an answer was lost.
		w.look = true
		return false, nil
	case oneshot.NotFound:
		if metaText(object, "resourceVersion") != "" {
			w.gone()
			w.saw(w.execution, nil)
			return false, nil
		}
	}
	if err != nil {
		return false, err
	}
	w.saw(w.execution, stored)
	return true, w.confirm(stored)
}

// merged returns the ConfigMap with the documents in it, and whether that is a
// change. What this Store wrote before and somebody took out comes back.
func (w *write) merged(k known) (object contract.Object, changed bool, err error) {
	object = copied(k.object)
	for _, d := range w.documents {
		kept, found, unreadable := documentOf(object, d.Step)
		switch {
		case unreadable != "":
			return nil, false, errors.New(unreadable)
		case found && !alike(kept.Data, d.Data):
			return nil, false, fmt.Errorf("the %s record: %w", d.Step, checkpoint.ErrTaken)
		case found && (d.Seal == "" || bytes.Equal(kept.Data, d.Data) && kept.Seal == d.Seal):
			continue
		}
		// It is not there, or is and its seal is none of this content.
		w.set(object, d)
		changed = true
	}
	for _, d := range k.written {
		if _, found, _ := documentOf(object, d.Step); !found {
			w.set(object, d)
			changed = true
		}
	}
	if changed {
		w.mark(object)
	}
	return object, changed, nil
}

// alike reports whether two documents say the same, however they are spelt.
func alike(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	objectA, errA := contract.ParseObject(a)
	objectB, errB := contract.ParseObject(b)
	if errA != nil || errB != nil {
		return false
	}
	a, errA = contract.Canonical(objectA)
	b, errB = contract.Canonical(objectB)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// confirm holds what the server stored against what it was sent: admission may
// change objects.
func (w *write) confirm(stored contract.Object) error {
	if ending(stored) {
		return &endingError{}
	}
	intact := ours(stored)
	for _, d := range w.documents {
		kept, found, unreadable := documentOf(stored, d.Step)
		intact = intact && found && unreadable == "" && bytes.Equal(kept.Data, d.Data) && (d.Seal == "" || kept.Seal == d.Seal)
	}
	if intact {
		return nil
	}
	return &alteredError{}
}

func (w *write) gone() {
	w.tell(w.where(w.execution) + " is gone, with the records in it: somebody deleted it while this run went on. It is made anew with what this run knows")
}
