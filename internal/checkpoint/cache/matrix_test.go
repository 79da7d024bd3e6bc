package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// status answers without anything having been done.
func status(code int, body string, header ...string) fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
		_, _ = io.Copy(io.Discard, r.Body)
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// drop ends the connection without an answer, lost after it took effect.
func drop(w http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
	_, _ = io.Copy(io.Discard, r.Body)
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

func lost(w http.ResponseWriter, r *http.Request, do http.HandlerFunc) {
	do(httptest.NewRecorder(), r)
	drop(w, r, do)
}

func lostStatus(w http.ResponseWriter, r *http.Request, do http.HandlerFunc) {
	do(httptest.NewRecorder(), r)
	w.WriteHeader(http.StatusBadGateway)
}

// cut answers with a half of the answer, then ends the connection.
func cut(w http.ResponseWriter, r *http.Request, do http.HandlerFunc) {
	rec := httptest.NewRecorder()
	do(rec, r)
	w.Header().Set("Content-Length", strconv.Itoa(rec.Body.Len()+1))
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
}

// hang stands for no answer in time, for this request and not those beside it;
// hangAfter for one that took effect. An upload goes past what tells of that.
func (f *fake) hang(w http.ResponseWriter, r *http.Request, do http.HandlerFunc) {
	if r.Method == http.MethodPut {
		f.alarm.ring()
		f.silent(w, r, do)
		return
	}
	status(timeIsUp, "")(w, r, do)
}

// timeIsUp is the status for which [impatient] has the error of a try that got no
// answer.
const timeIsUp = 599

type impatient struct {
	client interface {
		Do(*http.Request) (*http.Response, error)
	}
}

func (i impatient) Do(req *http.Request) (*http.Response, error) {
	resp, err := i.client.Do(req)
	if err == nil && resp.StatusCode == timeIsUp {
		_ = resp.Body.Close()
		return nil, context.DeadlineExceeded
	}
	return resp, err
}

// silent never answers.
func (f *fake) silent(_ http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
	_, _ = io.Copy(io.Discard, r.Body)
	select {
	case <-r.Context().Done():
	case <-f.closing:
	}
}

func (f *fake) hangAfter(w http.ResponseWriter, r *http.Request, do http.HandlerFunc) {
	do(httptest.NewRecorder(), r)
	f.hang(w, r, do)
}

// errCrash ends the run that is at work.
var errCrash = errors.New("the machine is gone")

// schedule is one way in which a Write goes wrong: what becomes of the first requests
// for an operation.
type schedule struct {
	version string
	faults  [][2]string // operation, name of a fault
}

func (s schedule) String() string { return fmt.Sprint(s.version, s.faults) }

var matrixFaults = []string{"503", "429", "dropped", "lost", "lost with 502", "cut", "hang", "hang after", "crash before", "crash after"}

func (f *fake) named(name string, crash context.CancelCauseFunc) fault {
	switch name {
	case "503":
		return status(503, "")
	case "429":
		return status(429, "", "Retry-After", "1")
	case "dropped":
		return drop
	case "lost":
		return lost
	case "lost with 502":
		return lostStatus
	case "cut":
		return cut
	case "hang":
		return f.hang
	case "hang after":
		return f.hangAfter
	case "crash before":
		return func(w http.ResponseWriter, r *http.Request, do http.HandlerFunc) { crash(errCrash); f.silent(w, r, do) }
	case "crash after":
		return func(w http.ResponseWriter, r *http.Request, do http.HandlerFunc) {
			do(httptest.NewRecorder(), r)
			crash(errCrash)
			f.silent(w, r, do)
		}
	}
	panic(name)
}

// pairedFaults are those that differ in what they leave behind.
var pairedFaults = []string{"503", "lost", "hang after", "crash after"}

// schedules are all with one fault and, for the protocol of today, all with two: of one
// operation, one after the other, or of different ones.
func schedules() []schedule {
	var all []schedule
	ops := []string{opReserve, opUpload, opFinalize, opLookUp, opFetch}
	for _, version := range []string{"v1", "v2"} {
		for i, op := range ops {
			for _, name := range matrixFaults {
				all = append(all, schedule{version, [][2]string{{op, name}}})
			}
			if version == "v1" {
				continue
			}
			for _, name := range pairedFaults {
				for _, other := range ops[i:] {
					for _, second := range pairedFaults {
						all = append(all, schedule{version, [][2]string{{op, name}, {other, second}}})
					}
				}
			}
		}
	}
	return all
}

// Whenever a Write returned without an error, the next attempt reads what was
// written. It never reads anything else. After an error the same Write can be made
// again. That holds for every schedule.
func TestMatrix(t *testing.T) {
	t.Parallel()
	all := schedules()
	var group sync.WaitGroup
	slots := make(chan struct{}, 16) // Most of them wait.
	for _, s := range all {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			runSchedule(t, s)
		})
	}
	group.Wait()
	t.Logf("%d schedules", len(all))
}

