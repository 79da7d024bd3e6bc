package checkpoint

import (
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// FuzzRecord reads arbitrary text as the record of a step. Text that is an
// object is also laid over a record that is fine, once as it is and once with a
// digest that fits, so that the checks behind the digest are reached.
//
// Whatever is accepted must be stored again as an equal record, and must be
// what this execution itself would have written.
func FuzzRecord(f *testing.F) {
	b := Bind(execution("e"))
	steps := Steps()
	for i, r := range allRecords(f, b) {
		data, err := r.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), data)
	}
	for _, text := range []string{
		`{}`, `{"recorded_at":"2026-09-27T14:00:00.5+02:00"}`, `{"recorded_at":"2026-09-27T12:00:00"}`, `{"extra":1}`,
		`{"outcome":"failed","effect_verified":false}`, `{"terminal_evidence":{"a":1e5}}`, `{"job_ttl_seconds":3600.0}`,
		`{"state":"terminal"}`, `[]`, `null`, `{"a":1e999}`, `{"a":"\ud800"}`, "{\"a\":\"\u2028\"}", `{"name":"e","name":"f"}`,
	} {
		for i := range steps {
			f.Add(uint8(i), []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		step := steps[int(which)%len(steps)]
		content, err := parse(b.Where(step), data)
		if err != nil {
			wantFailure(t, err, failure.CheckpointDiffers, b.Where(step))
			return
		}
		validate(t, b, Record{Step: step, Content: content})
		if step == Manifest {
			return
		}
		overlaid := decoded(t, record(t, b, step))
		for key, v := range content {
			overlaid.Content[key] = v
		}
		validate(t, b, overlaid)
		if evidence, ok := overlaid.Content["terminal_evidence"]; ok {
			if digest, err := contract.DigestOf(evidence); err == nil {
				overlaid.Content["terminal_evidence_digest"] = digest.String()
			}
		}
		delete(overlaid.Content, "checkpoint_digest")
		if digest, err := contract.DigestOf(overlaid.Content); err == nil {
			overlaid.Content["checkpoint_digest"] = digest.String()
			validate(t, b, overlaid)
		}
	})
}

func validate(t *testing.T, b Binding, r Record) {
	t.Helper()
	h, err := b.Validate(Records{r.Step: r}, noon)
	if err != nil {
		if failure.CodeOf(err) != failure.CheckpointDiffers {
			t.Fatalf("refused with %v, want checkpoint-differs", err)
		}
		return
	}
	if r.Step == Manifest || r.Step == Prepared {
		return // these have no say; they are compared when they are put
	}
	if !decoded(t, r).Equal(r) {
		t.Fatalf("accepted, but stored again it is another record: %v", r.Content)
	}
	var own Record
	switch r.Step {
	case Intent:
		own, err = b.Intent(*h.IntentAt)
	case Dispatched:
		own, err = b.Dispatched()
	case Ambiguous:
		own, err = b.Ambiguous(noon)
	case Terminal:
		own, err = b.Terminal(h.Outcome, h.Evidence)
	}
	if err != nil {
		t.Fatal(err)
	}
	// A time may be spelt in another zone, and the digest follows from it.
	free := map[string]bool{"recorded_at": true, "checkpoint_digest": true}
	for key, want := range own.Content {
		if !free[key] && !equal(r.Content[key], want) {
			t.Fatalf("accepted with %s %v, this execution writes %v", key, r.Content[key], want)
		}
	}
	if r.Step != Terminal && len(r.Content) != len(own.Content) {
		t.Fatalf("accepted with other fields than this execution writes: %v", r.Content)
	}
}
