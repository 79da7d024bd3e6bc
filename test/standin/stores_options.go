package standin

import "time"

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
	// TokenLifetime is how long the runtime tokens are good that are issued from now
	// on, six hours when zero; with a negative one they have ended already.
	TokenLifetime time.Duration
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
	if o.TokenLifetime == 0 {
		o.TokenLifetime = 6 * time.Hour
	}
	if o.MaxArtifacts == 0 {
		o.MaxArtifacts = 500
	}
	return o
}
