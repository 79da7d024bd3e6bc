package configmap

import (
	"context"
	"errors"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

const (
	// overdue is how long a Read waits for the list before it asks for itself.
	overdue = 2 * time.Second
	// stale is the age from which a list counts for nothing: others may have come.
	stale = 5 * time.Second
)

// Read implements [checkpoint.Shared]. It finds all there is: what is in a cluster
// is there until somebody deletes it.
func (s *Store) Read(ctx context.Context, execution string) (checkpoint.Found, error) {
	if s.unasked(execution) && s.listing.absent(ctx, nameOf(execution)) {
		return checkpoint.Found{Complete: true, Local: true}, nil
	}
	object, err := s.get(s.begin(ctx), execution)
	if err != nil {
		return checkpoint.Found{}, s.failed("looking for records in "+s.where(execution), err)
	}
	found := checkpoint.Found{Complete: true, Local: true}
	for _, step := range checkpoint.SharedSteps() {
		d, ok, unreadable := documentOf(object, step)
		if !ok {
			continue
		}
		c := checkpoint.Copy{Document: d, Where: s.where(execution), Attempt: s.attemptOf(object, step)}
		if unreadable != "" {
			c.Err = errors.New(unreadable)
		}
		found.Copies = append(found.Copies, c)
	}
	return found, nil
}

// get reads the ConfigMap of an execution, nil when there is none, and remembers it.
// One that is not ours is an error, and so is one that is being deleted: a record
// there is not kept.
func (s *Store) get(p *patience, execution string) (contract.Object, error) {
	s.unasked(execution)
	var object contract.Object
	err := p.do(readTime, func(ctx context.Context) (err error) {
		object, err = s.API.ConfigMap(ctx, s.Namespace, nameOf(execution))
		return err
	})
	if kindOf(err) == oneshot.NotFound {
		object, err = nil, nil
	}
	if err == nil && object != nil && !ours(object) {
		err = checkpoint.Differs(s.where(execution), "it is not one of ours: the labels %s: %s and %s: %s are not on it", managedByLabel, managedBy, componentLabel, component).
			WithFix("Find out who made it, or took the labels off. If it has nothing to do with this run, it has to have another name; if its labels were lost, put them back")
	}
	if err != nil {
		return nil, err
	}
	s.saw(execution, object)
	if ending(object) {
		return nil, &endingError{}
	}
	return object, nil
}

// listing is the list that was begun when the store was opened. Only names count:
// it has no data, since that of all executions may be a lot.
type listing struct {
	began time.Time
	done  chan struct{}

	// The rest is set once done is closed.
	names map[string]bool
	// whole says that there are no other names.
	whole bool
}

func (s *Store) list(ctx context.Context) *listing {
	l := &listing{began: time.Now(), done: make(chan struct{}), names: map[string]bool{}}
	go func() {
		defer close(l.done)
		// Why it failed is of no interest: a Read asks for itself then, and tells.
		_ = checkpoint.Guard("listing ConfigMaps", func() error {
			return try(ctx, readTime, func(ctx context.Context) error {
				page, next, err := s.API.ConfigMaps(ctx, s.Namespace, s.selector(), "")
				for _, object := range page {
					l.names[metaText(object, "name")] = true
				}
				l.whole = err == nil && next == ""
				return err
			})
		})
	}()
	return l
}

// absent reports whether the list is there, recent, and says that there is no
// ConfigMap of a name.
func (l *listing) absent(ctx context.Context, name string) bool {
	timer := time.NewTimer(overdue)
	defer timer.Stop()
	select {
	case <-l.done:
	case <-timer.C:
		return false
	case <-ctx.Done():
		return false
	}
	return l.whole && !l.names[name] && time.Since(l.began) < stale && ctx.Err() == nil
}

// metaText is a text under metadata, "" when there is none.
func metaText(object contract.Object, key string) string {
	text, _ := under(object, "metadata")[key].(string)
	return text
}