func runSchedule(t *testing.T, s schedule) {
	f := startFake(t)
	defer f.end()
	open := func(attempt int) *Store {
		o := f.options(attempt)
		if s.version == "v1" {
			o.ResultsURL = ""
		}
		store, err := Open(o)
		if err != nil {
			t.Errorf("%s: %v", s, err)
			return nil
		}
		store.service.pause, store.service.most = time.Millisecond, time.Millisecond
		store.service.after, store.service.client = f.alarm.after, impatient{store.service.client}
		return store
	}
	ctx, crash := context.WithCancelCause(t.Context())
	defer crash(nil)
	for _, x := range s.faults {
		answer := f.named(x[1], crash)
		if s.version == "v2" && x[0] == opUpload {
			// The library goes on trying, after 10 s and more, until its time is up.
			answer = func(w http.ResponseWriter, r *http.Request, do http.HandlerFunc) {
				f.named(x[1], crash)(w, r, do)
				f.alarm.ring()
			}
		}
		f.on(x[0], answer)
	}
	first := open(1)
	err := first.Write(ctx, job, intent("a")...)
	if err == nil {
		// Storing it again does what a lost answer has the caller do.
		err = first.Write(ctx, job, intent("a")...)
	}
	checkError(ctx, t, f, s, err)
	stored := err == nil
	f.calm()

	second := open(2)
	got := steps(t, s, second, "a")
	if stored && !slices.Contains(got, checkpoint.Intent) {
		t.Errorf("%s: the next attempt does not find what was stored: %v", s, f.keys())
	}
	for _, store := range []*Store{open(1), second} {
		if err := store.Write(t.Context(), job, intent("a")...); err != nil {
			t.Errorf("%s: storing it again: %v", s, err)
		}
	}
	if got := steps(t, s, open(3), "a"); !slices.Contains(got, checkpoint.Intent) {
		t.Errorf("%s: it is not there in the end: %v", s, f.keys())
	}
}

// checkError checks the form of an error: the end of ctx, or a coded failure.
func checkError(ctx context.Context, t *testing.T, f *fake, s schedule, err error) {
	switch {
	case err == nil:
		return
	case ctx.Err() != nil:
		if !errors.Is(err, errCrash) || failure.CodeOf(err) != "" {
			t.Errorf("%s: the error of a run that ended is %v", s, err)
		}
	case failure.CodeOf(err) != failure.CheckpointStoreFailed:
		t.Errorf("%s: the error is %v", s, err)
	}
	f.clean(err.Error())
}

// steps returns which steps a store reads, all of which must say what.
func steps(t *testing.T, s schedule, store *Store, what string) []checkpoint.Step {
	found, err := store.Read(t.Context(), job)
	if err != nil {
		t.Errorf("%s: %v", s, err)
	}
	var all []checkpoint.Step
	for _, c := range found.Copies {
		if diff := cmp.Diff(document(c.Step, what), c.Document); diff != "" || c.Err != nil {
			t.Errorf("%s: what was read was never written, error %v (-want +got):\n%s", s, c.Err, diff)
		}
		all = append(all, c.Step)
	}
	return all
}

// What goes wrong for a moment does not show in a Read; what goes wrong for good
// does.
func TestReadMatrix(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, open func(*testing.T, *fake, int) *Store) {
		for _, op := range []string{opLookUp, opFetch} {
			for _, name := range matrixFaults {
				for _, times := range []int{1, 100} {
					t.Run(fmt.Sprintf("%s %s %d", op, name, times), func(t *testing.T) {
						t.Parallel()
						f := newFake(t)
						s := open(t, f, 1)
						if err := s.Write(t.Context(), job, intent("a")...); err != nil {
							t.Fatal(err)
						}
						ctx, crash := context.WithCancelCause(t.Context())
						defer crash(nil)
						for range times {
							f.on(op, f.named(name, crash))
						}
						found, err := s.Read(ctx, job)
						checkError(ctx, t, f, schedule{}, err)
						good := slices.ContainsFunc(found.Copies, func(c checkpoint.Copy) bool { return c.Step == checkpoint.Intent && c.Err == nil })
						bad := slices.ContainsFunc(found.Copies, func(c checkpoint.Copy) bool { return c.Step == checkpoint.Intent && c.Err != nil })
						crashed := strings.HasPrefix(name, "crash")
						switch {
						case crashed || times > 1 && op == opLookUp:
							if err == nil {
								t.Errorf("there is no error; copies are %v", found.Copies)
							}
						case times > 1:
							if err != nil || good || !bad {
								t.Errorf("error %v, copies %v, want one that cannot be read", err, found.Copies)
							}
						case err != nil || !good || bad:
							t.Errorf("error %v, copies %v", err, found.Copies)
						}
					})
				}
			}
		}
	})
}
