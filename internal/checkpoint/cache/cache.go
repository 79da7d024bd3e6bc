// Package cache keeps records in the cache of GitHub Actions.
//
// It is a second place, not one to stand alone: entries are evicted (after 7 days
// without use, or when the repository has more than 10 GB), minutes have been seen
// to pass between the end of a save and the first lookup that finds it, and everybody
// who can run a workflow on the branch can write entries with any key. So what is
// not found may have been stored, and what is found may come from anybody: nothing
// that is read here is ever [checkpoint.Found.Complete], and it takes a
// [checkpoint.Key] to believe it.
//
// The protocols, that of today (v2, Twirp) and the one before (v1, REST), are those of
// go-actions-cache. What stands between it and the network is this package's: every
// answer is bounded, checked, and rid of its secrets before the library sees it
// (service.go), and downloads are made here, since the library would repeat them for
// minutes and takes any amount.
package cache

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	actionscache "github.com/tonistiigi/go-actions-cache"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/bundle"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
	"github.com/aks-oneshot/aks-oneshot/internal/secret"
)

// Name is the word of the input checkpoint-stores for this place.
const Name = "cache"

// Options are what a [Store] is opened with. The first are what the
// runner says of the job, in the variables that are named.
type Options struct {
	// ResultsURL is ACTIONS_RESULTS_URL: the service that has the cache of today, of
	// which the path counts for nothing. Where it is "", CacheURL is asked,
	// ACTIONS_CACHE_URL, the one before. ACTIONS_CACHE_SERVICE_V2 would tell which of
	// them is in use, but only JavaScript actions get it.
	ResultsURL, CacheURL string
	// RuntimeToken is ACTIONS_RUNTIME_TOKEN. It is masked before anything else.
	RuntimeToken string
	// Mode is ACTIONS_CACHE_MODE: read, write, write-only or none; "" if not said.
	Mode string
	// Attempt is GITHUB_RUN_ATTEMPT, from 1. It is in the key of what is stored.
	Attempt int

	// Believes reports whether a document is to be gone by, as [checkpoint.Key] has it.
	// One that is not hides none of those before it. Nil is of every document.
	Believes func(execution string, d checkpoint.Document) bool

	// Version is this program's, for the services' logs.
	Version string
	// Mask hides a secret from now on; Notify tells people something. Both may be
	// called by several goroutines, and may be nil.
	Mask, Notify func(string)
	// Network is how the services are reached. What the library uploads goes by the
	// system's certificate authorities and the proxy of the environment, whatever it
	// says. Its Sending, MaxBody and Local are set here.
	Network network.ClientOptions
}

// Store keeps records in the cache. It is a [checkpoint.Shared].
type Store struct {
	cache   *actionscache.Cache
	service *service
	attempt int
	// believes is that of the options.
	believes func(execution string, d checkpoint.Document) bool

	// upload is what the upload of an entry gets, read and write what a whole Read
	// or Write does.
	upload, read, write time.Duration
}

var _ checkpoint.Shared = (*Store)(nil)

// Open returns the cache of the job that runs here. Nothing is sent yet.
//
// The error is checkpoint-store-failed. It is one where the job may not both read
// and write: records that only this attempt can see, or that it cannot make, are of
// no use.
func Open(o Options) (*Store, error) {
	hidden := secret.NewMasked(o.Mask)
	hidden.Add(o.RuntimeToken)
	if err := check(o); err != nil {
		return nil, err
	}
	base, err := baseOf(o)
	if err != nil {
		return nil, err
	}
	v2 := o.ResultsURL != ""
	o.Network.Sending, o.Network.MaxBody, o.Network.Local = nil, bundle.MaxSize, true
	service := newService(network.NewClient(o.Network), base, v2, hidden, o.Notify)
	cache, err := actionscache.New(o.RuntimeToken, base.String(), v2, actionscache.Opt{
		Client: &http.Client{Transport: service},
		// Neither is used, since the library sees no answer it would wait after. Its
		// own pool is shared by everybody in the process.
		Timeout: time.Minute, BackoffPool: &actionscache.BackoffPool{},
		UserAgent: "aks-oneshot/" + o.Version,
	})
	if err != nil {
		return nil, badToken(err)
	}
	if err := checkScopes(cache.Scopes()); err != nil {
		return nil, err
	}
	if o.Believes == nil {
		o.Believes = func(string, checkpoint.Document) bool { return true }
	}
	return &Store{
		cache: cache, service: service, attempt: o.Attempt, believes: o.Believes,
		upload: 30 * time.Second, read: time.Minute, write: 2 * time.Minute,
	}, nil
}

// Name implements [checkpoint.Shared].
func (*Store) Name() string { return Name }

func check(o Options) error {
	switch {
	case o.RuntimeToken == "":
		return notOpened("ACTIONS_RUNTIME_TOKEN is not set").WithFix("%s", fixRunner)
	case strings.ContainsFunc(o.RuntimeToken, func(r rune) bool { return r <= ' ' || r > '~' }):
		return notOpened("ACTIONS_RUNTIME_TOKEN holds a character that no token has").WithFix("%s", fixRunner)
	case o.Attempt < 1:
		return notOpened("the attempt of the run is %d, and they are counted from 1", o.Attempt).WithFix("%s", fixRunner)
	}
	switch o.Mode {
	case "read":
		return notOpened("this job may only read it (ACTIONS_CACHE_MODE is read)").WithFix("%s", fixReadOnly)
	case "write-only":
		return notOpened("this job may only write it (ACTIONS_CACHE_MODE is write-only), so that no attempt could read what another stored").WithFix("%s", fixOther)
	case "none":
		return notOpened("this job may not use it (ACTIONS_CACHE_MODE is none)").WithFix("%s", fixOther)
	}
	return nil // Of a mode that is not known, the service will say what it forbids.
}

// checkScopes looks for a scope that may be written, which is that of the ref the job
// runs for. Others, as that of the default branch, are for reading. Where something
// stands in for GitHub, tokens have been seen that name writing alone and let read.
func checkScopes(scopes []actionscache.Scope) error {
	may := "not use"
	for _, s := range scopes {
		if s.Permission&actionscache.PermissionWrite != 0 {
			return nil
		}
		if s.Permission&actionscache.PermissionRead != 0 {
			may = "only read"
		}
	}
	return notOpened("by its runtime token this job may %s it", may).WithFix("%s", fixReadOnly)
}

// baseOf returns the address that the methods of the service are below.
func baseOf(o Options) (*url.URL, error) {
	variable, text := "ACTIONS_RESULTS_URL", o.ResultsURL
	if text == "" {
		variable, text = "ACTIONS_CACHE_URL", o.CacheURL
	}
	if text == "" {
		return nil, notOpened("neither ACTIONS_RESULTS_URL nor ACTIONS_CACHE_URL is set, so that there is no cache here").
			WithFix("%s", fixOther)
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, notOpened("%s is not the address of a service", variable).WithFix("%s", fixRunner)
	}
	base := &url.URL{Scheme: u.Scheme, Host: u.Host}
	if o.ResultsURL == "" {
		base.Path = u.Path
	}
	return base, nil
}

// keyPrefix begins every key.
const keyPrefix = "aks-oneshot-"

// where names a key for people.
func where(key string) string { return fmt.Sprintf("cache key %s", key) }
