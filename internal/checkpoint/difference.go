package checkpoint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// unequal returns the failure for a retained record that is not the one that
// would be written. where is the record's place in the store. A manifest's
// values stay out of it: the workload's environment is among them.
func unequal(where string, retained, record Record) error {
	path, have, want := firstDifference("", map[string]any(retained.Content), map[string]any(record.Content))
	if path != "" {
		where += "#" + path
	}
	if record.Step == Manifest || retained.Step != record.Step {
		return Differs(where, "the retained %s record is not the one that this execution would write", record.Step)
	}
	return Differs(where, "the retained record has %s, this execution has %s", show(have), show(want))
}

// firstDifference returns the path of the first value that is not the same in
// both, and the two values. A record's own digest comes last: it follows from
// all the others.
func firstDifference(path string, have, want any) (string, any, any) {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			break
		}
		all := maps.Clone(w)
		maps.Copy(all, h)
		delete(all, "checkpoint_digest")
		for _, key := range append(slices.Sorted(maps.Keys(all)), "checkpoint_digest") {
			x, inHave := h[key]
			y, inWant := w[key]
			if inHave == inWant && equal(x, y) {
				continue
			}
			at := key
			if path != "" {
				at = path + "." + key
			}
			return firstDifference(at, x, y)
		}
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			break
		}
		for i := range w {
			if !equal(h[i], w[i]) {
				return firstDifference(fmt.Sprintf("%s[%d]", path, i), h[i], w[i])
			}
		}
	}
	return path, have, want
}

// show spells a value for a message: on one line, in ASCII, and whole or not at
// all. A part of a secret that somebody put there would not be known for one by
// what masks the message.
func show(v any) string {
	data, err := contract.Canonical(v)
	if err != nil {
		return "a value that has no canonical form"
	}
	const most = 160
	if len(data) > most {
		return fmt.Sprintf("a value of %d bytes", len(data))
	}
	return string(data)
}

// Contradiction returns the failure for two retained records of one step that
// cannot both be right, with what each says, or nil when they say the same. The
// places name them for people.
func Contradiction(execution string, one Record, onePlace string, other Record, otherPlace string) error {
	if one.Equal(other) {
		return nil
	}
	where := FileName(execution, one.Step)
	path, x, y := firstDifference("", map[string]any(one.Content), map[string]any(other.Content))
	if path != "" {
		where += "#" + path
	}
	return Differs(where, "the checkpoint stores disagree: %s has %s, %s has %s", onePlace, show(x), otherPlace, show(y)).
		WithFix("Find out which record is right, and who wrote the other; then remove that one")
}
