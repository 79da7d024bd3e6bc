package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/control"
	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/supervise"
)

// link is the owner's end of the pipes to a cluster's supervisor.
type link struct {
	supervisor *supervise.Supervisor
	say        func(string, ...any)
	started    chan error // nil once the cluster is ready
	info       control.Info
	over       chan struct{} // closed when no more events come

	mu      sync.Mutex
	orders  *json.Encoder
	last    int
	waiting map[int]chan error
	fault   error
	closing bool
}

func dial(order *supervise.Order, detached bool, say func(string, ...any)) (*link, error) {
	s, err := supervise.Start(detached)
	if err != nil {
		return nil, fmt.Errorf("could not start the cluster's supervisor: %w", err)
	}
	l := &link{
		supervisor: s,
		say:        say,
		started:    make(chan error, 1),
		over:       make(chan struct{}),
		orders:     json.NewEncoder(s.Orders),
		waiting:    map[int]chan error{},
	}
	go l.listen()
	if err := l.orders.Encode(order); err != nil {
		return nil, errors.Join(err, s.Close(context.Background()))
	}
	return l, nil
}

// listen hands on what the supervisor says until it ends.
func (l *link) listen() {
	defer close(l.over)
	events := json.NewDecoder(l.supervisor.Events)
	for {
		var e supervise.Event
		if err := events.Decode(&e); err != nil {
			l.hungUp(err)
			return
		}
		switch {
		case e.Log != "":
			l.say("%s", e.Log)
		case e.Ready != nil:
			l.info = *e.Ready
			l.tell(nil)
		case e.Error != "":
			l.tell(errors.New(e.Error))
		case e.Fault != "":
			l.setFault(errors.New(e.Fault))
		case e.Done != nil:
			l.answer(e.Done)
		}
	}
}

// tell passes the outcome of the start on; only the first one counts.
func (l *link) tell(err error) {
	select {
	case l.started <- err:
	default:
	}
}

func (l *link) setFault(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault == nil && !l.closing {
		l.fault = err
	}
}

func (l *link) answer(d *supervise.Done) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if d.Error != "" {
		err = errors.New(d.Error)
	}
	if c, ok := l.waiting[d.ID]; ok {
		c <- err
		delete(l.waiting, d.ID)
	}
}

// hungUp is the end of the cluster, wanted or not.
func (l *link) hungUp(err error) {
	gone := errors.New("the cluster's supervisor ended")
	if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
		gone = fmt.Errorf("the cluster's supervisor ended: %w", err)
	}
	if text := l.supervisor.Output(); text != "" {
		gone = fmt.Errorf("%w; it said:\n%s", gone, text)
	}
	l.tell(gone)
	l.setFault(gone)
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, c := range l.waiting {
		c <- gone
		delete(l.waiting, id)
	}
}

func (l *link) ready(ctx context.Context) (control.Info, error) {
	select {
	case err := <-l.started:
		return l.info, err
	case <-ctx.Done():
		return control.Info{}, context.Cause(ctx)
	}
}

// do has the cluster carry out a command.
func (l *link) do(ctx context.Context, command string) error {
	answer := make(chan error, 1)
	l.mu.Lock()
	if l.closing {
		l.mu.Unlock()
		return errors.New("the cluster was stopped")
	}
	l.last++
	id := l.last
	l.waiting[id] = answer
	err := l.orders.Encode(supervise.Command{ID: id, Do: command})
	l.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: the cluster's supervisor does not listen: %w", command, errors.Join(err, l.failed()))
	}
	select {
	case err := <-answer:
		if err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *link) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}

func (l *link) close(ctx context.Context) error {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	if err := l.supervisor.Close(ctx); err != nil {
		return fmt.Errorf("could not stop the test cluster: %w", err)
	}
	<-l.over
	return nil
}

// leave lets a detached cluster go on without its owner.
func (l *link) leave() error {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	return l.supervisor.Orders.Close()
}
