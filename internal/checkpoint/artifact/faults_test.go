package artifact

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// fault is what becomes of a request.
type fault struct {
	answer standin.Answer
	// effect says that what was asked for is done all the same.
	effect bool
	// lasts says that it is tried without an end as well. Others are no different
	// from one of these then, or never end anyway.
	lasts bool
	// hangs says that there is no answer until whoever asked goes away.
	hangs bool
}

func faults() map[string]fault {
	return map[string]fault{
		"fails before":         {answer: standin.Status(http.StatusServiceUnavailable, "no"), lasts: true},
		"is asked too often":   {answer: standin.Status(http.StatusTooManyRequests, "", "Retry-After", "7")},
		"is dropped":           {answer: standin.Drop(), lasts: true},
		"is cut":               {answer: standin.CutUpload(10)},
		"is refused":           {answer: standin.Status(http.StatusBadRequest, "no")},
		"is not allowed":       {answer: standin.Status(http.StatusForbidden, "no")},
		"is answered by HTML":  {answer: standin.HTML(http.StatusOK)},
		"is lost":              {answer: standin.Lost(), effect: true},
		"is lost by a gateway": {answer: standin.LostStatus(http.StatusBadGateway), effect: true, lasts: true},
		"hangs":                {answer: hang, hangs: true},
		"hangs after":          {answer: hangAfter, hangs: true, effect: true},
	}
}

func hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }

func hangAfter(_ http.ResponseWriter, r *http.Request, own http.Handler) {
	own.ServeHTTP(httptest.NewRecorder(), r)
	<-r.Context().Done()
}

// on has an operation meet a fault, so many times; the first of those is told.
func (w *world) on(operation string, times int, f fault) (met <-chan struct{}) {
	first := make(chan struct{})
	tell := sync.OnceFunc(func() { close(first) })
	for _, s := range []*standin.Server{w.Results, w.REST, w.Blobs.Server} {
		s.On(standin.Operation(operation), times, func(rw http.ResponseWriter, r *http.Request, own http.Handler) {
			tell()
			f.answer(rw, r, own)
		})
	}
	return first
}

func (w *world) reset() {
	for _, s := range []*standin.Server{w.Results, w.REST, w.Blobs.Server} {
		s.Reset()
	}
}

// Whatever becomes of a request of Write: what it said was stored is read by the next
// attempt, nothing is read that was not written, and never two of one write.
func TestEveryRequestOfWriteMayFail(t *testing.T) {
	t.Parallel()
	n := 0
	for _, operation := range []string{"CreateArtifact", "PutBlock", "PutBlockList", "FinalizeArtifact"} {
		for _, name := range slices.Sorted(maps.Keys(faults())) {
			f := faults()[name]
			for _, times := range []int{1, -1} {
				for _, then := range []string{"is gone", "tries again", "is another process"} {
					if times < 0 && !f.lasts {
						continue
					}
					n++
					c := writeFault{operation, name, f, times, then, n%2 == 0, standin.RerunAll}
					if n/2%2 == 0 {
						c.how = standin.RerunFailed
					}
					t.Run(fmt.Sprintf("%s %s/%d times/then it %s/reserved %t", operation, name, times, then, c.reserved), func(t *testing.T) {
						t.Parallel()
						c.test(t)
					})
				}
			}
		}
	}
	t.Logf("%d schedules", n)
}

type writeFault struct {
	operation string
	name      string
	fault     fault
	times     int
	then      string
	reserved  bool
	how       standin.Rerun
}

func (c writeFault) test(t *testing.T) {
	w := newWorld(t, standin.StoresOptions{})
	s := w.open()
	met := w.on(c.operation, c.times, c.fault)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	if c.fault.hangs {
		go func() { <-met; cancel(errStop) }()
	}
	if c.reserved {
		s.Reserve(ctx, execution, checkpoint.Intent)
	}
	err := s.Write(ctx, execution, intent("1")...)
	c.check(t, w, err)
	stored := err == nil
	if c.fault.hangs && stored {
		t.Error("it returned though a request hung")
	}
	w.reset()
	switch c.then {
	case "is another process":
		s = w.open()
		fallthrough
	case "tries again":
		if err := s.Write(t.Context(), execution, intent("1")...); err != nil {
			t.Fatalf("again: %v", err)
		}
		stored = true
		if err := s.Write(t.Context(), execution, intent("2")...); !errors.Is(err, checkpoint.ErrTaken) {
			t.Errorf("with other content: %v", err)
		}
	}
	next := w.next(c.how)
	found := mustRead(t, next)
	documents, bad := good(found)
	if bad > 0 || !found.Complete {
		t.Errorf("%d copies cannot be read: %+v", bad, found)
	}
	if len(documents) == 0 && !stored {
		return
	}
	if diff := cmp.Diff(intent("1"), documents); diff != "" {
		t.Errorf("what is read (-want +have), %t:\n%s", stored, diff)
	}
}

// check holds the error of the first Write against what it may be.
func (c writeFault) check(t *testing.T, w *world, err error) {
	t.Helper()
	switch {
	case err == nil:
	case c.fault.hangs:
		if !errors.Is(err, errStop) || failure.CodeOf(err) != "" {
			t.Errorf("%v, want what ended the context", err)
		}
	case errors.Is(err, checkpoint.ErrTaken):
		t.Errorf("it is said to be somebody else's: %v", err)
	default:
		wantFailure(t, err, failure.CheckpointStoreFailed)
	}
	if err != nil {
		w.checkSecrets(err.Error())
	}
	once := c.times == 1 && !c.fault.hangs
	final := slices.Contains([]string{"is refused", "is not allowed", "is answered by HTML"}, c.name)
	if err != nil && once && !final {
		t.Errorf("one fault was too many: %v", err)
	}
}
