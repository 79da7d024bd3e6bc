package cache

import (
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

func TestKey(t *testing.T) {
	t.Parallel()
	const execution = "fdai-x-1"
	keys := map[string]int{ // 0 is none of its own
		"aks-oneshot-fdai-x-1.terminal.1":                    1,
		"aks-oneshot-fdai-x-1.terminal.12":                   12,
		"aks-oneshot-fdai-x-1.terminal.12.2":                 12,
		"aks-oneshot-fdai-x-1.terminal.12.16":                12,
		"aks-oneshot-fdai-x-12.terminal.1":                   0,
		"aks-oneshot-fdai-x.terminal.1":                      0,
		"aks-oneshot-fdai-x-1.terminal":                      0,
		"aks-oneshot-fdai-x-1.terminal.":                     0,
		"aks-oneshot-fdai-x-1.terminal.0":                    0,
		"aks-oneshot-fdai-x-1.terminal.-1":                   0,
		"aks-oneshot-fdai-x-1.terminal.+1":                   0,
		"aks-oneshot-fdai-x-1.terminal.01":                   0,
		"aks-oneshot-fdai-x-1.terminal.1.":                   0,
		"aks-oneshot-fdai-x-1.terminal.1.1":                  0,
		"aks-oneshot-fdai-x-1.terminal.1.02":                 0,
		"aks-oneshot-fdai-x-1.terminal.1.2.3":                0,
		"aks-oneshot-fdai-x-1.terminal.1 ":                   0,
		"aks-oneshot-fdai-x-1.terminal.x":                    0,
		"aks-oneshot-fdai-x-1.terminal-x.1":                  0,
		"aks-oneshot-fdai-x-1.dispatch-intent.1":             0,
		"xaks-oneshot-fdai-x-1.terminal.1":                   0,
		"aks-oneshot-fdai-x-1.terminal.99999999999999999999": 0,
		"": 0,
	}
	for key, want := range keys {
		got, ok := attemptOf(key, execution, checkpoint.Terminal)
		if ok != (want > 0) || ok && got != want {
			t.Errorf("%q: attempt %d, %t, want %d", key, got, ok, want)
		}
	}
}

// What is made is read again, and belongs to no other step or execution. The service
// takes keys of up to 512 characters without a comma.
func TestKeysArePartedFromEachOther(t *testing.T) {
	t.Parallel()
	executions := []string{"fdai-x-1", "fdai-x-12", "fdai-x", strings.Repeat("a", 63)}
	for _, e := range executions {
		for _, step := range checkpoint.SharedSteps() {
			for _, attempt := range []int{1, 2, 12, 50} {
				for _, n := range []int{1, 2, maxNumber} {
					key := keyOf(e, step, attempt, n)
					if len(key) > 512 || strings.Contains(key, ",") {
						t.Errorf("%s is no key", key)
					}
					for _, other := range executions {
						for _, otherStep := range checkpoint.SharedSteps() {
							got, ok := attemptOf(key, other, otherStep)
							if want := other == e && otherStep == step; ok != want || ok && got != attempt {
								t.Errorf("%s for %s of %s: attempt %d, %t", key, otherStep, other, got, ok)
							}
							if begins := strings.HasPrefix(key, prefixOf(other, otherStep)); begins != (other == e && otherStep == step) {
								t.Errorf("the prefix of %s of %s begins %s", otherStep, other, key)
							}
						}
					}
				}
			}
		}
	}
}

func TestNamesThatCannotBeInAKey(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := f.open(f.options(1))
	for _, name := range []string{"", "a.b", "a,b", "A", "-a", "a-", "a/b", "a\nb", strings.Repeat("a", 64)} {
		if err := s.Write(t.Context(), name, document(checkpoint.Terminal, "a")); err == nil || !strings.Contains(err.Error(), "is not the name of an execution") {
			t.Errorf("%q: the error of a write is %v", name, err)
		}
		if _, err := s.Read(t.Context(), name); err == nil || !strings.Contains(err.Error(), "is not the name of an execution") {
			t.Errorf("%q: the error of a read is %v", name, err)
		}
	}
	if asked := f.asked(); len(asked) > 0 {
		t.Errorf("the service was asked: %v", asked)
	}
}
