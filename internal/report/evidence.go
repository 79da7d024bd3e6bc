package report

import (
	"fmt"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// maxEvidence bounds the evidence in an output, in bytes: it goes into the
// environment of steps, where Linux takes 128 KiB at most (execve(2)), and into
// pipes, which hold 64. That of a Job as Kubernetes makes it has a few hundred.
const maxEvidence = 32 << 10

// evidenceJSON returns evidence in its canonical form, or "" when there is none.
// Of evidence that is too large it returns a part that says so; the record of
// the end has all of it.
func evidenceJSON(evidence contract.Object) string {
	if evidence == nil {
		return ""
	}
	data, err := contract.Canonical(evidence)
	if err != nil {
		return "" // Evidence is digested before it gets here; it has a canonical form.
	}
	if len(data) <= maxEvidence {
		return string(data)
	}
	part := contract.Object{}
	for name, value := range evidence {
		part[name] = partOf(value, 2)
	}
	part["shortened"] = true
	if data, err = contract.Canonical(part); err != nil || len(data) > maxEvidence {
		return `{"shortened":true}`
	}
	return string(data)
}

// partOf returns a JSON value with what is too long in it left out, and what is
// nested deeper than so many levels.
func partOf(v any, levels int) any {
	switch v := v.(type) {
	case string:
		return leftOut(v)
	case []any:
		if levels == 0 {
			return "(left out)"
		}
		var items []any
		for _, item := range v[:min(len(v), maxItems)] {
			items = append(items, partOf(item, levels-1))
		}
		return items
	case map[string]any:
		if levels == 0 || len(v) > maxItems {
			return "(left out)"
		}
		members := map[string]any{}
		for name, member := range v {
			members[name] = partOf(member, levels-1)
		}
		return members
	}
	return v
}

// leftOut returns text, or a note in its place when it is too long. It is not
// cut: there may be a secret in it, of which a part would not be known.
func leftOut(text string) string {
	if len(text) > maxValue {
		return fmt.Sprintf("(left out: %d bytes)", len(text))
	}
	return text
}
