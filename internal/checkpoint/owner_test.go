package checkpoint_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// A folder keeps which cluster an execution is of, once.
func TestOwner(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "records")
	f, err := checkpoint.OpenFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if owner, err := f.Owner(t.Context(), keyed); owner != "" || err != nil {
		t.Errorf("before: %q, %v", owner, err)
	}
	for range 2 {
		if err := f.SetOwner(t.Context(), keyed, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.SetOwner(t.Context(), keyed, "b"); failure.CodeOf(err) != failure.CheckpointDiffers {
		t.Errorf("another owner: %v", err)
	}
	if owner, err := f.Owner(t.Context(), keyed); owner != "a" || err != nil {
		t.Errorf("after: %q, %v", owner, err)
	}
	if records, err := f.Load(t.Context(), keyed); len(records) != 0 || err != nil {
		t.Errorf("it is among the records: %v, %v", records, err)
	}
	if err := f.SetOwner(t.Context(), "../x", "a"); failure.CodeOf(err) != failure.CheckpointStoreFailed {
		t.Errorf("a name that is none: %v", err)
	}
	if err := os.Chmod(filepath.Join(path, "cluster."+keyed), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Owner(t.Context(), keyed); failure.CodeOf(err) != failure.CheckpointDiffers {
		t.Errorf("a file that others can read: %v", err)
	}
}
