package cache

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	actionscache "github.com/tonistiigi/go-actions-cache"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// guard runs a call of the library. It returns when ctx ends, whatever the library
// does then, and takes a panic for an error.
func guard[T any](ctx context.Context, call func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		r.err = checkpoint.Guard("asking the cache", func() (err error) {
			r.value, err = call()
			return err
		})
		done <- r
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// entry is what was found for a key.
type entry struct {
	key, address string
}

// load looks for the newest entry whose key is the given one, or begins with it. It
// returns nil when there is none. The error wraps ctx's cause or is a [*problem].
func (s *Store) load(ctx context.Context, key string) (*entry, error) {
	found, err := guard(ctx, func() (*actionscache.Entry, error) { return s.cache.Load(ctx, key) })
	switch {
	case err != nil:
		return nil, s.told(ctx, err)
	case found == nil:
		return nil, nil
	}
	return &entry{found.Key, found.URL}, nil
}

// save stores an entry. stage says how far it came. The error wraps ctx's cause or is
// a [*problem].
func (s *Store) save(ctx context.Context, key string, data []byte) (reached stage, err error) {
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &progress{cancel: cancel, after: func(f func()) func() bool { return s.service.after(s.upload, f) }}
	defer p.end()
	_, err = guard(within, func() (struct{}, error) {
		return struct{}{}, s.cache.Save(context.WithValue(within, progressKey{}, p), key, actionscache.NewBlob(data))
	})
	reached, host := p.reached()
	switch {
	case err == nil:
		return reached, nil
	case ctx.Err() == nil && (reached == uploading || within.Err() != nil):
		return reached, s.notUploaded(within, host, err)
	}
	return reached, s.told(ctx, err)
}

// told makes a [*problem] of what the library returned, unless ctx ended. Nothing of
// it is repeated but what comes from the service: the rest has addresses, signed ones
// among them.
func (s *Store) told(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if _, ok := errors.AsType[*checkpoint.PanicError](err); ok {
		return &problem{what: "the client of the cache panicked, at an answer that it does not expect", fix: fixOther}
	}
	return unknown()
}

// errSlow is the cause of the end of an upload that takes too long.
var errSlow = errors.New("the upload takes too long")

// notUploaded tells of an upload to the blob service, which the library makes by
// itself. It has asked again already.
func (s *Store) notUploaded(ctx context.Context, host string, err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if _, ok := errors.AsType[*checkpoint.PanicError](err); ok {
		return &problem{what: "the client of the cache panicked, at an answer that it does not expect", fix: fixOther}
	}
	if errors.Is(context.Cause(ctx), errSlow) {
		return &problem{what: fmt.Sprintf("%s did not take an upload in %s", host, s.upload), fix: "Check that this runner's network lets it reach " + host, temporary: true}
	}
	if refused, ok := errors.AsType[*azcore.ResponseError](err); ok {
		p := &problem{what: fmt.Sprintf("%s answered HTTP %d to an upload", host, refused.StatusCode), fix: fixProxy(host)}
		if code := s.service.said(refused.ErrorCode); code != "" {
			p.what += ": " + code
		}
		return p
	}
	cause := network.CauseOf(err)
	if text := cause.Text(host); text != "" {
		return &problem{what: text, fix: adviceOn(cause, host), temporary: cause.Temporary()}
	}
	return &problem{what: "the upload to " + host + " failed in an unknown way", fix: adviceOn(cause, host)}
}

// stage is how far a save came.
type stage int

const (
	// reserving is before the key was had: nothing is stored.
	reserving stage = iota
	// uploading is with the key had, which nobody else can get now.
	uploading
	// finishing is when the entry may be there.
	finishing
)

// progress follows a save through its calls. Its upload goes past the service, so it
// is ended from here when it takes too long.
type progress struct {
	cancel context.CancelCauseFunc
	after  func(func()) (stop func() bool)

	mu    sync.Mutex
	stage stage
	host  string
	stop  func() bool
}

type progressKey struct{}

// progressOf returns the progress that a request is part of. What is done with that
// of one which is part of none has no consequence.
func progressOf(ctx context.Context) *progress {
	if p, ok := ctx.Value(progressKey{}).(*progress); ok {
		return p
	}
	return &progress{cancel: func(error) {}, after: func(func()) func() bool { return func() bool { return true } }}
}

// reserved says that the key was had, and where its content goes: in v1 to the
// service itself.
func (p *progress) reserved(signed, service string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stage, p.host = uploading, service
	if u, err := url.Parse(signed); err == nil && signed != "" {
		p.host = u.Host
	}
	p.stop = p.after(func() { p.cancel(errSlow) })
}

// finalizing says that the upload is done.
func (p *progress) finalizing() {
	p.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stage = finishing
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil {
		p.stop()
	}
}

func (p *progress) reached() (stage, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stage, p.host
}
