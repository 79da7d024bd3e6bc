package standin_test

import (
	"encoding/base64"
	"slices"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// Whatever stands around a secret, it is found, also when both are encoded
// together.
func FuzzLedger(f *testing.F) {
	for _, around := range [][2]string{{"", ""}, {"a", "b"}, {"%", "%4"}, {`\`, `\u`}, {"%2", `"`}, {"====", "A"}, {"\xff", "\x00"}, {`{"a":"`, `"}`}, {"AAAAA", "=="}} {
		f.Add(around[0], around[1])
	}
	ledger := standin.NewLedger()
	const secret = "Zm9vYmFy-c2VjcmV0_b3B0aW9u-aHVudGVyMg_cXdlcnR5-dWlvcA"
	ledger.AddText("it", secret)
	if ledger.Scan("out", []byte(secret[:23])) == nil && ledger.Scan("out", []byte(secret[:24])) == nil {
		f.Fatal("a piece is not found")
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		text := before + secret + after
		for range 3 {
			if !slices.Contains(ledger.Scan("out", []byte(text)), "out holds it") {
				t.Fatalf("not found in %q", text)
			}
			text = base64.StdEncoding.EncodeToString([]byte(text))
		}
	})
}
