package checkpoint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// encode returns a record as its file has it, if [Folder.Load] can take it.
func encode(name string, record Record) ([]byte, error) {
	if !slices.Contains(Steps(), record.Step) {
		return nil, failure.New(failure.CheckpointStoreFailed, "there is no step %q", string(record.Step)).At(name)
	}
	data, err := record.Encode()
	if err != nil {
		return nil, failure.New(failure.CheckpointStoreFailed, "%w", err).At(name)
	}
	if len(data) > maxRecordBytes {
		return nil, failure.New(failure.CheckpointStoreFailed, "the record has %d bytes, at most %d are allowed", len(data), maxRecordBytes).At(name)
	}
	return data, nil
}

// unequal returns the failure for a retained record that is not what would be
// written. A manifest's values stay out of it: the workload's environment is
// among them.
func unequal(name string, retained, record Record) error {
	path, have, want := firstDifference("", map[string]any(retained.Content), map[string]any(record.Content))
	if path != "" {
		name += "#" + path
	}
	if record.Step == Manifest {
		return Differs(name, "the retained Job is not the one that this execution would create")
	}
	return Differs(name, "the retained record has %s, this execution has %s", show(have), show(want))
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

// show spells a value for a message: on one line, in ASCII, and not too long.
func show(v any) string {
	data, err := contract.Canonical(v)
	if err != nil {
		return "a value that has no canonical form"
	}
	const most = 160
	if len(data) > most {
		return string(data[:most]) + "…"
	}
	return string(data)
}
