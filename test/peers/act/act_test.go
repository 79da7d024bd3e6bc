package act

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nektos/act/pkg/artifacts"
	"github.com/nektos/act/pkg/common"
	"github.com/sirupsen/logrus"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/artifact"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/test/peers/records"
)

const run = 15402213877

func TestMain(m *testing.M) {
	logrus.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// server is act's, which has a run in which something was stored already.
type server struct {
	url  string
	runs string // has a folder for each run
}

// serve starts act's server, in which the run has an artifact of another job: act
// answers no list of a run that has none.
func serve(t *testing.T) server {
	t.Helper()
	s := server{runs: t.TempDir()}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	end := artifacts.Serve(ctx, s.runs, host, port)
	t.Cleanup(func() {
		end()
		cancel()
		until(t, "act's server is gone", func() bool { return !answers(address) })
	})
	until(t, "act's server is there", func() bool { return answers(address) })
	front := httptest.NewServer(oneByOne(address))
	t.Cleanup(front.Close)
	s.url = front.URL + "/"
	if err := os.MkdirAll(filepath.Join(s.runs, strconv.Itoa(run), "coverage"), 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

// oneByOne hands requests on to act's server, one at a time: of two at once it writes
// and reads the address that it was asked by without a lock, which the race detector
// takes amiss. What it does not answer is not answered.
func oneByOne(address string) http.Handler {
	var turn sync.Mutex
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: address})
			r.Out.Host = r.In.Host // the addresses that it gives lead here
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turn.Lock()
		defer turn.Unlock()
		proxy.ServeHTTP(w, r)
	})
}

// until waits until something is so, which no event tells.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute it is still not so that %s", what)
		}
	}
}

