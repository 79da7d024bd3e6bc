package artifact

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

func TestWhatIsWrittenIsReadInTheNextAttempt(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]standin.StoresOptions{
		"as GitHub is":                 {},
		"camel case":                   {CamelCase: true},
		"ids that rise":                {AscendingIDs: true},
		"rows in another order":        {Order: standin.OrderShuffled},
		"oldest first":                 {Order: standin.OrderOldest},
		"a backend id for each":        {RunBackendPerAttempt: true},
		"no address of earlier":        {UnsignedEarlier: true},
		"finalized twice":              {FinalizeTwice: true},
		"a retention of a year":        {RetentionDays: 400},
		"a retention of a day":         {RetentionDays: 1},
		"lists that are a little late": {Stale: 1},
	} {
		for _, how := range []standin.Rerun{standin.RerunFailed, standin.RerunAll} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, o)
				first := w.open()
				if found := mustRead(t, first); len(found.Copies) != 0 || !found.Complete || found.Blind != nil {
					t.Errorf("before anything: %+v", found)
				}
				first.Reserve(t.Context(), execution, checkpoint.Intent)
				mustWrite(t, first, intent("1")...)
				dispatched := document(checkpoint.Dispatched, "")
				mustWrite(t, first, dispatched)
				second := w.next(how)
				if o.Stale > 0 {
					mustRead(t, second)
				}
				found := mustRead(t, second)
				wantGood(t, found, append(intent("1"), dispatched)...)
				if !found.Complete || found.Blind != nil {
					t.Errorf("%+v", found)
				}
				for _, c := range found.Copies {
					if c.Attempt != 1 {
						t.Errorf("%s is of attempt %d", c.Where, c.Attempt)
					}
				}
				terminal := document(checkpoint.Terminal, "")
				mustWrite(t, second, terminal)
				third := w.next(how)
				if o.Stale > 0 {
					mustRead(t, third)
				}
				wantGood(t, mustRead(t, third), append(intent("1"), dispatched, terminal)...)
				var names []string
				for _, a := range append(first.Artifacts(), second.Artifacts()...) {
					names = append(names, a.Name)
					if a.ID == 0 {
						t.Errorf("%s has no id", a.Name)
					}
				}
				if diff := cmp.Diff([]string{execution + ".dispatch-intent.1", execution + ".dispatched.1", execution + ".terminal.2"}, names); diff != "" {
					t.Errorf("the artifacts (-want +have):\n%s", diff)
				}
				w.checkSecrets()
			})
		}
	}
}

// What is reserved is stored with three requests, and nothing else was waited for.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standin.StoresOptions{})
	s := w.open()
	mustRead(t, s)
	// The REST API is asked at the same time, and not waited for.
	w.await(func() bool { return w.Count("ListRunArtifacts") == 1 })
	if n := w.Count(); n != 2 || w.Count("ListArtifacts", "ListRunArtifacts") != 2 {
		t.Errorf("opening and reading took %d requests", n)
	}
	s.Reserve(t.Context(), execution, checkpoint.Intent)
	mustWrite(t, s, intent("1")...)
	var have []string
	for _, r := range w.Requests()[2:] {
		have = append(have, r.Operation)
	}
	if diff := cmp.Diff([]string{"CreateArtifact", "PutBlock", "PutBlockList", "FinalizeArtifact"}, have); diff != "" {
		t.Errorf("requests (-want +have):\n%s", diff)
	}
	// The same again is known to be there.
	mustWrite(t, s, intent("1")...)
	if n := w.Count(); n != 6 {
		t.Errorf("%d requests after the same again", n)
	}
}
