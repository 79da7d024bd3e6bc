package contract

import (
	"fmt"
	"strings"
	"testing"
)

func TestTextsAreHeldToTheirForm(t *testing.T) {
	t.Parallel()
	hex := strings.Repeat("a", 64)
	tests := []struct {
		name  string
		parse func(string) error
		good  []string
		bad   []string
	}{
		{"digest", parseError(ParseDigest), []string{hex}, []string{"", hex[1:], hex + "a", strings.ToUpper(hex), hex + "\n"}},
		{"label", parseError(ParseLabel), []string{"a", "a-1", strings.Repeat("a", 63)}, []string{"", "-a", "a-", "A", "a.b", "a\n", strings.Repeat("a", 64), "ä"}},
		{"image", parseError(ParseImage), []string{"r.io/a@sha256:" + hex, "r.io:5000/a/b_c@sha256:" + hex},
			[]string{"", "a@sha256:" + hex, "r.io/a:1", "R.io/a@sha256:" + hex, "r.io/a@sha256:" + hex + "\n", "r.io/a:1@sha256:" + hex}},
		{"commit", parseError(ParseCommit), []string{hex[:40]}, []string{"", hex, "A" + hex[:39]}},
		{"GUID", parseError(ParseGUID), []string{"11111111-2222-3333-4444-55555555555f", "AAAAAAAA-2222-3333-4444-555555555555"}, []string{"", "x", "{11111111-2222-3333-4444-555555555555}"}},
	}
	for _, test := range tests {
		for _, s := range test.good {
			if err := test.parse(s); err != nil {
				t.Errorf("%s %q: %v", test.name, s, err)
			}
		}
		for _, s := range test.bad {
			if err := test.parse(s); err == nil {
				t.Errorf("%s %q is accepted", test.name, s)
			}
		}
	}
}

func parseError[T any](parse func(string) (T, error)) func(string) error {
	return func(s string) error { _, err := parse(s); return err }
}

func TestRequestIsCheckedBeforeAnythingIsRead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*Request)
		field  string
	}{
		{"no image", func(q *Request) { q.Image = Image{} }, "image"},
		{"no purpose", func(q *Request) { q.Purpose = Label{} }, "purpose"},
		{"no command", func(q *Request) { q.Command = nil }, "command"},
		{"an empty argument", func(q *Request) { q.Args = []string{"a", ""} }, "args[1]"},
		{"a line break", func(q *Request) { q.Args = []string{"a\nb"} }, "args[0]"},
		{"a long argument", func(q *Request) { q.Args = []string{strings.Repeat("é", 4097)} }, "args[0]"},
		{"a credential", func(q *Request) { q.Environment = map[string]string{"api_token": "x"} }, "env.api_token"},
		{"no name", func(q *Request) { q.Environment = map[string]string{"": "x"} }, "env."},
		{"a NUL", func(q *Request) { q.Environment = map[string]string{"A": "\x00"} }, "env.A"},
		{"a long purpose", func(q *Request) { q.Purpose = must(ParseLabel(strings.Repeat("a", 42))) }, "purpose"},
	}
	for _, test := range tests {
		q := testRequest(t)
		test.change(&q)
		checkFailure(t, q.Validate(), "config-invalid", test.field)
	}
	q := testRequest(t)
	q.Args = []string{strings.Repeat("é", 4096)}
	if err := q.Validate(); err != nil {
		t.Errorf("an argument of 4096 characters is refused: %v", err)
	}
}

// With several things wrong, the same one is told each time.
func TestTheFirstOfSeveralFaultsIsTold(t *testing.T) {
	t.Parallel()
	for range 50 {
		q := testRequest(t)
		q.Namespace, q.Purpose, q.Image, q.Command = Label{}, Label{}, Image{}, nil
		checkFailure(t, q.Validate(), "config-invalid", "namespace")
		_, err := NewBinding(map[string]any{"identity_client_id": "bbbbbbbb-cccc-dddd-eeee-ffffffffffff", "identity_resource_id": "x"},
			"-", "-", "66666666-7777-8888-9999-aaaaaaaaaaaa", "11111111-2222-3333-4444-555555555555")
		checkFailure(t, err, "identity-binding-invalid", "template name")
		_, err = ReadContext(Object{"source_commit": "x", "target_binding": "x", "tenant_id": "x", "subscription_id": "x"})
		checkFailure(t, err, "context-incomplete", "context."+digestsKey)
		account := fixture(t, "serviceaccount.json")
		set(account, map[string]any{"a": nil, "b": nil, "c": nil}, "metadata", "annotations")
		checkFailure(t, q.Pins.Binding.Verify(account), "identity-drift", `metadata.annotations["a"]`)
	}
}

func TestSuccessorHasItsOwnNameAndEnvironment(t *testing.T) {
	t.Parallel()
	q := testRequest(t)
	q.Purpose = must(ParseLabel(strings.Repeat("a", 40)))
	if _, err := q.Successor(1, nil); err == nil {
		t.Error("a successor whose Job name is too long is accepted")
	}
	s, err := testRequest(t).Successor(2, map[string]string{"A": "b"})
	if err != nil || s.Purpose.String() != "inventory-retry-2" || len(s.Environment) != 1 {
		t.Errorf("the successor is %+v (%v)", s, err)
	}
}

func TestDocumentsHaveBounds(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"deep":   strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1),
		"many":   "[" + strings.Repeat("1,", maxValues+1) + "1]",
		"nested": "[" + strings.Repeat("{},", maxValues) + "1]",
	} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("a %s document is accepted", name)
		}
	}
	if _, err := Parse([]byte("[" + strings.Repeat(`"a,[{",`, 1000) + "1]")); err != nil {
		t.Errorf("what is in strings does not count: %v", err)
	}
}

// A secret in the wrong place is in a message whole, where it can be hidden, or
// not at all.
func TestMessagesShowAValueWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	var secret strings.Builder
	for i := range 200 {
		fmt.Fprintf(&secret, "%x", i*i)
	}
	q := testRequest(t)
	cronJob := fixture(t, "cronjob.json")
	set(cronJob, []any{secret.String()}, in(containerPath, "command")...)
	_, drift := Derive(cronJob, fixture(t, "serviceaccount.json"), q)
	_, label := ParseLabel(secret.String())
	for _, err := range []error{drift, label} {
		for i := 0; i+20 < secret.Len(); i += 20 {
			if strings.Contains(err.Error(), secret.String()[i:i+20]) {
				t.Fatalf("a part of the value is in %v", err)
			}
		}
	}
}
