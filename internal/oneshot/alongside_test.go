package oneshot

import (
	"errors"
	"testing"
)

func TestAlongsideHandsOnErrorsAndPanics(t *testing.T) {
	t.Parallel()
	want := errors.New("x")
	if err := alongside(func() error { return want })(); !errors.Is(err, want) {
		t.Errorf("the error is %v, want %v", err, want)
	}
	defer func() {
		if p := recover(); p != "bug" {
			t.Errorf("recovered %v, want the panic of the function", p)
		}
	}()
	_ = alongside(func() error { panic("bug") })()
	t.Error("wait returned although the function panicked")
}
