package supervise

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/control"
)

// speaker sends events to the owner, as long as there is one.
type speaker struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (s *speaker) send(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Encode(e)
}

func newSpeaker() *speaker {
	return &speaker{out: json.NewEncoder(os.NewFile(eventsFD, "events"))}
}

// fail tells the owner why there will be no cluster.
func fail(err error) int {
	newSpeaker().send(Event{Error: err.Error()})
	return 1
}

func runnerMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	signal.Ignore(syscall.SIGPIPE, syscall.SIGINT, syscall.SIGHUP)
	base := os.Args[1]
	var spec control.Spec
	if err := readJSON(filepath.Join(base, specFile), &spec); err != nil {
		return fail(err)
	}
	out := newSpeaker()
	say := func(format string, args ...any) { out.send(Event{Log: fmt.Sprintf(format, args...)}) }
	c, err := control.Up(ctx, &spec, say)
	defer c.Stop(context.Background())
	if err != nil {
		out.send(Event{Error: err.Error()})
		return 1
	}
	info := c.Info()
	if err := writeJSON(filepath.Join(base, readyFile), info); err != nil {
		return fail(err)
	}
	out.send(Event{Ready: &info})
	go reportFault(c, out)
	go obey(ctx, c, out)
	<-ctx.Done()
	return 0
}

// reportFault tells the owner once that a program ended by itself.
func reportFault(c *control.Cluster, out *speaker) {
	for ; ; time.Sleep(100 * time.Millisecond) {
		if err := c.Fault(); err != nil {
			out.send(Event{Fault: err.Error()})
			return
		}
	}
}

// obey carries out the owner's commands in turn. When there are no more, the
// supervisor decides what follows.
func obey(ctx context.Context, c *control.Cluster, out *speaker) {
	orders := json.NewDecoder(os.NewFile(ordersFD, "orders"))
	for {
		var command Command
		if err := orders.Decode(&command); err != nil {
			return
		}
		done := Done{ID: command.ID}
		if err := c.Do(ctx, command.Do); err != nil {
			done.Error = err.Error()
		}
		out.send(Event{Done: &done})
	}
}
