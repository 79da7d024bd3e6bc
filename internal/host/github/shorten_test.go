package github

import (
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/host/github/runnertest"
)

func TestShorten(t *testing.T) {
	t.Parallel()
	note := int64(len(leftOut))
	tests := []struct {
		name, markdown string
		room           int64
		want           string
	}{
		{"fits", "a\n\nb\n", 5, "a\n\nb\n"},
		{"cut between blocks", "aaa\n\nbbb\n\n" + strings.Repeat("c", 500), note + 12, "aaa\n\nbbb\n" + leftOut},
		{"not within a block", "aaa\n\nbbb\nbbb\n" + strings.Repeat("c", 500), note + 12, "aaa\n" + leftOut},
		{"not within a fence", "a\n\n````\n```\n\nb\n\n" + strings.Repeat("c\n", 500) + "````\n", note + 20, "a\n" + leftOut},
		{"not within a tilde fence", "a\n\n~~~ text\n```\n\nb\n\n" + strings.Repeat("c\n", 500) + "~~~\n", note + 20, "a\n" + leftOut},
		{"after a fence", "```\n\n```\n\nb\n\n" + strings.Repeat("c", 500), note + 11, "```\n\n```\n" + leftOut},
		{"not within a fold", "a\n\n<details><summary>x</summary>\n\nb\n\n" + strings.Repeat("c\n", 500) + "\n</details>\n", note + 60, "a\n" + leftOut},
		{"after a fold", "<details>\n\nb\n\n</details>\n\n" + strings.Repeat("c", 500), note + 30, "<details>\n\nb\n\n</details>\n" + leftOut},
		{"a fold that is only told of", "```\n<details>\n```\n\nb\n\n" + strings.Repeat("c", 500), note + 24, "```\n<details>\n```\n\nb\n" + leftOut},
		{"nothing but the note", strings.Repeat("c", 500), note, leftOut},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := shorten(tt.markdown, tt.room)
			if err != nil || got != tt.want {
				t.Errorf("shorten(…, %d) = %q, %v, want %q", tt.room, got, err, tt.want)
			}
		})
	}
	if got, err := shorten(strings.Repeat("c", 500), note-1); err == nil {
		t.Errorf("there is no room for the note, yet %q", got)
	}
}

func TestSummaryAppends(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	files.write(t, "summary", "an earlier tool's last line")
	h, _ := step(t, files.env())
	for _, text := range []string{"## one\n", "## two\n"} {
		if err := h.Summary(report(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := files.read(t, "summary"), "an earlier tool's last line\n\n## one\n\n## two\n"; got != want {
		t.Errorf("the summary is %q, want %q", got, want)
	}
}

// GitHub drops a summary of more than 1 MiB, and with it what others wrote.
func TestSummaryStaysShown(t *testing.T) {
	t.Parallel()
	block := strings.Repeat("x", 99) + "\n\n"
	for _, tt := range []struct {
		name    string
		earlier int
		text    string
		fails   bool
	}{
		{"too long by itself", 0, strings.Repeat(block, 20000), false},
		{"just fits", 1<<20 - 101 - 2, strings.Repeat("y", 100) + "\n", false},
		{"too long with what is there", 1<<20 - 5000, strings.Repeat(block, 100), false},
		{"no room at all", 1<<20 - 3, "hello\n", true},
		{"too much there already", 1<<20 + 1, "hello\n", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := newFiles(t)
			files.write(t, "summary", strings.Repeat("e", tt.earlier))
			h, stdout := step(t, files.env())
			err := h.Summary(report(tt.text))
			got := files.read(t, "summary")
			if (err != nil) != tt.fails {
				t.Fatalf("error is %v, want one: %t", err, tt.fails)
			}
			if tt.fails {
				if len(got) != tt.earlier {
					t.Errorf("the file went from %d to %d bytes", tt.earlier, len(got))
				}
				return
			}
			if len(got) > 1<<20 {
				t.Errorf("the file has %d bytes", len(got))
			}
			if len(got) < 1<<20-len(block)-len(leftOut) {
				t.Errorf("the file has %d bytes only", len(got))
			}
			if whole := strings.HasSuffix(got, tt.text); !whole && !strings.HasSuffix(got, leftOut) {
				t.Errorf("the summary ends %q", got[len(got)-200:])
			}
			if s := runnertest.Read(stdout.String()); len(s.Log)+len(s.Commands) > 0 {
				t.Errorf("printed %v", s)
			}
		})
	}
}
