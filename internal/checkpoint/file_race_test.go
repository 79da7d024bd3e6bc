package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/private"
)

// TestConcurrentPuts has many put the same step at once: one content is stored,
// and whoever has another one learns of it.
func TestConcurrentPuts(t *testing.T) {
	t.Parallel()
	f := openFolder(t, workFolder(t))
	const writers = 8
	results := make(chan error, writers)
	for i := range writers {
		go func() {
			results <- f.Put(t.Context(), job, Record{Step: Prepared, Content: contract.Object{"writer": i % 2}})
		}()
	}
	stored := 0
	for range writers {
		if err := <-results; err == nil {
			stored++
		} else {
			wantFailure(t, err, failure.CheckpointDiffers, job+".prepared.json#writer")
		}
	}
	if stored != writers/2 {
		t.Errorf("%d of %d puts went well, want the half with one content", stored, writers)
	}
}

// TestPutBesideOneWithoutLock has somebody who does not take the lock write the
// same files at the same time, half of them with other content: nothing is
// replaced, and Put says which it was.
func TestPutBesideOneWithoutLock(t *testing.T) {
	t.Parallel()
	f := openFolder(t, workFolder(t))
	other, err := private.OpenDir(f.Path())
	must(t, err)
	defer func() { must(t, other.Close()) }()
	content := func(n int) Record {
		return Record{Step: Prepared, Content: contract.Object{"a": n % 2}}
	}
	const rounds = 50
	first := 0
	for n := range rounds {
		name := fmt.Sprintf("e-%d", n)
		done := make(chan error, 1)
		go func() { done <- other.Create(name+".prepared.json", []byte(`{"a":1}`)) }()
		putErr := f.Put(t.Context(), name, content(n))
		createErr := <-done
		switch {
		case createErr == nil && n%2 == 1 && putErr != nil:
			t.Errorf("the same content was refused: %v", putErr)
		case createErr == nil && n%2 == 0:
			wantFailure(t, putErr, failure.CheckpointDiffers, name+".prepared.json#a")
		case errors.Is(createErr, fs.ErrExist):
			first++
			must(t, putErr)
		case createErr != nil:
			t.Error(createErr)
		}
		records, err := f.Load(t.Context(), name)
		must(t, err)
		want := content(n)
		if createErr == nil {
			want = content(1)
		}
		if !records[Prepared].Equal(want) {
			t.Errorf("%s holds %v, want %v", name, records[Prepared], want)
		}
	}
	t.Logf("Put came first in %d of %d rounds", first, rounds)
}
