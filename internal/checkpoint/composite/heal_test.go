package composite

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

// deaf is a place that cannot be read.
type deaf struct{ *place }

func (d deaf) Read(context.Context, string) (checkpoint.Found, error) {
	return checkpoint.Found{}, errors.New("cannot be read")
}

// What a run that only replays an outcome could not store is told, too: nobody
// may believe that the record is there.
func TestAnEndThatCannotBeHealedIsMissing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		folder  *folder
		shared  func(*place) checkpoint.Shared
		missing string
	}{
		{"the work folder takes nothing", &folder{fail: func(checkpoint.Step) error { return errors.New("full") }},
			func(p *place) checkpoint.Shared { return p }, WorkFolder},
		{"a place cannot be read", &folder{},
			func(p *place) checkpoint.Shared { return deaf{p} }, "artifact"},
		{"a place takes nothing", &folder{},
			func(p *place) checkpoint.Shared {
				p.fail = func(checkpoint.Step) error { return errors.New("full") }
				return p
			}, "artifact"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cluster := newPlace("cluster")
				has(t, checkpoint.Terminal, "end")(cluster)
				s := New(Options{Folder: test.folder, Shared: []checkpoint.Shared{test.shared(newPlace("artifact")), cluster}})
				records, err := s.loadAndHeal(t, job)
				if err != nil || len(records) != 1 {
					t.Errorf("loaded %v with the error %v", records, err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 30e9)
				defer cancel()
				status := s.Finish(ctx)
				if len(status.Missing) != 1 || status.Missing[0].Place != test.missing || status.Missing[0].Step != checkpoint.Terminal || status.Missing[0].Err == nil {
					t.Errorf("missing: %v, want the terminal record in %s", status.Missing, test.missing)
				}
			})
		})
	}
}
