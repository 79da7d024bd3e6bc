package bundle

import (
	"errors"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

func TestHolds(t *testing.T) {
	t.Parallel()
	d := func(step checkpoint.Step, data, seal string) checkpoint.Document {
		return checkpoint.Document{Step: step, Data: []byte(data), Seal: seal}
	}
	prepared, intent := d(checkpoint.Prepared, "p", "1"), d(checkpoint.Intent, "i", "2")
	all := []checkpoint.Document{prepared, intent}
	for name, c := range map[string]struct {
		stored    []checkpoint.Document
		documents []checkpoint.Document
		holds     bool
		taken     bool
	}{
		"the same":                 {all, all, true, false},
		"in another order":         {[]checkpoint.Document{intent, prepared}, all, true, false},
		"more":                     {append([]checkpoint.Document{d(checkpoint.Terminal, "t", "")}, all...), all, true, false},
		"less is wanted":           {all, all[1:], true, false},
		"less is there":            {all[1:], all, false, false},
		"nothing of the step":      {all[:1], all, false, false},
		"nothing":                  {nil, all, false, false},
		"not signed":               {[]checkpoint.Document{prepared, d(checkpoint.Intent, "i", "")}, all, false, false},
		"signed otherwise":         {[]checkpoint.Document{d(checkpoint.Prepared, "p", "3"), intent}, all, false, false},
		"another beside it":        {[]checkpoint.Document{d(checkpoint.Prepared, "q", "1"), intent}, all, false, false},
		"another":                  {[]checkpoint.Document{prepared, d(checkpoint.Intent, "j", "2")}, all, false, true},
		"another, and none beside": {[]checkpoint.Document{d(checkpoint.Intent, "j", "")}, all, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holds, err := Holds(c.stored, c.documents)
			if holds != c.holds || errors.Is(err, checkpoint.ErrTaken) != c.taken || (err != nil) != c.taken {
				t.Errorf("got %t, %v", holds, err)
			}
		})
	}
}
