package harness

import "strings"

// Follow calls see with each line that the process prints to standard output,
// as it comes, and returns when the process has ended.
func (r *Run) Follow(see func(line string)) {
	for shown := 0; ; {
		more, over := r.stdout.changed(), !r.Running()
		text := r.stdout.String()[shown:]
		whole := strings.LastIndexByte(text, '\n') + 1
		if over {
			whole = len(text)
		}
		shown += whole
		for line := range strings.Lines(text[:whole]) {
			see(strings.TrimSuffix(line, "\n"))
		}
		if over {
			return
		}
		select {
		case <-more:
		case <-r.done:
		}
	}
}
