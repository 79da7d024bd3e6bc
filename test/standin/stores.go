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

// Permission is what a github token may do with `actions`.
type Permission int

// The permissions of github tokens.
const (
	// ActionsRead is `actions: read`.
	ActionsRead Permission = iota
	// ActionsWrite is `actions: write`.
	ActionsWrite
	// ActionsNone is a token with other permissions: 403.
	ActionsNone
	// ActionsUnseen is a token that may not even know of the repository: 404.
	ActionsUnseen
)

// CacheAccess is what a job may do with the cache.
type CacheAccess int

// The kinds of access.
const (
	CacheWrite CacheAccess = iota // and read
	CacheReadOnly
	CacheWriteOnly
	CacheNone
)

// Order is the one in which rows are listed.
type Order int

// The orders.
const (
	OrderNewest Order = iota
	OrderOldest
	// OrderShuffled is one that is neither, and stays.
	OrderShuffled
)

// StoresOptions say how the stores behave. The zero value is what GitHub does.
type StoresOptions struct {
	// Owner and Repository are "acme" and "orders" when empty.
	Owner, Repository string
	// Ref is what the workflow runs on, DefaultBranch what everybody may read the
	// cache of; both are refs/heads/main when empty.
	Ref, DefaultBranch string
	// RetentionDays is how long an artifact is kept at most, 90 when zero.
	RetentionDays int
	// ServerURL is GITHUB_SERVER_URL, https://github.com when empty.
	ServerURL string
	// Actions is the permission of the github tokens that attempts get from now on.
	Actions Permission
	// Cache is what the service allows. The tokens that are issued from now on say
	// so too.
	Cache CacheAccess
	// CacheMode is ACTIONS_CACHE_MODE, which is not there when empty.
	CacheMode string
	// NoResults leaves out ACTIONS_RESULTS_URL, CacheV1 sets ACTIONS_CACHE_URL.
	NoResults, CacheV1 bool
	// CamelCase has answers as implementations give them that are not GitHub's: in
	// camelCase and without what is empty, zero or false.
	CamelCase bool
	// AscendingIDs makes a later attempt's ids higher than an earlier one's; else
	// they are lower.
	AscendingIDs bool
	// RunBackendPerAttempt gives each new attempt a backend id of the run of its own.
	RunBackendPerAttempt bool
	// HideEarlier makes the internal list show a token's own attempt alone;
	// [Stores.NextAttempt] sets it.
	HideEarlier bool
	// UnsignedEarlier makes GetSignedArtifactURL answer 404 for earlier attempts,
	// though the list shows them.
	UnsignedEarlier bool
	// FinalizeTwice takes a second FinalizeArtifact, which is 404 else: it is not
	// known what the real one does.
	FinalizeTwice bool
	// Order is that of both lists of artifacts.
	Order Order
	// Stale is how many lists, or lookups in the cache, do not show yet what was
	// finalized from now on. The lists of both APIs count by themselves.
	Stale int
	// MaxArtifacts is how many a job may have, 500 when zero.
	MaxArtifacts int
	// Storage is another blob server to be used. It counts for [NewStores] only.
	Storage Storage
}

func (o StoresOptions) filled() StoresOptions {
	o.Owner, o.Repository = orElse(o.Owner, "acme"), orElse(o.Repository, "orders")
	o.DefaultBranch = orElse(o.DefaultBranch, "refs/heads/main")
	o.Ref = orElse(o.Ref, o.DefaultBranch)
	o.ServerURL = orElse(o.ServerURL, "https://github.com")
	if o.RetentionDays == 0 {
		o.RetentionDays = 90
	}
	if o.MaxArtifacts == 0 {
		o.MaxArtifacts = 500
	}
	return o
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
