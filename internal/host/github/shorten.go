package github

import (
	"fmt"
	"regexp"
	"strings"
)

// leftOut ends a summary that did not fit.
const leftOut = "\nThe rest of this summary was left out: GitHub shows at most 1 MiB of a step.\n"

var fenceLine = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})")

// shorten returns as much of the markdown as fits into room bytes, cut between
// two blocks so that nothing stays open, with a note of it. The error says that
// not even the note fits.
func shorten(markdown string, room int64) (string, error) {
	if int64(len(markdown)) <= room {
		return markdown, nil
	}
	room -= int64(len(leftOut))
	if room < 0 {
		return "", fmt.Errorf("the file is full: GitHub shows at most %d bytes", maxSummary)
	}
	cut, at, fence, folds := 0, 0, "", 0
	for line := range strings.Lines(markdown) {
		if fence == "" && folds == 0 && strings.TrimSpace(line) == "" {
			cut = at
		}
		if at += len(line); int64(at) > room {
			break
		}
		switch f := fenceLine.FindStringSubmatch(line); {
		case fence != "":
			if f != nil && strings.HasPrefix(f[1], fence) && strings.TrimSpace(line) == f[1] {
				fence = ""
			}
		case f != nil:
			fence = f[1]
		default:
			folds += strings.Count(line, "<details>") - strings.Count(line, "</details>")
		}
	}
	return markdown[:cut] + leftOut, nil
}
