package secret

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOfSigned(t *testing.T) {
	t.Parallel()
	const sig = "CeLCccFbOy2shgjfcVXF1OF3DA53bllDiZt+nBbdJOE="
	escaped := url.QueryEscape(sig)
	tests := []struct {
		name, query string
		want        []string
	}{
		{"nothing", "", nil},
		{"a shared access signature", "se=2026-11-30T14%3A36%3A22Z&sig=" + escaped + "&sp=r&sv=2025-11-05", []string{escaped, sig}},
		{"written in another way", "sig=" + strings.ReplaceAll(escaped, "%3D", "="), []string{strings.ReplaceAll(escaped, "%3D", "="), sig, escaped}},
		{"of Amazon's", "X-Amz-SignedHeaders=host%3Bx-amz-content-sha256&X-Amz-Signature=0123456789abcdef0123456789abcdef", []string{"0123456789abcdef0123456789abcdef"}},
		{"too short to sign", "sig=abc&token=", nil},
		{"twice the same", "sig=0123456789abcdef&token=0123456789abcdef", []string{"0123456789abcdef"}},
		{"no escape", "sig=0123456789abcdef%zz", []string{"0123456789abcdef%zz"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, OfSigned(&url.URL{Scheme: "https", Host: "example.com", RawQuery: tt.query})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOfSignedLeavesNames: what an address is for is told in messages and outputs,
// and has to be there.
func TestOfSignedLeavesNames(t *testing.T) {
	t.Parallel()
	const name = "fdai-backfill-of-the-orders-0123456789abcdef"
	var s Set
	for _, secret := range OfSigned(&url.URL{
		Path:     "/actions-results/" + name + ".zip",
		RawQuery: "rscd=attachment%3B+filename%3D" + name + ".terminal.1.zip&rsct=application%2Fzip&sig=CeLCccFbOy2shgjfcVXF1OF3DA53bllDiZt%2BnBbdJOE%3D",
	}) {
		s.Add(secret)
	}
	if got := s.Hide("Job " + name + " succeeded"); got != "Job "+name+" succeeded" {
		t.Errorf("the name is hidden: %q", got)
	}
	if got := s.Hide("sig CeLCccFbOy2shgjfcVXF1OF3DA53bllDiZt+nBbdJOE="); got != "sig ***" {
		t.Errorf("the signature is not: %q", got)
	}
}
