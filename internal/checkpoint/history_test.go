package checkpoint

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	b := Bind(execution("e"))
	at := noon
	for name, c := range map[string]struct {
		steps []Step
		want  History
	}{
		"nothing":             {nil, History{}},
		"no say of their own": {[]Step{Manifest, Prepared}, History{}},
		"an intent":           {[]Step{Manifest, Prepared, Intent}, History{IntentAt: &at}},
		"a Job":               {[]Step{Intent, Dispatched}, History{IntentAt: &at, Dispatched: true}},
		"no answer":           {[]Step{Intent, Ambiguous}, History{IntentAt: &at, Ambiguous: true}},
		"no answer, then a Job": {[]Step{Intent, Dispatched, Ambiguous},
			History{IntentAt: &at, Dispatched: true, Ambiguous: true}},
		"an end": {Steps(), History{Outcome: contract.Succeeded, Evidence: decoded(t, Record{Content: evidence}).Content}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			records := Records{}
			for _, step := range c.steps {
				records[step] = decoded(t, record(t, b, step))
			}
			have, err := b.Validate(records, noon)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, have); diff != "" {
				t.Errorf("(-want +have):\n%s", diff)
			}
		})
	}
}

// TestValidateRefuses changes one thing in a record that is fine otherwise; its
// digest fits the changed record, as a careful forger would have it.
func TestValidateRefuses(t *testing.T) {
	t.Parallel()
	type change struct {
		key   string
		value any // nil removes the key
	}
	bound := []change{
		{"schema_version", "fdai.aks-one-shot-execution-checkpoint.v2"},
		{"name", "fdai-other"},
		{"name", []any{"e"}},
		{"execution_digest", strings.Repeat("f", 64)},
		{"execution_digest", nil},
		{"manifest_digest", strings.Repeat("f", 64)},
		{"protected_template_digest", strings.Repeat("F", 64)},
		{"protected_identity_binding_digest", map[string]any{}},
		{"job_ttl_seconds", json.Number("3601")},
		{"job_ttl_seconds", json.Number("3600.0")},
		{"job_ttl_seconds", "3600"},
		{"state", "prepared"},
		{"state", nil},
	}
	times := []change{
		{"recorded_at", nil},
		{"recorded_at", json.Number("1790510400")},
		{"recorded_at", "yesterday"},
		{"recorded_at", "2026-09-27"},
		{"recorded_at", "2026-09-27T12:00:00"},       // no zone
		{"recorded_at", "2026-09-27T2:00:00Z"},       // no RFC 3339
		{"recorded_at", "2026-09-27T12:00:00,5Z"},    // no RFC 3339
		{"recorded_at", "2026-09-27T12:00:00+99:00"}, // no zone there is
		{"recorded_at", "2026-09-27T12:01:01Z"},      // in the future
		{"recorded_at", "2026-09-27T11:01:01-01:00"},
	}
	extra := []change{{"extra", json.Number("1")}, {"outcome", "succeeded"}}
	perStep := map[Step][]change{
		Intent:     slices.Concat(bound, times, extra, []change{{"reason", "create-timeout"}}),
		Dispatched: slices.Concat(bound, extra, []change{{"recorded_at", "2026-09-27T12:00:00Z"}}),
		Ambiguous:  slices.Concat(bound, times, extra, []change{{"reason", "other"}, {"reason", nil}}),
		Terminal: slices.Concat(bound, []change{
			{"outcome", "running"}, {"outcome", nil}, {"outcome", true},
			{"observed_job_contract_digest", strings.Repeat("e", 64)},
			{"terminal_evidence", nil}, {"terminal_evidence", "none"}, {"terminal_evidence", []any{}},
			{"terminal_evidence_digest", strings.Repeat("e", 64)},
			{"effect_verified", false}, {"effect_verified", json.Number("1")},
			{"mutation_performed", false}, {"mutation_performed", nil},
		}),
	}
	b := Bind(execution("e"))
	for step, changes := range perStep {
		for _, c := range changes {
			r := decoded(t, record(t, b, step))
			if c.value == nil {
				delete(r.Content, c.key)
			} else {
				r.Content[c.key] = c.value
			}
			reseal(t, r.Content)
			_, err := b.Validate(Records{step: r}, noon)
			wantFailure(t, err, failure.CheckpointDiffers, "e."+string(step)+".json#"+c.key)
		}
	}
}

func TestValidateChecksTheDigest(t *testing.T) {
	t.Parallel()
	b := Bind(execution("e"))
	for _, step := range []Step{Intent, Dispatched, Ambiguous, Terminal} {
		for _, digest := range []any{strings.Repeat("0", 64), "", nil, json.Number("1")} {
			r := decoded(t, record(t, b, step))
			r.Content["checkpoint_digest"] = digest
			_, err := b.Validate(Records{step: r}, noon)
			wantFailure(t, err, failure.CheckpointDiffers, "e."+string(step)+".json#checkpoint_digest")
		}
	}
}

func TestValidateRefusesFlippedOutcome(t *testing.T) {
	t.Parallel()
	b := Bind(execution("e"))
	r := decoded(t, record(t, b, Terminal))
	r.Content["outcome"] = "failed"
	reseal(t, r.Content)
	_, err := b.Validate(Records{Terminal: r}, noon)
	wantFailure(t, err, failure.CheckpointDiffers, "e.terminal.json#effect_verified", "has true", "has false")
}

