package failure

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestErrorTellsEverything(t *testing.T) {
	t.Parallel()
	err := New(ReadbackFailed, "reading Job %s: %w", "x", io.ErrUnexpectedEOF).At("spec.suspend").WithFix("Run %s", "again")
	want := "readback-failed: spec.suspend: reading Job x: unexpected EOF. Run again"
	if err.Error() != want {
		t.Errorf("the error is %q, want %q", err, want)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error("the cause is lost")
	}
	if code := CodeOf(fmt.Errorf("wrapped: %w", err)); code != ReadbackFailed {
		t.Errorf("the code of a wrapped failure is %q", code)
	}
	if code := CodeOf(io.EOF); code != "" {
		t.Errorf("the code of another error is %q", code)
	}
}

func TestAtAndWithFixLeaveTheirErrorAlone(t *testing.T) {
	t.Parallel()
	plain := New(TemplateDrift, "differs")
	_ = plain.At("a").WithFix("b")
	if plain.Field != "" || plain.Fix != "" {
		t.Errorf("the error was changed: %+v", plain)
	}
}

func TestEveryCodeHasOneMeaning(t *testing.T) {
	t.Parallel()
	seen := map[Code]bool{}
	for _, m := range Meanings() {
		if seen[m.Code] {
			t.Errorf("%s has two meanings", m.Code)
		}
		seen[m.Code] = true
		for _, text := range []string{m.Means, m.Do} {
			if !strings.HasSuffix(text, ".") {
				t.Errorf("%s: %q is no sentence", m.Code, text)
			}
		}
	}
	if len(seen) != 27 {
		t.Errorf("%d codes have a meaning, want all 27", len(seen))
	}
}

func TestMeaningsCannotBeChangedFromOutside(t *testing.T) {
	t.Parallel()
	Meanings()[0].Code = "x"
	if code := Meanings()[0].Code; code != ConfigInvalid {
		t.Errorf("the first code is %q", code)
	}
}
