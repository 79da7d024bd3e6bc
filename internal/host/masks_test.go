package host_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/host"
)

func TestMasks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		secrets    []string
		text, want string
	}{
		{"none", nil, "hello", "hello"},
		{"one", []string{"s3cret"}, "a s3cret and s3cret", "a *** and ***"},
		{"each line of several", []string{"-----BEGIN-----\r\n  abcdef\n\nghijkl\n"}, "ghijkl, abcdef: -----BEGIN-----", "***, ***: ***"},
		{"too short to hide", []string{"", " ", "ab", "\n}\n"}, "a ab } x", "a ab } x"},
		{"as short as can be hidden", []string{"abc"}, "abcd", "***d"},
		{"the longer of two", []string{"secret", "secret-longer"}, "secret-longer secret", "*** ***"},
		{"overlapping", []string{"abcdef", "defghi"}, "xabcdefghix", "x***x"},
		{"side by side", []string{"abc"}, "xabcabcx", "x***x"},
		{"overlapping itself", []string{"aba"}, "xababax", "x***x"},
		{"in a JSON string", []string{"pa\"ss\\wd"}, `{"p":"pa\"ss\\wd"}`, `{"p":"***"}`},
		{"markup in a JSON string", []string{"a<b>&c"}, `"a<b>&c"`, `"***"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var m host.Masks
			for _, s := range tt.secrets {
				m.Add(s)
			}
			if got := m.Hide(tt.text); got != tt.want {
				t.Errorf("Hide(%q) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

func TestMasksAddTellsWhatIsNew(t *testing.T) {
	t.Parallel()
	var m host.Masks
	if diff := cmp.Diff([]string{"one", "two"}, m.Add("one\ntwo\none")); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"three"}, m.Add("two\nthree")); diff != "" {
		t.Errorf("second (-want +got):\n%s", diff)
	}
}

func FuzzMasks(f *testing.F) {
	f.Add("secret", "other", "a secret and anotherother")
	f.Add("aaa", "aaaa", "aaaaaaa")
	f.Add("***", "a**", "a***")
	f.Fuzz(func(t *testing.T, one, two, text string) {
		var m host.Masks
		added := append(m.Add(one), m.Add(two)...)
		hidden := m.Hide(text)
		for _, secret := range added {
			// What stands next to a "***" may spell a secret made of asterisks.
			if !strings.Contains(secret, "*") && strings.Contains(hidden, secret) {
				t.Errorf("%q is left in %q, from %q", secret, hidden, text)
			}
		}
		if len(added) == 0 && hidden != text {
			t.Errorf("%q became %q though nothing is hidden", text, hidden)
		}
	})
}
