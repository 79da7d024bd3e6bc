package runnertest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A reader that obeys nothing would let every test of the host pass.
func TestReadObeys(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, stdout string
		want         Step
	}{
		{"plain", "a\nb\n", Step{Log: []string{"a", "b"}}},
		{"command", "::notice::hello\n", Step{Commands: []Command{{Name: "notice", Data: "hello"}}}},
		{"white space before", " \t\u00a0::notice::x", Step{Commands: []Command{{Name: "notice", Data: "x"}}}},
		{"any case", "::NoTiCe::x", Step{Commands: []Command{{Name: "notice", Data: "x"}}}},
		{"properties", "::error title=a%3Ab%2Cc%25,line=1::x%0Ay%250A", Step{Commands: []Command{{Name: "error", Properties: map[string]string{"title": "a:b,c%", "line": "1"}, Data: "x\ny%0A"}}}},
		{"unknown", "::nothing::x", Step{Log: []string{"::nothing::x"}}},
		{"not at the start", "x ::notice::y", Step{Log: []string{"x ::notice::y"}}},
		{"after a lone CR", "x\r::notice::y", Step{Log: []string{"x"}, Commands: []Command{{Name: "notice", Data: "y"}}}},
		{"old syntax anywhere", "x ##[set-env name=a;b=c%5D]y%3B", Step{Commands: []Command{{Name: "set-env", Properties: map[string]string{"name": "a", "b": "c]"}, Data: "y;"}}}},
		{"stopped", "::stop-commands::T\n::error::x\n::T::\n::error::y", Step{Log: []string{"::error::x"}, Commands: []Command{{Name: "error", Data: "y"}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Read(tt.stdout)); diff != "" {
				t.Errorf("Read(%q) (-want +got):\n%s", tt.stdout, diff)
			}
		})
	}
	if got := ReadLoosely(":\u200d:\u00adnotice::x").Named("notice"); !cmp.Equal(got, []string{"x"}) {
		t.Errorf("invisible characters are not looked through: %q", got)
	}
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file string
		want       []Output
		fails      bool
	}{
		{"none", "", nil, false},
		{"plain", "a=b\n\nc=d=<<e", []Output{{"a", "b"}, {"c", "d=<<e"}}, false},
		{"heredoc", "a<<E\nx\r\n\ny\nE\nb=c\n", []Output{{"a", "x\r\n\ny"}, {"b", "c"}}, false},
		{"empty heredoc", "a<<E\nE\n", []Output{{"a", ""}}, false},
		{"not ended", "a<<E\nx\n", nil, true},
		{"no name", "<<E\nE\n", nil, true},
		{"neither", "a\n", nil, true},
		{"injected by a fixed delimiter", "a<<E\nx\nE\nadmin=true\nE\n", []Output{{"a", "x"}, {"admin", "true"}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Outputs(tt.file)
			if (err != nil) != tt.fails {
				t.Errorf("error is %v, want one: %t", err, tt.fails)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
		})
	}
}
