package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// checkBicep compiles a file with Bicep's own compiler where that is on PATH, and
// reports what it says. Compiled is false where it is not there.
func checkBicep(path, name string, report reporter) (compiled bool, err error) {
	compiler, err := exec.LookPath("bicep")
	if errors.Is(err, exec.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var stderr bytes.Buffer
	cmd := exec.Command(compiler, "build", "--stdout", path)
	cmd.Stderr = &stderr
	err = cmd.Run()
	said := 0
	for line := range strings.Lines(stderr.String()) {
		// PATH(LINE,COLUMN) : Error BCP018: TEXT, and Warning and Info likewise.
		if _, diagnostic, ok := strings.Cut(line, path+"("); ok {
			report("%s(%s", name, diagnostic)
			said++
		}
	}
	if err != nil && said == 0 {
		return false, fmt.Errorf("%s build: %w: %s", compiler, err, strings.TrimSpace(stderr.String()))
	}
	return true, nil
}
