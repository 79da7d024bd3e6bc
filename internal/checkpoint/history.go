package checkpoint

import (
	"regexp"
	"strings"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// History is what validated records say of an execution's past.
type History struct {
	// IntentAt is when the intent was recorded, nil when none was.
	IntentAt *time.Time
	// Dispatched says that the API server once had the Job.
	Dispatched bool
	// Ambiguous says that a create got no answer.
	Ambiguous bool
	// Outcome is how the Job ended, "" when no terminal record is there;
	// Evidence is what was recorded of its status.
	Outcome  contract.State
	Evidence contract.Object
}

// String tells the history in a few words.
func (h History) String() string {
	switch {
	case h.Outcome != "":
		return "ended, " + string(h.Outcome)
	case h.Dispatched:
		return "dispatched"
	case h.Ambiguous:
		return "dispatched without an answer"
	case h.IntentAt != nil:
		return "intent of " + formatTime(*h.IntentAt)
	}
	return "none"
}

// Validate holds retained records against the binding and returns what they
// say. now is this machine's clock: a recorded time may be at most a minute
// ahead of it. Manifest and prepared records have no say of their own and are
// not looked at; [Binding.Same] holds them against what this execution writes.
//
// With a terminal record there, the others are not looked at: it stands alone.
// The error is checkpoint-differs and names the record and field.
func (b Binding) Validate(records Records, now time.Time) (History, error) {
	h := History{}
	if r, ok := records[Terminal]; ok {
		return b.terminal(r)
	}
	for _, step := range []Step{Intent, Dispatched, Ambiguous} {
		r, ok := records[step]
		if !ok {
			continue
		}
		if err := b.check(step, r); err != nil {
			return History{}, err
		}
		switch step {
		case Intent:
			at, err := b.recordedAt(r, now)
			if err != nil {
				return History{}, err
			}
			h.IntentAt = &at
		case Dispatched:
			h.Dispatched = true
		case Ambiguous:
			if _, err := b.recordedAt(r, now); err != nil {
				return History{}, err
			}
			if err := same(b.Where(step), "reason", r.Content["reason"], createTimeout); err != nil {
				return History{}, err
			}
			h.Ambiguous = true
		}
	}
	return h, nil
}

func (b Binding) terminal(r Record) (History, error) {
	where := b.Where(Terminal)
	if err := b.check(Terminal, r); err != nil {
		return History{}, err
	}
	outcome, _ := r.Content["outcome"].(string)
	state := contract.State(outcome)
	if state != contract.Succeeded && state != contract.Failed {
		return History{}, Differs(where+"#outcome", "the retained record has %s, want succeeded or failed", show(r.Content["outcome"]))
	}
	evidence, ok := r.Content["terminal_evidence"].(map[string]any)
	if !ok {
		return History{}, Differs(where+"#terminal_evidence", "the retained record has no evidence object")
	}
	digest, err := contract.DigestOf(evidence)
	if err != nil {
		return History{}, Differs(where+"#terminal_evidence", "the retained evidence cannot be digested: %w", err)
	}
	for _, field := range []struct {
		key  string
		want any
	}{
		{"terminal_evidence_digest", digest.String()},
		{"observed_job_contract_digest", b.execution.ContractDigest.String()},
		{"effect_verified", state == contract.Succeeded},
		{"mutation_performed", true},
	} {
		if err := same(where, field.key, r.Content[field.key], field.want); err != nil {
			return History{}, err
		}
	}
	return History{Outcome: state, Evidence: evidence}, nil
}

func (b Binding) recordedAt(r Record, now time.Time) (time.Time, error) {
	where := b.Where(r.Step) + "#recorded_at"
	text, _ := r.Content["recorded_at"].(string)
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || !rfc3339.MatchString(text) {
		return time.Time{}, Differs(where, "the retained record has %s, want a time with a zone", show(r.Content["recorded_at"]))
	}
	if at.After(now.Add(clockSkew)) {
		return time.Time{}, Differs(where, "the retained record is from %s, more than %s ahead of this machine's clock (%s)",
			text, clockSkew, formatTime(now)).WithFix("Correct the clock that is wrong and run again")
	}
	return at, nil
}

// rfc3339 is the form of recorded times, which both implementations write. It
// always has a zone. [time.Parse] takes more than that (go.dev/issue/54580).
var rfc3339 = regexp.MustCompile(
	`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// formatTime spells a time as the reference does (CPython's isoformat): UTC,
// microseconds only when there are any.
func formatTime(t time.Time) string {
	t = t.UTC().Truncate(time.Microsecond)
	layout := "2006-01-02T15:04:05"
	if t.Nanosecond() != 0 {
		layout += ".000000"
	}
	return strings.TrimSuffix(t.Format(layout), "Z") + "Z"
}
