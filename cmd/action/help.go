package main

import (
	"fmt"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/config"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
	"github.com/aks-oneshot/aks-oneshot/internal/report"
)

// outcomes lists what can become of a run, and what the exit status that stands
// for it means.
var outcomes = []struct {
	outcome oneshot.Outcome
	means   string
}{
	{oneshot.Succeeded, "The Job is Complete."},
	{oneshot.Failed, "The Job failed, and every successor that was allowed failed too or was not started; `reason` tells which."},
	{oneshot.Invalid, "An input is missing or malformed, or the template has not the shape that the contract needs. Nothing was changed."},
	{oneshot.Refused, "Something is not as it was reviewed or recorded, or could not be had. This run dispatched nothing."},
	{oneshot.Unknown, "A Job may run or may have run, and how it ended is not known. A re-run resumes where that is safe."},
	{oneshot.Cancelled, "The run was told to stop. A Job that was created goes on; a re-run resumes."},
}

// helpText returns the help on a topic, or "" when there is none.
func helpText(topic string) string {
	switch topic {
	case "":
		return usage
	case "run":
		return runHelp()
	case "pin":
		return pinHelp()
	case "version":
		return "Usage: aks-oneshot version\n\nPrints the version, the commit it was built from and the Go it was built with.\n"
	}
	return ""
}

const usage = `aks-oneshot runs one Kubernetes Job at most once.

Usage: aks-oneshot [run] [--INPUT=VALUE…]
       aks-oneshot pin --FLAG=VALUE… < CRONJOB.json
       aks-oneshot version
       aks-oneshot help [run|pin]

It takes the Job from a reviewed CronJob, verifies what was pinned, records every
step, creates the Job, waits for its end and says what became of it. Run again,
it resumes from its records. pin makes the pins of a reviewed CronJob.
`

// pinHelp is the help on the pin command.
func pinHelp() string {
	var b strings.Builder
	b.WriteString("Usage: kubectl get cronjob NAME -n " + pinNamespace + " -o json | aks-oneshot pin --FLAG=VALUE…\n\n" +
		wrap("Reads one CronJob as JSON from standard input and prints the context that pins it, as JSON. "+
			"The commit is that of the label "+sourceCommitLabel+", the ServiceAccount is NAME-job. "+
			"It asks no cluster and reads no secret. Pin what was reviewed, when it was reviewed: "+
			"a pin made from whatever is live at run time pins nothing.", "") +
		"\nFlags, each of them required:\n")
	for _, f := range pinFlags {
		b.WriteString("  --" + f.name + "\n" + wrap(f.means, "      "))
	}
	b.WriteString("\nExit status:\n  0    the context is printed; warnings are on standard error\n  2    a flag or the CronJob is not as it must be; nothing is printed on standard output\n  130  it was told to stop\n")
	return b.String()
}

// runHelp is the help on the run command, from the same tables as action.yml.
func runHelp() string {
	var b strings.Builder
	b.WriteString("Usage: aks-oneshot [run] [--INPUT=VALUE…]\n\n" +
		wrap("Each input is a flag, or an environment variable: INPUT_ and the name in capitals, as a "+
			"workflow runner sets it (INPUT_WORK-DIR), or with _ for each dash (INPUT_WORK_DIR). A flag wins.", "") +
		"\nInputs:\n")
	for _, in := range config.Inputs() {
		note := ""
		switch {
		case in.Required:
			note = " (required)"
		case in.Default != "":
			note = " (default: " + in.Default + ")"
		}
		b.WriteString("  --" + in.Name + note + "\n" + wrap(in.Description, "      "))
	}
	b.WriteString("\nExit status:\n")
	for _, o := range outcomes {
		fmt.Fprintf(&b, "  %-4d %s\n%s", report.ExitStatus(o.outcome), o.outcome, wrap(o.means, "      "))
	}
	return b.String()
}

// wrap breaks text into lines that a terminal shows whole.
func wrap(text, indent string) string {
	const width = 80
	var b strings.Builder
	line := indent
	for word := range strings.FieldsSeq(text) {
		if line != indent && len([]rune(line))+1+len([]rune(word)) > width {
			b.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}
