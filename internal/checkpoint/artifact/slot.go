package artifact

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

// statusTaken is the answer to the creation of an artifact whose name is taken.
const statusTaken = http.StatusConflict

type slotKey struct {
	execution string
	step      checkpoint.Step
}

// slot is how far a step of an execution is stored by this Store. Who has its turn
// may use the rest.
type slot struct {
	turn chan struct{}
	// number is that of the name which is tried.
	number int
	// address is where the content goes, "" when the artifact was not created.
	address string
	// created is when that was, and renewed when a name was last given up because its
	// address was not taken any more.
	created, renewed time.Time
	// held says that the name may be taken by a creation of ours whose answer was
	// lost.
	held bool
	// sent is the digest that the artifact was finalized with, perhaps; "" when that
	// was not tried.
	sent string
	// documents are what the step is known to be stored with, and where.
	documents []checkpoint.Document
	where     string
}

// addressLife is how long an address is kept that the storage refuses: another one
// takes another name, of which there are few. They are good for an hour or so.
const addressLife = 5 * time.Minute

// old reports whether the address may have ended, by what the storage says or by
// its age: Azure says AuthenticationFailed of an address that has ended, azurite
// AuthorizationFailure.
func (s *slot) old(now time.Time, code string) bool {
	return (code == "AuthenticationFailed" || code == "AuthorizationFailure" || now.Sub(s.created) >= addressLife) &&
		(s.renewed.IsZero() || now.Sub(s.renewed) >= addressLife)
}

// next goes on to the next name.
func (s *slot) next() {
	s.number++
	s.address, s.sent, s.held = "", "", false
}

func (s *Store) slot(execution string, step checkpoint.Step) *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := slotKey{execution, step}
	if s.slots[k] == nil {
		s.slots[k] = &slot{turn: make(chan struct{}, 1), number: 1}
	}
	return s.slots[k]
}

// Reserve begins to make the artifact of a step, whose content is not known yet, as
// [checkpoint.Reserver] says. One that is not used is never finalized, and shown to
// nobody. When it fails, the Write that follows begins anew.
func (s *Store) Reserve(ctx context.Context, execution string, step checkpoint.Step) {
	n := name{execution, step, s.options.Attempt, 1}
	if _, ok := parseName(n.String()); !ok {
		return
	}
	slot := s.slot(execution, step)
	select {
	case slot.turn <- struct{}{}:
	default:
		return // It is being written, or reserved.
	}
	go func() {
		defer func() { <-slot.turn }()
		if slot.address != "" || slot.sent != "" || slot.documents != nil {
			return
		}
		n.number = slot.number
		// Write tells it, if it fails there too.
		if err := checkpoint.Guard("creating the artifact "+n.String(), func() error { return s.create(ctx, slot, n) }); isPanic(err) {
			slot.held = true // It is not known how far it came.
		}
	}()
}

// create makes the artifact that the slot is at.
func (s *Store) create(ctx context.Context, slot *slot, n name) error {
	address, err := s.results.create(ctx, n)
	if err == nil {
		slot.address, slot.created = address, s.options.Now()
		return nil
	}
	if t, ok := errors.AsType[*trouble](err); !ok || t.mayBeDone {
		slot.held = true
	}
	return err
}
