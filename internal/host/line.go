package host

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/escape"
)

var (
	// escapeSequence is a terminal's control sequence (ECMA-48, CSI): colours
	// and cursor movements.
	escapeSequence = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)
	// colonCommand is the beginning of "::name::" as the runner may see it.
	colonCommand = regexp.MustCompile(`^[^!-~]*:[^ -~]*:`)
	// hashCommand is a "##[name]" or "##vso[name]" as runner and agent may see
	// it, anywhere in a line.
	hashCommand = regexp.MustCompile(`(#[^ -~]*#)([^ -~]*(?:[vV][^ -~]*[sS][^ -~]*[oO][^ -~]*)?\[)`)
	lineEnds    = strings.NewReplacer("\r\n", "\n", "\r", "\n")
)

// Lines cuts text into the lines that a log shows, each made harmless: it can
// be printed as it is without being a command to GitHub's runner or to the
// Azure Pipelines agent, and without steering a terminal. A newline at the end
// begins no further line.
//
// Both programs cut what a process prints at LF, CR and CRLF. To the runner a
// line is a command when it begins with "::" after white space, or has "##["
// anywhere (actions/runner, ActionCommand); to the agent when it has "##vso["
// or "##[" (Azure Pipelines docs, "Logging commands"). They compare by culture,
// in which some characters count for nothing, so whatever is not printable
// ASCII is looked through here.
//
// Other text comes out as it is, but for colour codes, which are dropped, and
// control and invisible characters, which are shown escaped.
func Lines(text string) []string {
	lines := strings.Split(strings.TrimSuffix(lineEnds.Replace(text), "\n"), "\n")
	for i, line := range lines {
		line = escape.Invisible(escapeSequence.ReplaceAllString(line, ""), "\t")
		if colonCommand.MatchString(line) {
			line = "| " + line
		}
		lines[i] = hashCommand.ReplaceAllString(line, "$1 $2")
	}
	return lines
}

const (
	// maxLine bounds one line of a log, in bytes.
	maxLine = 16 << 10
	// maxLines bounds one text of a log.
	maxLines = 2000
)

// Bounded returns the lines, each at most 16 KiB and a note long, and at most 2000
// of them and a note: a server or a workload may say more than anybody can read.
// Secrets are to be taken out before, since a part of one is not known for what
// it is. The lines are changed in place.
func Bounded(lines []string) []string {
	if more := len(lines) - maxLines; more > 0 {
		lines = append(lines[:maxLines], fmt.Sprintf("(%d more lines left out)", more))
	}
	for i, line := range lines {
		if len(line) > maxLine {
			head := strings.ToValidUTF8(line[:maxLine], "")
			lines[i] = fmt.Sprintf("%s (%d bytes left out)", head, len(line)-len(head))
		}
	}
	return lines
}
