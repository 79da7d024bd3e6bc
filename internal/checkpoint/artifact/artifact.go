// Package artifact keeps records as artifacts of a GitHub workflow run: one for each
// step of an execution and attempt of the run.
//
// Three services have a part in it. The results service, which only a job of the run
// can ask, makes artifacts and shows those of the attempt, and of others now and
// then. The REST API shows those of every attempt to whoever may read the run. The
// contents are blobs of Azure Storage at addresses that are signed for a while.
package artifact

import (
	"context"
	"crypto/x509"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
	"github.com/aks-oneshot/aks-oneshot/internal/secret"
)

// Options say which run the artifacts are of, and how it is reached. What is not
// marked as optional has to be given.
type Options struct {
	// ResultsURL is where the results service is (ACTIONS_RESULTS_URL); of an
	// address with a path the origin counts. RuntimeToken is what it is asked with.
	ResultsURL, RuntimeToken string
	// APIURL is where the REST API is, and Token what it is asked with; without one
	// it is not asked.
	APIURL, Token string
	// Repository is OWNER/NAME, RunID and Attempt say which run of it.
	Repository string
	RunID      int64
	Attempt    int
	// RetentionDays is the most days that an artifact of this run may be kept; 0
	// leaves it to the service.
	RetentionDays int
	// Version is of this program, for the services' logs.
	Version string
	// Mask is told each secret before it is used for the first time. Optional.
	Mask func(string)
	// Notify is told what people should know and no error tells. Optional.
	Notify func(string)

	// Proxy and RootCAs are as in [network.ClientOptions]. Optional.
	Proxy   network.ProxyFunc
	RootCAs *x509.CertPool
	// Now tells the time, Sleep pauses until ctx ends. Optional.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration)
}

// Artifact is one that was stored.
type Artifact struct {
	Name string `json:"name"`
	ID   int64  `json:"id"`
}

// Store keeps records as artifacts. It is safe for concurrent use.
type Store struct {
	options Options
	secrets *secret.Masked
	results *results
	rest    *rest
	blobs   *blobs

	mu     sync.Mutex
	latest *listing // what was listed last
	used   bool     // whether a Read has used the first listing
	seen   map[key]content
	slots  map[slotKey]*slot
	stored []Artifact
	warned bool
}

var (
	_ checkpoint.Shared   = (*Store)(nil)
	_ checkpoint.Reserver = (*Store)(nil)
)

// Open returns the store for the artifacts of a run. It begins to list them and
// returns at once; the first Read uses what comes of it. What it begun ends when ctx
// does.
//
// The error is checkpoint-store-failed, and says what is missing.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = pause
	}
	if o.Notify == nil {
		o.Notify = func(string) {}
	}
	masks := secret.NewMasked(o.Mask, o.RuntimeToken, o.Token)
	client := network.NewClient(network.ClientOptions{Local: true, MaxBody: maxList, Proxy: o.Proxy, RootCAs: o.RootCAs})
	p := pace{tries: 5, first: 500 * time.Millisecond, factor: 3, most: 30 * time.Second, try: time.Minute, sleep: o.Sleep}
	service, err := newResults(o, client, masks, p)
	if err != nil {
		return nil, err
	}
	restPace := p
	if o.Attempt <= 1 {
		// There is nothing that only the REST API could show: it is not waited for
		// long where the results service fails, and else not at all.
		restPace.tries, restPace.try = 2, 10*time.Second
	}
	api, err := newREST(o, client, masks, restPace)
	if err != nil {
		return nil, err
	}
	s := &Store{
		options: o, secrets: masks, results: service, rest: api,
		blobs: &blobs{client: client, secrets: masks, pace: p, agent: agent(o), plain: strings.HasPrefix(service.origin, "http:")},
		seen:  map[key]content{}, slots: map[slotKey]*slot{},
	}
	s.latest = s.list(ctx, true)
	return s, nil
}

func agent(o Options) string { return "aks-oneshot/" + o.Version }

// Name is the word for the store.
func (*Store) Name() string { return "artifact" }

// Artifacts returns what was stored by this Store, or found to be stored already, in
// that order.
func (s *Store) Artifacts() []Artifact {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.stored)
}

func (s *Store) keep(a Artifact) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.stored, a) {
		s.stored = append(s.stored, a)
	}
}

// doer sends requests, as [network.Client] does.
type doer interface {
	Do(req *http.Request) (*http.Response, error)
}

func storeFailed(format string, args ...any) *failure.Error {
	return failure.New(failure.CheckpointStoreFailed, format, args...)
}
