package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"strings"
)

// ownerPrefix begins the name of the file that says which cluster an execution's
// records are of. No record's name begins with it: those begin with that of the
// execution, and the reference does not look at others.
const ownerPrefix = "cluster."

// maxOwner bounds such a file, in bytes.
const maxOwner = 256

// Owner returns which cluster the records of an execution are of, as [Key.Cluster]
// has it; "" where it was never kept, as in a folder of the reference. The error is
// as of [Folder.Load].
func (f *Folder) Owner(ctx context.Context, execution string) (string, error) {
	name := ownerPrefix + execution
	if err := f.ready(ctx, "reading "+name+" in", execution); err != nil {
		return "", err
	}
	data, err := f.dir.Read(name, maxOwner)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", readFailure(name, f.Path(), err)
	}
	return strings.TrimSpace(string(data)), nil
}

// SetOwner keeps which cluster the records of an execution are of. Where it was
// kept before, it must be the same, else the error is checkpoint-differs.
func (f *Folder) SetOwner(ctx context.Context, execution, cluster string) error {
	name := ownerPrefix + execution
	f.mu.Lock()
	defer f.mu.Unlock()
	owner, err := f.Owner(ctx, execution)
	if err != nil {
		return err
	}
	if owner != "" {
		return Key{cluster: cluster}.Own(owner, name)
	}
	if err := f.dir.Create(name, []byte(cluster+"\n")); err != nil {
		return storeFailure(name, "storing "+name+" in", f.Path(), err)
	}
	return nil
}
