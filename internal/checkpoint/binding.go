package checkpoint

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

const (
	schema = "fdai.aks-one-shot-execution-checkpoint.v1"

	// ttlSeconds is what every record of the dialect states as job_ttl_seconds.
	ttlSeconds = 3600

	// clockSkew is how far in the future a recorded time may lie: clocks of two
	// runners differ.
	clockSkew = time.Minute

	createTimeout = "create-timeout"
)

// Binding ties records to one execution: its values are in every record, and a
// record that has others belongs to something else.
type Binding struct {
	execution contract.Execution
	fields    map[string]any
}

// Bind returns the binding of an execution's records.
func Bind(e contract.Execution) Binding {
	return Binding{execution: e, fields: map[string]any{
		"schema_version":                    schema,
		"name":                              e.Name,
		"execution_digest":                  e.Digest.String(),
		"manifest_digest":                   e.ManifestDigest.String(),
		"protected_template_digest":         e.TemplateDigest.String(),
		"protected_identity_binding_digest": e.BindingDigest.String(),
		"job_ttl_seconds":                   ttlSeconds,
	}}
}

// Manifest returns the record that keeps the Job as it will be created.
func (b Binding) Manifest() Record {
	return Record{Step: Manifest, Content: b.execution.Manifest}
}

// Prepared returns the record of an execution that was derived and verified.
func (b Binding) Prepared() (Record, error) { return b.seal(Prepared, nil) }

// Intent returns the record that a create may follow, at the given time.
func (b Binding) Intent(at time.Time) (Record, error) {
	return b.seal(Intent, map[string]any{"recorded_at": formatTime(at)})
}

// Dispatched returns the record that the API server has the Job.
func (b Binding) Dispatched() (Record, error) { return b.seal(Dispatched, nil) }

// Ambiguous returns the record of a create that timed out at the given time.
func (b Binding) Ambiguous(at time.Time) (Record, error) {
	return b.seal(Ambiguous, map[string]any{"recorded_at": formatTime(at), "reason": createTimeout})
}

// Terminal returns the record of how the Job ended. outcome is
// [contract.Succeeded] or [contract.Failed]; evidence is from
// [contract.Evidence]. The Job must have been held against the execution.
func (b Binding) Terminal(outcome contract.State, evidence contract.Object) (Record, error) {
	digest, err := contract.DigestOf(evidence)
	if err != nil {
		return Record{}, fmt.Errorf("digesting the terminal evidence: %w", err)
	}
	return b.seal(Terminal, map[string]any{
		"outcome":                      string(outcome),
		"observed_job_contract_digest": b.execution.ContractDigest.String(),
		"terminal_evidence":            map[string]any(evidence),
		"terminal_evidence_digest":     digest.String(),
		"effect_verified":              outcome == contract.Succeeded,
		"mutation_performed":           true,
	})
}

// seal completes a record with the binding, its state and its own digest.
func (b Binding) seal(step Step, extra map[string]any) (Record, error) {
	content := maps.Clone(b.fields)
	content["state"] = string(step)
	maps.Copy(content, extra)
	digest, err := contract.DigestOf(content)
	if err != nil {
		return Record{}, fmt.Errorf("digesting the %s record: %w", step, err)
	}
	content["checkpoint_digest"] = digest.String()
	return Record{Step: step, Content: content}, nil
}

// known returns the fields that a record of the step has beside the binding,
// its state and its digest.
func known(step Step) []string {
	switch step {
	case Intent:
		return []string{"recorded_at"}
	case Ambiguous:
		return []string{"recorded_at", "reason"}
	}
	return nil
}

// check holds the retained record of a step against the binding. Records of
// steps other than the terminal one must have exactly the known fields.
func (b Binding) check(step Step, r Record) error {
	where := b.Where(step)
	if r.Step != step {
		return Differs(where, "the retained record is one of the step %s", show(string(r.Step)))
	}
	for _, key := range slices.Sorted(maps.Keys(b.fields)) {
		if err := same(where, key, r.Content[key], b.fields[key]); err != nil {
			return err
		}
	}
	if err := same(where, "state", r.Content["state"], string(r.Step)); err != nil {
		return err
	}
	if r.Step != Terminal {
		for _, key := range slices.Sorted(maps.Keys(r.Content)) {
			_, bound := b.fields[key]
			if !bound && key != "state" && key != "checkpoint_digest" && !slices.Contains(known(r.Step), key) {
				return Differs(where+"#"+key, "the retained record has a field it should not have")
			}
		}
	}
	return checkDigest(where, r)
}

// Same holds a retained record against the one that this execution would write.
// The error is checkpoint-differs and names the first field that differs.
func (b Binding) Same(want, retained Record) error {
	if want.Equal(retained) {
		return nil
	}
	return unequal(b.Where(want.Step), retained, want)
}

// Where names a record for messages, by the name of its file in the work
// folder.
func (b Binding) Where(step Step) string { return FileName(b.execution.Name, step) }

func same(where, key string, have, want any) error {
	if equal(have, want) {
		return nil
	}
	return Differs(where+"#"+key, "the retained record has %s, this execution has %s", show(have), show(want))
}

func equal(a, b any) bool {
	x, errX := contract.Canonical(a)
	y, errY := contract.Canonical(b)
	return errX == nil && errY == nil && slices.Equal(x, y)
}

// FileName is the reference's name for the file of a step, which is what its
// document is called wherever documents are files.
func FileName(execution string, step Step) string {
	if step == Manifest {
		return execution + ".json"
	}
	return execution + "." + string(step) + ".json"
}

// IsExecution reports whether a text can be the name of an execution, which is
// that of its Job: a DNS label (RFC 1123).
func IsExecution(text string) bool {
	_, err := contract.ParseLabel(text)
	return err == nil
}
