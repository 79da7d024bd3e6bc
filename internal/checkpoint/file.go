package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/private"
)

const (
	// lockName is the reference's lock file: its processes and ours exclude each
	// other.
	lockName = ".checkpoint.lock"

	// maxRecordBytes bounds one file. A Kubernetes object has at most about
	// 1.5 MiB (etcd's request limit), and escaping makes it longer.
	maxRecordBytes = 4 << 20
)

// Folder is the [Store] of the reference: a private folder with one file for
// each record, which one process has to itself.
type Folder struct {
	dir *private.Dir
	// mu keeps Puts apart: where a rename cannot be told to replace nothing,
	// looking and renaming have to be one.
	mu sync.Mutex
}

var _ Store = (*Folder)(nil)

// OpenFolder opens the work folder at path, which must be absolute, and locks
// it until [Folder.Close]. Missing components at the end of the path are
// created. What processes that were killed left half written is removed.
//
// The folder and everything on the way to it must be private by the rules of
// package private, else the error is config-invalid and its message names the
// component at fault. When another process has the folder, the error is
// checkpoint-store-failed and comes at once.
func OpenFolder(path string) (*Folder, error) {
	dir, err := private.OpenDir(path)
	if err != nil {
		return nil, openFailure(path, err)
	}
	if err := dir.Lock(lockName); err != nil {
		return nil, lockFailure(path, errors.Join(err, dir.Close()))
	}
	if err := dir.RemoveTemporary(); err != nil {
		return nil, storeFailure(lockName, "removing what a killed run left behind in", path, errors.Join(err, dir.Close()))
	}
	return &Folder{dir: dir}, nil
}

// Path returns the path of the work folder.
func (f *Folder) Path() string { return f.dir.Path() }

// Close unlocks the work folder. The Folder cannot be used after it.
func (f *Folder) Close() error {
	if err := f.dir.Close(); err != nil {
		return storeFailure(lockName, "closing", f.Path(), err)
	}
	return nil
}

// Load returns every record of the named execution, as [Store] says. A file
// that is not private, or too large, is checkpoint-differs.
func (f *Folder) Load(ctx context.Context, execution string) (Records, error) {
	if err := f.ready(ctx, "reading the records of "+execution+" in", execution); err != nil {
		return nil, err
	}
	// A process that was killed between its rename and the flush that follows
	// left a name that a power failure can still take back. A run acts on what
	// it loads, so it has to stay.
	if err := f.dir.Sync(); err != nil {
		return nil, storeFailure(execution, "flushing", f.Path(), err)
	}
	records := Records{}
	for _, step := range Steps() {
		record, err := f.read(execution, step)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		records[step] = record
	}
	return records, nil
}

// Heal does nothing: a folder is one place.
func (f *Folder) Heal(context.Context, string) error { return nil }

// Doubt returns nil: Load looked everywhere.
func (f *Folder) Doubt(string) error { return nil }

// Put stores one record, as [Store] says. It flushes twice: the file, and its
// name.
func (f *Folder) Put(ctx context.Context, execution string, record Record) error {
	name := FileName(execution, record.Step)
	if err := f.ready(ctx, "storing "+name+" in", execution); err != nil {
		return err
	}
	data, err := encode(name, record)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	retained, err := f.read(execution, record.Step)
	if errors.Is(err, fs.ErrNotExist) {
		if err = f.dir.Create(name, data); err == nil {
			return nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return storeFailure(name, "storing "+name+" in", f.Path(), err)
		}
		// Somebody who does not take the lock was faster.
		retained, err = f.read(execution, record.Step)
	}
	if err != nil {
		return err
	}
	if !retained.Equal(record) {
		return unequal(name, retained, record)
	}
	// It may be from a Put that failed after the rename.
	if err := f.dir.Sync(); err != nil {
		return storeFailure(name, "flushing", f.Path(), err)
	}
	return nil
}

// read returns the record of one step. A step without one is [fs.ErrNotExist];
// every other error is a failure.
func (f *Folder) read(execution string, step Step) (Record, error) {
	name := FileName(execution, step)
	data, err := f.dir.Read(name, maxRecordBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, err
	}
	if err != nil {
		return Record{}, readFailure(name, f.Path(), err)
	}
	content, err := parse(name, data)
	if err != nil {
		return Record{}, err
	}
	return Record{Step: step, Content: content}, nil
}

// ready checks what every operation relies on before it does anything. That ctx
// has ended says nothing about the store, so the error has no code then.
func (f *Folder) ready(ctx context.Context, doing, execution string) error {
	if _, err := contract.ParseLabel(execution); err != nil {
		return storeFailure("execution", doing, f.Path(), err)
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("%s the work folder %s: %w", doing, f.Path(), err)
	}
	return nil
}

// encode returns a record as its file has it, if [Folder.Load] can take it.
func encode(name string, record Record) ([]byte, error) {
	if !slices.Contains(Steps(), record.Step) {
		return nil, failure.New(failure.CheckpointStoreFailed, "there is no step %q", string(record.Step)).At(name)
	}
	data, err := record.Encode()
	if err != nil {
		return nil, failure.New(failure.CheckpointStoreFailed, "%w", err).At(name)
	}
	if len(data) > maxRecordBytes {
		return nil, failure.New(failure.CheckpointStoreFailed, "the record has %d bytes, at most %d are allowed", len(data), maxRecordBytes).At(name)
	}
	return data, nil
}
