// Package composite keeps the records of an execution in several places: the
// work folder, which one run has to itself, and places that other machines can
// reach. It decides what the places say together, and in which order they are
// told; what the records mean is decided elsewhere.
package composite

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// Options are what a store is made of.
type Options struct {
	// Folder is the work folder.
	Folder checkpoint.Store
	// Owner keeps which cluster the records in the work folder are of. Nil keeps it
	// nowhere.
	Owner Owner
	// Shared are the places beside it, in the order in which they are named.
	Shared []checkpoint.Shared
	// Arbiter is the one of Shared that is given an intent first, and so decides
	// between two runs that begin at the same time, as far as it takes one only
	// once. Nil is the first of Shared.
	Arbiter checkpoint.Shared
	// Key authenticates what is in the shared places.
	Key checkpoint.Key
	// Cleanup has the older steps of an execution removed from places that can do
	// so, once its terminal record is stored and was read back.
	Cleanup bool
	// Notify is told, a line at a time, what people should know and no error says.
	// It may be called by several goroutines. Nil is fine.
	Notify func(string)
	// Warn is told what people should see who do not read the log. Nil is fine.
	Warn func(string)
}

// Owner keeps beside the records of an execution which cluster they are of. Their
// form has no place for it.
type Owner interface {
	// Owner returns the cluster, "" where it was never kept.
	Owner(ctx context.Context, execution string) (string, error)
	// SetOwner keeps it. One that was kept must be the same.
	SetOwner(ctx context.Context, execution, cluster string) error
}

// Cleaner is a [checkpoint.Shared] that can remove the steps of an execution
// which its terminal record makes superfluous.
type Cleaner interface {
	Clean(ctx context.Context, execution string) error
}

// Store keeps records in all of its places. It is a [checkpoint.Store] that is
// safe for concurrent use.
//
// An intent is durable when every place has it, and an error otherwise. What
// comes after a create is never an error unless it contradicts what is there: it
// is written in the background, and again where that fails, until [Store.Finish]
// tells what became of it.
type Store struct {
	o       Options
	writers []*writer
	// cancel ends what goes on in the background.
	cancel func()

	mu sync.Mutex
	// prepared are the documents that an intent takes with it, by execution.
	prepared map[string]checkpoint.Document
	// own are the executions whose intent this run recorded.
	own map[string]bool
	// loaded is what Load found last, by execution, for Heal.
	loaded   map[string]*view
	resumed  *Origin
	recorded bool
	// warned are the texts of warnings.
	warned map[string]bool
}

var _ checkpoint.Store = (*Store)(nil)

// Origin is where a record was found.
type Origin struct {
	// Place is the name of a shared place, or [WorkFolder].
	Place string
	// Attempt is the attempt of the workflow that stored it, 0 when not known.
	Attempt int
}

// String returns the origin as the output resumed-from has it.
func (o Origin) String() string {
	if o.Attempt == 0 {
		return o.Place
	}
	return fmt.Sprintf("%s, attempt %d", o.Place, o.Attempt)
}

// WorkFolder is the name of the work folder among the places.
const WorkFolder = "work-dir"

// folderPatience is how long a run that has dispatched waits for its work folder
// before it goes on and leaves the record to the background.
const folderPatience = 2 * time.Second

// New returns a store. [Store.Finish] has to be called at its end.
func New(o Options) *Store {
	ctx, cancel := context.WithCancelCause(context.Background())
	if o.Arbiter == nil && len(o.Shared) > 0 {
		o.Arbiter = o.Shared[0]
	}
	s := &Store{o: o, cancel: func() { cancel(errNotTried) }, prepared: map[string]checkpoint.Document{}, own: map[string]bool{}, warned: map[string]bool{}, loaded: map[string]*view{}}
	s.writers = append(s.writers, newWriter(ctx, WorkFolder, s.notify, func(ctx context.Context, i *item) error {
		return o.Folder.Put(ctx, i.execution, i.record)
	}))
	for _, place := range o.Shared {
		s.writers = append(s.writers, newWriter(ctx, place.Name(), s.notify, func(ctx context.Context, i *item) error {
			return s.writeLate(ctx, place, i)
		}))
	}
	return s
}

// Put implements [checkpoint.Store].
func (s *Store) Put(ctx context.Context, execution string, record checkpoint.Record) error {
	switch record.Step {
	case checkpoint.Manifest:
		return s.o.Folder.Put(ctx, execution, record)
	case checkpoint.Prepared:
		if err := s.remember(execution, record); err != nil {
			return err
		}
		if err := s.setOwner(ctx, execution); err != nil {
			return err
		}
		return s.o.Folder.Put(ctx, execution, record)
	case checkpoint.Intent:
		if err := s.putIntent(ctx, execution, record, s.o.Shared); err != nil {
			return s.startedElsewhere(err, execution)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.own[execution] = true
		return nil
	case checkpoint.Dispatched, checkpoint.Ambiguous, checkpoint.Terminal:
	}
	return s.putLate(ctx, execution, record)
}

// remember keeps the prepared record for the intent that will take it along.
func (s *Store) remember(execution string, record checkpoint.Record) error {
	d, err := s.o.Key.Seal(execution, record)
	if err != nil {
		return failure.New(failure.CheckpointStoreFailed, "%w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prepared[execution] = d
	return nil
}

// documents returns what a place is given with a record.
func (s *Store) documents(execution string, record checkpoint.Record) ([]checkpoint.Document, error) {
	d, err := s.o.Key.Seal(execution, record)
	if err != nil {
		return nil, failure.New(failure.CheckpointStoreFailed, "%w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if prepared, ok := s.prepared[execution]; ok && record.Step == checkpoint.Intent {
		return []checkpoint.Document{prepared, d}, nil
	}
	return []checkpoint.Document{d}, nil
}

// warnOnce warns of what every reading finds anew.
func (s *Store) warnOnce(text string) {
	s.mu.Lock()
	told := s.warned[text]
	s.warned[text] = true
	s.mu.Unlock()
	if s.o.Warn != nil && !told {
		s.o.Warn(text)
	}
}

func (s *Store) notify(text string) {
	if s.o.Notify != nil {
		s.o.Notify(text)
	}
}
