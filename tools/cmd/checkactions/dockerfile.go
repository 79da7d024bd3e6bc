package main

import (
	"regexp"
	"strings"
)

var frontend = regexp.MustCompile(`(?i)^#\s*syntax\s*=`)

// instructions are the Dockerfile's lines with continuations joined and comments
// left out, those of the last stage only when last is set.
func instructions(dockerfile string, last bool) (lines [][]string) {
	joined := strings.ReplaceAll(dockerfile, "\\\n", " ")
	for line := range strings.Lines(joined) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		words[0] = strings.ToUpper(words[0])
		if last && words[0] == "FROM" {
			lines = nil
		}
		lines = append(lines, words)
	}
	return lines
}

// installed are the paths that the last stage copies files to.
func installed(dockerfile string) (paths []string) {
	for _, words := range instructions(dockerfile, true) {
		if words[0] == "COPY" {
			paths = append(paths, words[len(words)-1])
		}
	}
	return paths
}

// imageProblems are what makes an image useless to one of the runners.
func imageProblems(dockerfile string) (found []string) {
	for line := range strings.Lines(dockerfile) {
		if frontend.MatchString(line) {
			found = append(found, "Dockerfile: a syntax line makes every build pull a frontend")
		}
	}
	for _, words := range instructions(dockerfile, true) {
		switch {
		case words[0] == "ENTRYPOINT":
			found = append(found, "Dockerfile: an ENTRYPOINT keeps Azure Pipelines from running container jobs in the image")
		case words[0] == "USER" && words[len(words)-1] != "root":
			found = append(found, "Dockerfile: only root can write to the mounts of GitHub's runner")
		}
	}
	return found
}
