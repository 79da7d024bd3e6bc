package github

import (
	"bytes"
	"strings"
	"testing"
)

// A secret across the place where a line is cut is hidden first.
func TestLongLinesAreBoundedAfterSecretsAreHidden(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	h := New(&b, func(string) string { return "" })
	h.Mask("hunter2-hunter2-hunter2")
	b.Reset()
	h.Log(strings.Repeat("x", 16<<10-10) + "hunter2-hunter2-hunter2" + strings.Repeat("y", 3<<20))
	if b.Len() > 17<<10 || strings.Contains(b.String(), "hunter2") || !strings.HasSuffix(b.String(), " bytes left out)\n") {
		t.Errorf("%d bytes, the last %q", b.Len(), b.String()[max(0, b.Len()-100):])
	}
}
