package composite

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// owner is what a work folder keeps beside its records.
type owner struct {
	mu sync.Mutex
	of map[string]string
}

func (o *owner) Owner(_ context.Context, execution string) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of[execution], nil
}

func (o *owner) SetOwner(_ context.Context, execution, cluster string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil {
		o.of = map[string]string{}
	}
	o.of[execution] = cluster
	return nil
}

// A work folder that saw another cluster's execution of the same name says nothing
// of this one's, and nothing of it is stored anywhere.
func TestAWorkFolderIsOfOneCluster(t *testing.T) {
	t.Parallel()
	f, kept, cluster := &folder{}, &owner{}, newPlace("cluster")
	open := func(identity string) *Store {
		return New(Options{Folder: f, Owner: kept, Shared: []checkpoint.Shared{cluster}, Key: checkpoint.Key{}.For(identity)})
	}
	first := open("first")
	for _, step := range []checkpoint.Step{checkpoint.Prepared, checkpoint.Intent, checkpoint.Terminal} {
		if err := first.Put(t.Context(), job, record(t, step, "first")); err != nil {
			t.Fatal(err)
		}
	}
	first.Finish(t.Context())
	if _, err := open("first").loadAndHeal(t, job); err != nil {
		t.Errorf("the same cluster: %v", err)
	}

	cluster = newPlace("cluster")
	second := open("second")
	if _, err := second.loadAndHeal(t, job); failure.CodeOf(err) != failure.CheckpointDiffers || !strings.Contains(err.Error(), "target-binding") {
		t.Errorf("another cluster: %v", err)
	}
	second.Finish(t.Context())
	if len(cluster.copies) != 0 {
		t.Errorf("it was spread: %v", cluster.copies)
	}

	// A folder that another place fills is of this cluster, too.
	emptied, keeper := &folder{}, &owner{}
	has(t, checkpoint.Terminal, "t")(cluster)
	filled := New(Options{Folder: emptied, Owner: keeper, Shared: []checkpoint.Shared{cluster}, Key: checkpoint.Key{}.For("third")})
	cluster.local = true
	if _, err := filled.loadAndHeal(t, job); err != nil || keeper.of[job] == "" {
		t.Errorf("filled from elsewhere: owner %q, %v", keeper.of[job], err)
	}
	filled.Finish(t.Context())
	cluster = newPlace("cluster")

	// What the reference left says nothing of clusters.
	kept.of = nil
	if records, err := open("second").loadAndHeal(t, job); err != nil || len(records) == 0 {
		t.Errorf("a folder without an owner: %v, %v", records, err)
	}
}

// A place in the cluster itself is of that cluster, whatever its authority is now;
// any other one is held against it.
func TestAnAuthorityThatChanged(t *testing.T) {
	t.Parallel()
	secret, err := checkpoint.NewKey(strings.Repeat("0123456789abcdef", 2))
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]checkpoint.Key{"unsigned": {}, "signed": secret} {
		for _, local := range []bool{true, false} {
			place := newPlace("cluster")
			place.local = local
			d, err := key.For("before").Seal(job, record(t, checkpoint.Terminal, "x"))
			if err != nil {
				t.Fatal(err)
			}
			place.copies[checkpoint.Terminal] = d
			s := New(Options{Folder: &folder{}, Shared: []checkpoint.Shared{place}, Key: key.For("after")})
			if _, err := s.loadAndHeal(t, job); (err == nil) != local {
				t.Errorf("%s, in the cluster: %v: %v", name, local, err)
			}
			s.Finish(t.Context())
		}
	}
}

// A secret that is misspelt is no secret at all.
func TestSignedRecordsWithoutAKeyAreTold(t *testing.T) {
	t.Parallel()
	secret, err := checkpoint.NewKey(strings.Repeat("0123456789abcdef", 2))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ by, to checkpoint.Key }{"no key": {secret, checkpoint.Key{}}, "the key": {secret, secret}, "never a key": {}} {
		var warnings []string
		place := newPlace("artifact")
		if place.copies[checkpoint.Terminal], err = test.by.Seal(job, record(t, checkpoint.Terminal, "x")); err != nil {
			t.Fatal(err)
		}
		s := New(Options{Folder: &folder{}, Shared: []checkpoint.Shared{place}, Key: test.to, Warn: func(text string) { warnings = append(warnings, text) }})
		if _, err := s.loadAndHeal(t, job); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		s.Finish(t.Context())
		if told := len(warnings) == 1 && strings.Contains(warnings[0], "no checkpoint-key is given"); told != (name == "no key") {
			t.Errorf("%s: the warnings are %q", name, warnings)
		}
	}
}
