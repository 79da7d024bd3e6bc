// Package records has the documents that the tests store by one way and read by
// another.
package records

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

// Execution is the one that they are of.
const Execution = "fdai-inventory-aaaaaaaaaaaaaaaa"

// All returns a document of each step, signed. There is text in them that comes out
// otherwise when somebody takes it for Latin or escapes it.
func All(t *testing.T) map[checkpoint.Step]checkpoint.Document {
	t.Helper()
	key, err := checkpoint.NewKey(strings.Repeat("k", checkpoint.MinKeyLength))
	if err != nil {
		t.Fatal(err)
	}
	all := map[checkpoint.Step]checkpoint.Document{}
	for _, step := range checkpoint.SharedSteps() {
		d, err := key.Seal(Execution, checkpoint.Record{Step: step, Content: map[string]any{
			"name": Execution, "state": string(step), "text": "Größe: 1 < 2",
		}})
		if err != nil {
			t.Fatal(err)
		}
		all[step] = d
	}
	return all
}

// Differing returns a document that says something else.
func Differing(d checkpoint.Document) checkpoint.Document {
	d.Data = bytes.Replace(d.Data, []byte("1"), []byte("3"), 1)
	return d
}

// Files returns the documents as files in a work folder, by their names.
func Files(documents ...checkpoint.Document) map[string][]byte {
	files := map[string][]byte{}
	for _, d := range documents {
		name := Execution + "." + string(d.Step) + ".json"
		files[name] = d.Data
		files[name+".seal"] = []byte(d.Seal + "\n")
	}
	return files
}

// Same holds the copies that were found against what was stored, byte for byte:
// each document is there once, and nothing else is.
func Same(t *testing.T, found checkpoint.Found, want ...checkpoint.Document) {
	t.Helper()
	want = slices.Clone(want)
	for _, c := range found.Copies {
		at := slices.IndexFunc(want, func(d checkpoint.Document) bool { return d.Step == c.Step })
		switch {
		case c.Err != nil:
			t.Errorf("%s cannot be read: %v", c.Where, c.Err)
			continue
		case at < 0:
			t.Errorf("%s has a %s record that nobody stored, or that is there twice", c.Where, c.Step)
			continue
		case !bytes.Equal(c.Data, want[at].Data) || c.Seal != want[at].Seal:
			t.Errorf("the %s record of %s is not what was stored: %q, %s", c.Step, c.Where, c.Data, c.Seal)
		}
		want = slices.Delete(want, at, at+1)
	}
	for _, d := range want {
		t.Errorf("there is no %s record", d.Step)
	}
}
