package standin

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Storage is the blob server that the results service's signed URLs point to. A
// blob's name is "container/path". It is used by several requests at once.
type Storage interface {
	// SignedURL returns a URL with which whoever has it may read or write one blob
	// for a while, as a service SAS of Azure is.
	// https://learn.microsoft.com/en-us/rest/api/storageservices/create-service-sas
	SignedURL(blob SignedBlob) (string, error)
	// Get returns the content of a blob that is whole. The error is fs.ErrNotExist
	// when there is none, also while there are only blocks of it.
	Get(ctx context.Context, name string) ([]byte, error)
	// Put makes a blob, or another one in its place.
	Put(ctx context.Context, name string, data []byte) error
	// Delete removes a blob. None there is no error.
	Delete(ctx context.Context, name string) error
}

// SignedBlob is what a signed URL is for.
type SignedBlob struct {
	// Name is "container/path"; the container is one of [Containers].
	Name string
	// Write is true for an upload (sp=cw), false for a download (sp=r).
	Write bool
	// Expires is se, in whole seconds.
	Expires time.Time
	// ContentType and ContentDisposition are headers of the download (rsct, rscd),
	// empty for none.
	ContentType, ContentDisposition string
}

// Containers are the containers that a [Storage] has to have.
func Containers() []string { return []string{artifactContainer, cacheContainer} }

const (
	artifactContainer = "actions-results"
	cacheContainer    = "actions-cache"
)

// blobAccount is the storage account, the first segment of a path as on every
// server that is named by its address.
const blobAccount = "productionresultssa0"

// BlobServer plays Azure Blob Storage as far as block blobs go that are reached by
// signed URLs: Put Blob, Put Block, Put Block List, Get Blob and Get Blob
// Properties. It implements [Storage].
// https://learn.microsoft.com/en-us/rest/api/storageservices/operations-on-blobs
type BlobServer struct {
	*Server

	ledger *Ledger
	key    []byte

	mu    sync.Mutex
	blobs map[string]*blob
}

// blob is one by its name: its content, and what was uploaded since.
type blob struct {
	content *content
	blocks  map[string][]byte // not yet in a list, by their ids
}

type content struct {
	data        []byte
	contentType string
	etag        string
	modified    time.Time
	blocks      map[string][]byte // of which it was made
}

// NewBlobServer starts a blob server that has the containers and no blob.
func NewBlobServer(authority *Authority, ledger *Ledger) (*BlobServer, error) {
	b := &BlobServer{ledger: ledger, key: make([]byte, 64), blobs: map[string]*blob{}}
	_, _ = rand.Read(b.key) // It never fails.
	var err error
	if b.Server, err = NewServer("blobs", authority, http.HandlerFunc(b.serve)); err != nil {
		return nil, err
	}
	return b, nil
}

// Get implements [Storage].
func (b *BlobServer) Get(_ context.Context, name string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := b.blobs[name]; at != nil && at.content != nil {
		return slices.Clone(at.content.data), nil
	}
	return nil, fmt.Errorf("the blob %s: %w", name, fs.ErrNotExist)
}

// Put implements [Storage].
func (b *BlobServer) Put(_ context.Context, name string, data []byte) error {
	if err := checkBlobName(name); err != nil {
		return err
	}
	b.commit(name, &content{data: slices.Clone(data), contentType: "application/octet-stream"})
	return nil
}

// Delete implements [Storage].
func (b *BlobServer) Delete(_ context.Context, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.blobs, name)
	return nil
}

// Names returns the names of the blobs that are whole, in their order.
func (b *BlobServer) Names() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	names := slices.Sorted(maps.Keys(b.blobs))
	return slices.DeleteFunc(names, func(name string) bool { return b.blobs[name].content == nil })
}

// commit makes a blob's content. Blocks that are in no list are gone then.
func (b *BlobServer) commit(name string, c *content) {
	c.modified, c.etag = time.Now().UTC().Truncate(time.Second), `"0x8D`+rand.Text()[:13]+`"`
	b.mu.Lock()
	defer b.mu.Unlock()
	b.blobs[name] = &blob{content: c}
}

func checkBlobName(name string) error {
	container, path, _ := strings.Cut(name, "/")
	if !slices.Contains(Containers(), container) || path == "" {
		return fmt.Errorf("%q is no name of a blob in one of the containers %v", name, Containers())
	}
	return nil
}