func TestValidateRefusesRecordUnderAnotherStep(t *testing.T) {
	t.Parallel()
	b := Bind(execution("e"))
	steps := []Step{Intent, Dispatched, Ambiguous, Terminal}
	for _, place := range steps {
		for _, step := range steps {
			if place == step {
				continue
			}
			r := decoded(t, record(t, b, step))
			if h, err := b.Validate(Records{place: r}, noon); err == nil {
				t.Errorf("a %s record is taken for a %s one: %v", step, place, h)
			}
		}
	}
}

func TestValidateTellsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	b := Bind(execution("e"))
	intent := decoded(t, record(t, b, Intent))
	terminal := decoded(t, record(t, b, Terminal))
	for _, key := range []string{"x1", "x2", "x3", "x4", "x5"} {
		intent.Content[key] = true
	}
	maps.DeleteFunc(terminal.Content, func(key string, _ any) bool {
		return key == "terminal_evidence_digest" || key == "effect_verified" || key == "mutation_performed"
	})
	reseal(t, intent.Content)
	reseal(t, terminal.Content)
	for range 30 {
		_, err := b.Validate(Records{Intent: intent}, noon)
		wantFailure(t, err, failure.CheckpointDiffers, "e.dispatch-intent.json#x1")
		_, err = b.Validate(Records{Terminal: terminal}, noon)
		wantFailure(t, err, failure.CheckpointDiffers, "e.terminal.json#terminal_evidence_digest")
	}
}

// TestValidateSpellsForeignValuesSafely holds that a value from a record that
// somebody else wrote cannot start a line of its own in the log, and that a
// long one does not drown the message.
func TestValidateSpellsForeignValuesSafely(t *testing.T) {
	t.Parallel()
	b := Bind(execution("e"))
	for _, value := range []string{"x\n::set-output name=a::b", "x\r\u2028y", "\x1b[2J", strings.Repeat("long", 1<<16)} {
		for step, key := range map[Step]string{Intent: "recorded_at", Dispatched: "name", Terminal: "outcome"} {
			r := decoded(t, record(t, b, step))
			r.Content[key] = value
			reseal(t, r.Content)
			_, err := b.Validate(Records{step: r}, noon)
			wantFailure(t, err, failure.CheckpointDiffers, b.Where(step)+"#"+key)
			if message := err.Error(); len(message) > 1000 || strings.ContainsAny(message, "\x1b\u2028") {
				t.Errorf("the message has %d bytes and says %.200q", len(message), message)
			}
		}
	}
}

func TestValidateTakesTheClockSkew(t *testing.T) {
	t.Parallel()
	b := Bind(execution("e"))
	for ahead, ok := range map[time.Duration]bool{
		-24 * time.Hour: true, 0: true, time.Minute: true, time.Minute + time.Microsecond: false, time.Hour: false,
	} {
		r, err := b.Intent(noon.Add(ahead))
		if err != nil {
			t.Fatal(err)
		}
		h, err := b.Validate(Records{Intent: r}, noon)
		switch {
		case !ok:
			wantFailure(t, err, failure.CheckpointDiffers, "e.dispatch-intent.json#recorded_at", "ahead of this machine's clock", "Correct the clock")
		case err != nil:
			t.Errorf("%s ahead: %v", ahead, err)
		case !h.IntentAt.Equal(noon.Add(ahead)):
			t.Errorf("%s ahead: read as %s", ahead, h.IntentAt)
		}
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	b := Bind(execution("e"))
	for step, key := range map[Step]string{Manifest: "kind", Prepared: "name", Terminal: "outcome"} {
		want := record(t, b, step)
		if err := b.Same(want, decoded(t, want)); err != nil {
			t.Errorf("%s differs from itself: %v", step, err)
		}
		retained := decoded(t, want)
		retained.Content[key] = "other"
		reseal(t, retained.Content)
		if step == Manifest {
			delete(retained.Content, "checkpoint_digest")
		}
		// The record's own digest differs as well, and tells nobody anything.
		wantFailure(t, b.Same(want, retained), failure.CheckpointDiffers, b.Where(step)+"#"+key)
	}
	wantFailure(t, b.Same(record(t, b, Intent), Record{Step: Dispatched, Content: record(t, b, Intent).Content}),
		failure.CheckpointDiffers, "e.dispatch-intent.json")
}

func TestHistoryString(t *testing.T) {
	t.Parallel()
	at := noon
	for want, h := range map[string]History{
		"none":                           {},
		"intent of 2026-09-27T12:00:00Z": {IntentAt: &at},
		"dispatched":                     {IntentAt: &at, Dispatched: true, Ambiguous: true},
		"dispatched without an answer":   {IntentAt: &at, Ambiguous: true},
		"ended, failed":                  {IntentAt: &at, Dispatched: true, Outcome: contract.Failed},
	} {
		if have := h.String(); have != want {
			t.Errorf("%+v is told as %q, want %q", h, have, want)
		}
	}
}

// A secret that somebody put into a record is masked where it is told whole.
func TestALongValueIsToldWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	b, long := Bind(execution("e")), strings.Repeat("0123456789", 30)
	for step, key := range map[Step]string{Intent: "recorded_at", Dispatched: "name", Terminal: "outcome", Ambiguous: "reason"} {
		r := decoded(t, record(t, b, step))
		r.Content[key] = long
		reseal(t, r.Content)
		_, err := b.Validate(Records{step: r}, noon)
		if err == nil || strings.Contains(err.Error(), long[:20]) || !strings.Contains(err.Error(), "a value of 302 bytes") {
			t.Errorf("%s: %v", step, err)
		}
	}
}
