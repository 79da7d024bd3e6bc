package composite

import (
	"slices"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

// view is what the places say of one execution.
type view struct {
	execution string
	key       checkpoint.Key
	// union has one good copy of each step, and at says which places have one.
	union map[checkpoint.Step]kept
	at    map[string]map[checkpoint.Step]bool
	// bad says why copies were not believed, differ which good ones contradict each
	// other, and disputes on what.
	bad      map[checkpoint.Step][]error
	differ   []error
	disputes []checkpoint.Step
	// read are why shared places could not be read, in their order.
	read []error
	// signed says that there are signed copies.
	signed bool
	// blind is why there may be records that nobody could look at.
	blind error
}

// kept is a good copy.
type kept struct {
	record checkpoint.Record
	where  string
	origin Origin
}

// folder takes what the work folder has. It is private: what is in it is held
// against the execution by whoever loads it, and needs no seal.
func (v *view) folder(records checkpoint.Records) {
	for _, step := range checkpoint.SharedSteps() {
		if record, ok := records[step]; ok {
			v.add(step, kept{record, "the work folder", Origin{Place: WorkFolder}})
		}
	}
}

// place takes what a shared place has, in whatever order.
func (v *view) place(name string, found checkpoint.Found) {
	key := v.key
	if found.Local {
		key = key.Anywhere()
	}
	for _, c := range found.Copies {
		if !slices.Contains(checkpoint.SharedSteps(), c.Step) {
			continue
		}
		v.signed = v.signed || c.IsSigned()
		record, err := checkpoint.Record{}, c.Err
		if err == nil {
			record, err = key.Open(v.execution, c.Document, c.Where)
		}
		if err != nil {
			v.bad[c.Step] = append(v.bad[c.Step], inPlace(name, err))
			continue
		}
		v.add(c.Step, kept{record, name + " (" + c.Where + ")", Origin{name, c.Attempt}})
	}
}

func (v *view) add(step checkpoint.Step, k kept) {
	if v.at[k.origin.Place] == nil {
		v.at[k.origin.Place] = map[checkpoint.Step]bool{}
	}
	v.at[k.origin.Place][step] = true
	other, known := v.union[step]
	if !known {
		v.union[step] = k
		return
	}
	if err := checkpoint.Contradiction(v.execution, other.record, other.where, k.record, k.where); err != nil {
		v.differ = append(v.differ, err)
		v.disputes = append(v.disputes, step)
	}
}

// has reports whether there is a good copy of one of the steps.
func (v *view) has(steps ...checkpoint.Step) bool {
	return slices.ContainsFunc(steps, func(step checkpoint.Step) bool { _, ok := v.union[step]; return ok })
}

// ended says that it is known how the Job ended.
func (v *view) ended() bool {
	return v.has(checkpoint.Terminal) && !slices.Contains(v.disputes, checkpoint.Terminal)
}

// sent says that the create was sent, after which none follows.
func (v *view) sent() bool { return v.has(checkpoint.Dispatched, checkpoint.Ambiguous) }

// unreadable returns the errors of the places that could not be read.
func (v *view) unreadable(places []checkpoint.Shared) []error {
	var errs []error
	for i, err := range v.read {
		if err != nil {
			errs = append(errs, inPlace(places[i].Name(), err))
		}
	}
	return errs
}
