package checkpoint_test

import (
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

const keyed = "fdai-inventory-0123456789abcdef"

func keyedRecord(t *testing.T, name string, step checkpoint.Step) checkpoint.Record {
	t.Helper()
	content := contract.Object{"name": name, "state": string(step)}
	digest, err := contract.DigestOf(content)
	if err != nil {
		t.Fatal(err)
	}
	content["checkpoint_digest"] = digest.String()
	return checkpoint.Record{Step: step, Content: content}
}

func newKey(t *testing.T, secret string) checkpoint.Key {
	t.Helper()
	key, err := checkpoint.NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// A document is believed by who sealed it, for its cluster, execution and step, and
// by nobody else.
func TestKey(t *testing.T) {
	t.Parallel()
	secret := newKey(t, strings.Repeat("0123456789abcdef", 2))
	other := newKey(t, strings.Repeat("fedcba9876543210", 2))
	none := checkpoint.Key{}
	intent := func(*checkpoint.Document) {}
	for name, test := range map[string]struct {
		by, to  checkpoint.Key
		change  func(*checkpoint.Document)
		name    string
		refused string
	}{
		"signed, the same cluster":        {by: secret.For("a"), to: secret.For("a"), change: intent},
		"signed, another cluster":         {by: secret.For("a"), to: secret.For("b"), change: intent, refused: "on another cluster"},
		"signed, its cluster is not said": {by: secret.For("a"), to: secret.For("b"), change: cut("cluster="), refused: "does not say which cluster"},
		"signed, its cluster is changed":  {by: secret.For("a"), to: secret.For("b"), change: moved(t, none.For("b")), refused: "not signed with this checkpoint-key"},
		"unsigned":                        {by: none.For("a"), to: secret.For("a"), change: intent, refused: "is not signed"},
		"signed by another":               {by: other.For("a"), to: secret.For("a"), change: intent, refused: "not signed with this checkpoint-key"},
		"signed for another step":         {by: secret.For("a"), to: secret.For("a"), change: func(d *checkpoint.Document) { d.Step = checkpoint.Terminal }, refused: "not signed with this checkpoint-key"},
		"signed for another execution":    {by: secret.For("a"), to: secret.For("a"), change: intent, name: "fdai-inventory-fedcba9876543210", refused: "not signed with this checkpoint-key"},
		"nobody has a key":                {by: none, to: none, change: intent},
		"nobody signs, the same cluster":  {by: none.For("a"), to: none.For("a"), change: intent},
		"nobody signs, another cluster":   {by: none.For("a"), to: none.For("b"), change: intent, refused: "on another cluster"},
		"nobody signs, no cluster":        {by: none, to: none.For("a"), change: intent, refused: "does not say which cluster"},
		"nobody signs, another step":      {by: none, to: none, change: func(d *checkpoint.Document) { d.Step = checkpoint.Terminal }, refused: "terminal"},
		"nobody signs, another execution": {by: none, to: none, change: intent, name: "fdai-inventory-fedcba9876543210", refused: "#name"},
		"nobody signs, a changed document": {by: none, to: none, change: func(d *checkpoint.Document) {
			d.Data = []byte(strings.Replace(string(d.Data), `"name"`, `"x":1,"name"`, 1))
		}, refused: "checkpoint_digest"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := test.by.Seal(keyed, keyedRecord(t, keyed, checkpoint.Intent))
			if err != nil {
				t.Fatal(err)
			}
			if strings.ContainsAny(d.Seal, "\r\n") {
				t.Errorf("the seal is %q", d.Seal)
			}
			test.change(&d)
			execution := keyed
			if test.name != "" {
				execution = test.name
			}
			_, err = test.to.Open(execution, d, "the copy")
			if (err != nil) != (test.refused != "") || err != nil && (failure.CodeOf(err) != failure.CheckpointDiffers || !strings.Contains(err.Error(), test.refused)) {
				t.Errorf("opened with the error %v, want %q", err, test.refused)
			}
		})
	}
}

// cut takes a part out of a seal.
func cut(part string) func(*checkpoint.Document) {
	return func(d *checkpoint.Document) {
		var rest []string
		for _, p := range strings.Fields(d.Seal) {
			if !strings.HasPrefix(p, part) {
				rest = append(rest, p)
			}
		}
		d.Seal = strings.Join(rest, " ")
	}
}

// moved has a seal say what another key says of the cluster.
func moved(t *testing.T, key checkpoint.Key) func(*checkpoint.Document) {
	t.Helper()
	other, err := key.Seal(keyed, keyedRecord(t, keyed, checkpoint.Intent))
	if err != nil {
		t.Fatal(err)
	}
	return func(d *checkpoint.Document) {
		cut("cluster=")(d)
		d.Seal = other.Seal + " " + d.Seal
	}
}
