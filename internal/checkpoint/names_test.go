package checkpoint

import (
	"strings"
	"testing"
)

// A name is part of those of files, artifacts, keys of a cache and objects.
func TestIsExecution(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"a": true, "0": true, "fdai-x-1": true, strings.Repeat("a", 63): true,
		"": false, "-a": false, "a-": false, "A": false, "a.b": false, "a,b": false, "a/b": false, `a\b`: false,
		"a\n": false, "ä": false, "..": false, strings.Repeat("a", 64): false,
	} {
		if got := IsExecution(text); got != want {
			t.Errorf("IsExecution(%q) = %t", text, got)
		}
	}
}
