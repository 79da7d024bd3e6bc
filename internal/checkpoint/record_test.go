package checkpoint

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

func TestRecordFields(t *testing.T) {
	t.Parallel()
	e := execution("fdai-inventory-aaaaaaaaaaaaaaaa")
	bound := map[string]any{
		"schema_version":                    "fdai.aks-one-shot-execution-checkpoint.v1",
		"name":                              "fdai-inventory-aaaaaaaaaaaaaaaa",
		"execution_digest":                  strings.Repeat("a", 64),
		"manifest_digest":                   e.ManifestDigest.String(),
		"protected_template_digest":         strings.Repeat("b", 64),
		"protected_identity_binding_digest": strings.Repeat("c", 64),
		"job_ttl_seconds":                   json.Number("3600"),
	}
	more := map[Step]map[string]any{
		Prepared:   {},
		Intent:     {"recorded_at": "2026-09-27T12:00:00Z"},
		Dispatched: {},
		Ambiguous:  {"recorded_at": "2026-09-27T12:00:00Z", "reason": "create-timeout"},
		Terminal: {
			"outcome": "succeeded", "observed_job_contract_digest": strings.Repeat("d", 64),
			"terminal_evidence": decoded(t, Record{Content: evidence}).Content, "effect_verified": true, "mutation_performed": true,
		},
	}
	for _, r := range allRecords(t, Bind(e)) {
		if r.Step == Manifest {
			if diff := cmp.Diff(e.Manifest, r.Content); diff != "" {
				t.Errorf("the manifest is not the execution's (-want +have):\n%s", diff)
			}
			continue
		}
		want := map[string]any{"state": string(r.Step)}
		for _, fields := range []map[string]any{bound, more[r.Step]} {
			for key, v := range fields {
				want[key] = v
			}
		}
		have := decoded(t, r).Content
		// The digests are held against the reference's in TestReferenceFolders.
		for _, key := range []string{"checkpoint_digest", "terminal_evidence_digest"} {
			if _, err := contract.ParseDigest(text(have[key])); err != nil && (r.Step == Terminal || key == "checkpoint_digest") {
				t.Errorf("%s: %s: %v", r.Step, key, err)
			}
			delete(have, key)
		}
		if evidence, ok := have["terminal_evidence"].(map[string]any); ok {
			have["terminal_evidence"] = contract.Object(evidence)
		}
		if diff := cmp.Diff(contract.Object(want), have); diff != "" {
			t.Errorf("%s (-want +have):\n%s", r.Step, diff)
		}
	}
}

func TestRecordOfFailure(t *testing.T) {
	t.Parallel()
	r, err := Bind(execution("e")).Terminal(contract.Failed, evidence)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"outcome": "failed", "effect_verified": false, "mutation_performed": true} {
		if r.Content[key] != want {
			t.Errorf("the record of a failure has %s %v, want %v", key, r.Content[key], want)
		}
	}
}

func TestRecordBuildersRefuseWhatHasNoForm(t *testing.T) {
	t.Parallel()
	for _, bad := range []any{make(chan int), json.Number("1e999")} {
		if r, err := Bind(execution("e")).Terminal(contract.Succeeded, contract.Object{"conditions": bad}); err == nil {
			t.Errorf("%v is taken: %v", bad, r)
		}
		r := Record{Step: Manifest, Content: contract.Object{"a": bad}}
		if _, err := r.Encode(); err == nil {
			t.Errorf("%v is encoded", bad)
		}
		if same := r; r.Equal(same) {
			t.Errorf("records with %v are equal, though they cannot be stored", bad)
		}
	}
}

func TestEqual(t *testing.T) {
	t.Parallel()
	parsed := func(text string) Record {
		content, err := contract.ParseObject([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return Record{Step: Prepared, Content: content}
	}
	base := parsed(`{"a":1,"b":["é",null]}`)
	for text, want := range map[string]bool{
		"{\n  \"b\" : [ \"\\u00e9\" , null ],\n  \"a\":1 }": true,
		`{"a":2,"a":1,"b":["é",null]}`:                      true, // the last one counts
		`{"a":1.0,"b":["é",null]}`:                          false,
		`{"a":"1","b":["é",null]}`:                          false,
		`{"a":1,"b":[null,"é"]}`:                            false,
		`{"a":1,"b":["é",null],"c":null}`:                   false,
		`{"a":1}`:                                           false,
	} {
		if have := base.Equal(parsed(text)); have != want {
			t.Errorf("%s: equal is %t, want %t", text, have, want)
		}
	}
	other := base
	other.Step = Dispatched
	if base.Equal(other) {
		t.Error("records of different steps are equal")
	}
}

func TestFormatTime(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 2*60*60)
	for want, at := range map[string]time.Time{
		"2026-09-27T01:02:03Z":        time.Date(2026, 9, 27, 1, 2, 3, 0, time.UTC),
		"2026-09-27T01:02:03.000004Z": time.Date(2026, 9, 27, 1, 2, 3, 4000, time.UTC),
		"2026-09-27T01:02:03.500000Z": time.Date(2026, 9, 27, 3, 2, 3, 500000999, zone),
		"2026-09-26T23:00:00Z":        time.Date(2026, 9, 27, 1, 0, 0, 999, zone),
	} {
		if have := formatTime(at); have != want {
			t.Errorf("%s is spelt %s, want %s", at, have, want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", "{", `{"a":1`, "null", "[]", `"x"`, "{} {}", "\xff", `{"a":"\ud800"}`, strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300)} {
		_, err := parse("file", []byte(data))
		wantFailure(t, err, failure.CheckpointDiffers, "file", "cannot be read")
	}
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
