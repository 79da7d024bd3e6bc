package composite

import (
	"errors"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// An intent says that a create may have been sent, and a dispatched record that the
// Job may have ended. Where nobody could look, nothing is concluded from that.
func TestNothingIsConcludedWhereNobodyCouldLook(t *testing.T) {
	t.Parallel()
	unsure := errors.New("nobody looked")
	for name, test := range map[string]struct {
		there func(*place)
		fails bool
	}{
		"an intent": {has(t, checkpoint.Intent, "i"), true},
		"a Job":     {both(has(t, checkpoint.Intent, "i"), has(t, checkpoint.Dispatched, "d")), true},
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
			if err := s.Doubt(job); errors.Is(err, unsure) != test.fails {
				t.Errorf("the doubt is %v", err)
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
			if err := s.Doubt(job); err != nil {
				t.Errorf("its own intent keeps the run from a create: %v", err)
			}
			if status := s.Finish(t.Context()); status.Resumed != nil {
				t.Errorf("resumed from %v", status.Resumed)
			}
		})
	}
}

// Of a Job that is gone, a store that cannot be read may know how it ended.
func TestAStoreThatCannotBeReadIsADoubt(t *testing.T) {
	t.Parallel()
	down := failure.New(failure.CheckpointStoreFailed, "down")
	cluster, artifact := newPlace("cluster"), newPlace("artifact")
	both(has(t, checkpoint.Intent, "i"), has(t, checkpoint.Dispatched, "d"))(cluster)
	artifact.readErr = down
	s := New(Options{Folder: &folder{}, Shared: []checkpoint.Shared{artifact, cluster}, Arbiter: cluster})
	if _, err := s.loadAndHeal(t, job); err != nil {
		t.Fatal(err)
	}
	if err := s.Doubt(job); failure.CodeOf(err) != failure.CheckpointStoreFailed || !strings.Contains(err.Error(), "artifact") {
		t.Errorf("the doubt is %v", err)
	}
	if err := s.Doubt("another"); err == nil {
		t.Error("what was never read is not doubted")
	}
	if err := s.Heal(t.Context(), "another"); err == nil {
		t.Error("what was never read is healed")
	}
	s.Finish(t.Context())
}
