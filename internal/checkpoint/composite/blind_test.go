package composite

import (
	"errors"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

// An intent says that a create may have been sent. Where nobody could look whether
// it was, none follows; that the Job was dispatched, or how it ended, says more.
func TestNoCreateFollowsWhereNobodyCouldLook(t *testing.T) {
	t.Parallel()
	unsure := errors.New("nobody looked")
	for name, test := range map[string]struct {
		there func(*place)
		fails bool
	}{
		"an intent": {has(t, checkpoint.Intent, "i"), true},
		"a Job":     {both(has(t, checkpoint.Intent, "i"), has(t, checkpoint.Dispatched, "d")), false},
		"an end":    {has(t, checkpoint.Terminal, "t"), false},
		"nothing":   {func(*place) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var warnings []string
			cluster, artifact := newPlace("cluster"), newPlace("artifact")
			artifact.complete, artifact.blind = false, unsure
			test.there(cluster)
			s := New(Options{Folder: &folder{}, Shared: []checkpoint.Shared{artifact, cluster}, Arbiter: cluster, Warn: func(text string) { warnings = append(warnings, text) }})
			if _, err := s.loadAndHeal(t, job); err != nil {
				t.Fatal(err)
			}
			if err := s.MayCreate(job); errors.Is(err, unsure) != test.fails {
				t.Errorf("a create may follow: %v", err)
			}
			if (len(warnings) == 1) != (name == "nothing") {
				t.Errorf("the warnings are %q", warnings)
			}
			if name != "nothing" {
				return
			}
			// Its own intent is no other run's.
			if err := s.Put(t.Context(), job, record(t, checkpoint.Intent, "mine")); err != nil {
				t.Fatal(err)
			}
			if _, err := s.loadAndHeal(t, job); err != nil {
				t.Fatal(err)
			}
			if err := s.MayCreate(job); err != nil {
				t.Errorf("its own intent keeps the run from a create: %v", err)
			}
			if status := s.Finish(t.Context()); status.Resumed != nil {
				t.Errorf("resumed from %v", status.Resumed)
			}
		})
	}
}
