package standin

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Stores plays what GitHub has for a workflow to keep things in: the results
// service with its artifacts and its cache, the REST API as far as artifacts go,
// and the blob server that both have their files on. It has one repository, and
// always a job that runs, which tests move to its next attempt.
type Stores struct {
	// Results is the results service: artifacts (version 4), and the cache in both
	// of its versions.
	Results *Server
	// REST is the REST API, as https://api.github.com is.
	REST *Server
	// Blobs is the blob server, nil when [StoresOptions.Storage] is another one.
	Blobs *BlobServer

	ledger    *Ledger
	signer    *signer
	storage   Storage
	cachePath string // where the first version of the cache is

	mu        sync.Mutex
	options   StoresOptions
	attempt   Attempt
	attempts  int // in all runs
	tokens    map[string]Permission
	ended     map[string]bool
	rows      []*row
	entries   []*entry
	lastEntry int64
}

// NewStores starts them, with a run in its first attempt.
func NewStores(authority *Authority, ledger *Ledger, options StoresOptions) (*Stores, error) {
	s := &Stores{
		ledger: ledger, storage: options.Storage, options: options.filled(), cachePath: "/" + uuid.NewString(),
		tokens: map[string]Permission{}, ended: map[string]bool{},
	}
	if err := s.start(authority); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the stand-ins of GitHub's stores: %w", err), s.Close())
	}
	s.NextRun()
	return s, nil
}

func (s *Stores) start(authority *Authority) (err error) {
	if s.signer, err = resultsKey(); err != nil {
		return err
	}
	if s.storage == nil {
		if s.Blobs, err = NewBlobServer(authority, s.ledger); err != nil {
			return err
		}
		s.storage = s.Blobs
	}
	mux := http.NewServeMux()
	s.serveTwirp(mux)
	s.serveCacheV1(mux)
	if s.Results, err = NewServer("results", authority, mux); err != nil {
		return err
	}
	s.REST, err = NewServer("rest", authority, s.restHandler())
	return err
}

func (s *Stores) servers() []*Server {
	all := []*Server{s.Results, s.REST}
	if s.Blobs != nil {
		all = append(all, s.Blobs.Server)
	}
	return slices.DeleteFunc(all, func(s *Server) bool { return s == nil })
}

// Close ends everything.
func (s *Stores) Close() error {
	var all []io.Closer
	for _, server := range s.servers() {
		all = append(all, server)
	}
	return closeAll(all...)
}

// Change changes how they behave from the next request on.
func (s *Stores) Change(change func(*StoresOptions)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.options)
	s.options = s.options.filled()
}

// config is how they behave now.
func (s *Stores) config() StoresOptions {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options
}

// SetDelay makes every request to any of them wait before it is answered.
func (s *Stores) SetDelay(d time.Duration) {
	for _, server := range s.servers() {
		server.SetDelay(d)
	}
}

// Requests returns the requests to all of them in the order of their arrival.
func (s *Stores) Requests() []Request {
	var all []Request
	for _, server := range s.servers() {
		all = append(all, server.Requests()...)
	}
	slices.SortStableFunc(all, func(x, y Request) int { return x.Time.Compare(y.Time) })
	return all
}

// Count returns how many requests there were of some operations, of all of them
// when none is named.
func (s *Stores) Count(operations ...string) int {
	count := 0
	for _, r := range s.Requests() {
		if len(operations) == 0 || slices.Contains(operations, r.Operation) {
			count++
		}
	}
	return count
}