func answers(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// open returns the store as a job of an attempt has it, with the token that act
// gives to jobs and no other: there is no REST API.
func (s server) open(t *testing.T, run int64, attempt int) *artifact.Store {
	t.Helper()
	token, err := common.CreateAuthorizationToken(1, run, 2)
	if err != nil {
		t.Fatal(err)
	}
	store, err := artifact.Open(t.Context(), artifact.Options{
		ResultsURL: s.url, RuntimeToken: token, Repository: "acme/orders", RunID: run, Attempt: attempt,
		RetentionDays: 90, Version: "v0.0.0-test",
		Sleep: func(context.Context, time.Duration) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func write(t *testing.T, store *artifact.Store, all ...checkpoint.Document) {
	t.Helper()
	if err := store.Write(t.Context(), records.Execution, all...); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, store *artifact.Store) checkpoint.Found {
	t.Helper()
	found, err := store.Read(t.Context(), records.Execution)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestEveryStepGoesThroughTheServerOfActAndBack(t *testing.T) {
	t.Parallel()
	s, all := serve(t), records.All(t)
	store := s.open(t, run, 1)
	if found := read(t, store); len(found.Copies) > 0 || !found.Complete || found.Blind != nil {
		t.Errorf("before anything is stored: %+v", found)
	}
	store.Reserve(t.Context(), records.Execution, checkpoint.Intent)
	write(t, store, all[checkpoint.Prepared], all[checkpoint.Intent])
	write(t, store, all[checkpoint.Dispatched])
	write(t, store, all[checkpoint.Ambiguous])
	write(t, store, all[checkpoint.Terminal])
	stored := store.Artifacts()
	if len(stored) != 4 || stored[0].Name != records.Execution+".dispatch-intent.1" || stored[0].ID == 0 {
		t.Errorf("stored are %+v", stored)
	}
	found := read(t, s.open(t, run, 1))
	if !found.Complete || found.Blind != nil {
		t.Errorf("in the first attempt the list of the results service is complete: %v, %v", found.Complete, found.Blind)
	}
	records.Same(t, found, all[checkpoint.Prepared], all[checkpoint.Intent], all[checkpoint.Dispatched], all[checkpoint.Ambiguous], all[checkpoint.Terminal])
}

func TestASecondAttemptOnActReadsTheFirstAndIsBlind(t *testing.T) {
	t.Parallel()
	s, all := serve(t), records.All(t)
	write(t, s.open(t, run, 1), all[checkpoint.Prepared], all[checkpoint.Intent])
	found := read(t, s.open(t, run, 2))
	records.Same(t, found, all[checkpoint.Prepared], all[checkpoint.Intent])
	for _, c := range found.Copies {
		if c.Attempt != 1 {
			t.Errorf("%s is said to be of attempt %d", c.Where, c.Attempt)
		}
	}
	if found.Complete || found.Blind == nil {
		t.Fatalf("without the REST API a second attempt cannot know everything: complete %v, blind %v", found.Complete, found.Blind)
	}
	if text := found.Blind.Error(); !strings.Contains(text, "actions: read") && !strings.Contains(text, "github-token") {
		t.Errorf("it is not said what to do: %s", text)
	}
}

func TestASecondAttemptOnActThatFindsNothingIsBlind(t *testing.T) {
	t.Parallel()
	found := read(t, serve(t).open(t, run, 2))
	if len(found.Copies) > 0 || found.Complete || found.Blind == nil {
		t.Errorf("found is %+v", found)
	}
}

func TestAnotherRunnerOnActHasTheIntentFirst(t *testing.T) {
	t.Parallel()
	s, all := serve(t), records.All(t)
	write(t, s.open(t, run, 1), all[checkpoint.Prepared], all[checkpoint.Intent])
	other := records.Differing(all[checkpoint.Intent])
	late := s.open(t, run, 1)
	if err := late.Write(t.Context(), records.Execution, all[checkpoint.Prepared], other); !errors.Is(err, checkpoint.ErrTaken) {
		t.Errorf("a second intent with other content: %v", err)
	}
	records.Same(t, read(t, late), all[checkpoint.Prepared], all[checkpoint.Intent])
	again := s.open(t, run, 1)
	write(t, again, all[checkpoint.Prepared], all[checkpoint.Intent])
	if len(again.Artifacts()) != 1 {
		t.Errorf("the same once more is stored as %+v", again.Artifacts())
	}
	records.Same(t, read(t, again), all[checkpoint.Prepared], all[checkpoint.Intent])
}

// act lists what was created and never finished; that it is empty must not be taken
// for a step that was never recorded.
func TestAnIntentThatWasOnlyReservedOnActIsACopyThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := serve(t)
	store := s.open(t, run, 1)
	read(t, store)
	store.Reserve(t.Context(), records.Execution, checkpoint.Intent)
	file := filepath.Join(s.runs, strconv.Itoa(run), records.Execution+".dispatch-intent.1", records.Execution+".dispatch-intent.1.zip")
	until(t, "the reservation is there", func() bool {
		_, err := os.Stat(file)
		return err == nil
	})
	found := read(t, s.open(t, run, 1))
	if len(found.Copies) != 1 || found.Copies[0].Step != checkpoint.Intent || found.Copies[0].Err == nil {
		t.Errorf("found is %+v", found)
	}
}

// Without the folder of the run act ends the connection. Nobody knows what is there
// then, so that nothing may be dispatched.
func TestARunThatActDoesNotKnowIsAnError(t *testing.T) {
	t.Parallel()
	s := serve(t)
	found, err := s.open(t, 4711, 1).Read(t.Context(), records.Execution)
	if failure.CodeOf(err) != failure.CheckpointStoreFailed {
		t.Errorf("found is %+v, the error %v", found, err)
	}
}

func TestCleanLeavesTheTerminalRecordOnAct(t *testing.T) {
	t.Parallel()
	s, all := serve(t), records.All(t)
	store := s.open(t, run, 1)
	write(t, store, all[checkpoint.Prepared], all[checkpoint.Intent])
	write(t, store, all[checkpoint.Dispatched])
	write(t, store, all[checkpoint.Terminal])
	read(t, store)
	if err := store.Clean(t.Context(), records.Execution); err != nil {
		t.Fatal(err)
	}
	records.Same(t, read(t, s.open(t, run, 1)), all[checkpoint.Terminal])
}
