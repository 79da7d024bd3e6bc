package harness

import (
	"maps"
	"testing"
)

func TestParseOutputs(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]map[string]string{
		"":                                 {},
		"a=1\nb=x=y\n":                     {"a": "1", "b": "x=y"},
		"a<<END\none\ntwo\nEND\nb=1\n":     {"a": "one\ntwo", "b": "1"},
		"a<<END\n\nEND\n":                  {"a": ""},
		"a<<END\nEND\n":                    {"a": ""},
		"a=first\na<<E\nlast\nE\n":         {"a": "last"},
		"a=b<<c\n":                         {"a": "b<<c"},
		"a<<E\nb<<F\ninjected=1\nF\nE\n":   {"a": "b<<F\ninjected=1\nF"},
		"a<<E=\nx\nE=\n":                   {"a": "x"},
		"a<<END\n END\nEND \nEND\nc=d\n\n": {"a": " END\nEND ", "c": "d"},
	} {
		have, err := parseOutputs(file)
		if err != nil || !maps.Equal(have, want) {
			t.Errorf("%q gives %q, %v, want %q", file, have, err, want)
		}
	}
	for _, file := range []string{"a<<END\nx\n", "a<<\nx\n\n", "nonsense\n", "=x\n", "<<E\nE\n"} {
		if have, err := parseOutputs(file); err == nil {
			t.Errorf("%q gives %q, the runner would refuse it", file, have)
		}
	}
}

func TestAnnotations(t *testing.T) {
	t.Parallel()
	e := Ended{Stdout: "plain ::error::no\n::error title=a%3A b::one%0Atwo%25\n::error::untitled\n::warning title=w::x\n::errors::no\n"}
	for kind, want := range map[string][]string{
		"error": {"a: b\none\ntwo%", "\nuntitled"}, "warning": {"w\nx"}, "notice": nil,
	} {
		have := e.Annotations(kind)
		if len(have) != len(want) {
			t.Fatalf("%s: %q, want %q", kind, have, want)
		}
		for i := range want {
			if have[i] != want[i] {
				t.Errorf("%s: %q, want %q", kind, have[i], want[i])
			}
		}
	}
}
