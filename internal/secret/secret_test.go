package secret

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHide(t *testing.T) {
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
			var s Set
			for _, secret := range tt.secrets {
				s.Add(secret)
			}
			if got := s.Hide(tt.text); got != tt.want {
				t.Errorf("Hide(%q) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

func TestAddTellsWhatIsNew(t *testing.T) {
	t.Parallel()
	var s Set
	if diff := cmp.Diff([]string{"one", "two"}, s.Add("one\ntwo\none")); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"three"}, s.Add("two\nthree")); diff != "" {
		t.Errorf("second (-want +got):\n%s", diff)
	}
}

func FuzzHide(f *testing.F) {
	f.Add("secret", "other", "a secret and anotherother")
	f.Add("aaa", "aaaa", "aaaaaaa")
	f.Add("***", "a**", "a***")
	f.Fuzz(func(t *testing.T, one, two, text string) {
		var s Set
		added := append(s.Add(one), s.Add(two)...)
		hidden := s.Hide(text)
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

func TestOfAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string][]string{
		"":                                nil,
		"http://proxy.example:3128":       nil,
		"https://u:hunter2@proxy:3128":    {"hunter2", "dTpodW50ZXIy"},
		"u:hunter2@proxy:3128":            {"hunter2", "dTpodW50ZXIy"},
		"socks5://u:p%40ss%2f@proxy:1080": {"p%40ss%2f", "p@ss/", "dTpwQHNzLw=="},
		"http://u:p@ss#/%zz@proxy":        {"p@ss#/%zz", "dTpwQHNzIy8leno="},
		"http://token@proxy":              {"token", "OnRva2Vu"},
		"http://token:@proxy":             {"token", "OnRva2Vu"},
		"http://@proxy":                   nil,
		"http://:@proxy":                  nil,
	} {
		if diff := cmp.Diff(want, OfAddress(address)); diff != "" {
			t.Errorf("%s (-want +have):\n%s", address, diff)
		}
	}
}
