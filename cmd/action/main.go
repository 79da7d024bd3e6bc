// Command aks-oneshot runs one Kubernetes Job at most once: as a container
// action of a GitHub workflow, as a step of any other pipeline, or by hand.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
	"github.com/aks-oneshot/aks-oneshot/internal/report"
)

func main() {
	silenceLibraries()
	ctx := untilSignalled(context.Background(), os.Stderr, os.Exit)
	os.Exit(realMain(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

// realMain is the program. It returns the exit status.
func realMain(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	// A runner starts the image's entrypoint without arguments, and flags alone
	// say what to run.
	if len(args) == 0 || strings.HasPrefix(args[0], "--") && args[0] != "--help" && args[0] != "--version" {
		args = append([]string{"run"}, args...)
	}
	command, rest := args[0], args[1:]
	// Only on its own: further on it may be an argument for the Job.
	wantsHelp := len(rest) == 1 && slices.Contains([]string{"--help", "-h"}, rest[0])
	switch command {
	case "run":
		if wantsHelp {
			return say(stdout, stderr, helpText(command))
		}
		return run(ctx, rest, getenv, stdout, stderr)
	case "pin":
		if wantsHelp {
			return say(stdout, stderr, helpText(command))
		}
		return pin(ctx, rest, stdin, stdout, stderr)
	case "version", "--version", "-v":
		if len(rest) == 0 {
			return say(stdout, stderr, versionText())
		}
	case "help", "--help", "-h":
		if text := helpText(strings.Join(rest, " ")); text != "" {
			return say(stdout, stderr, text)
		}
	}
	_, _ = fmt.Fprintf(stderr, "aks-oneshot: %s.\n\n%s", wrongCommand(command), helpText(""))
	return report.ExitStatus(oneshot.Invalid)
}

var commandName = regexp.MustCompile(`^[a-z-]{1,20}$`)

// wrongCommand says what is wrong with a command line. Arguments may be secrets
// that went astray: none is told, and of the first one only a plain word.
func wrongCommand(command string) string {
	name, _, _ := strings.Cut(command, "=")
	switch {
	case command == "version" || command == "--version" || command == "-v":
		return "version takes no arguments"
	case command == "help" || command == "--help" || command == "-h":
		return "there is no help on that"
	case !commandName.MatchString(name):
		return "the first argument is no command"
	}
	return fmt.Sprintf("there is no command %q", name)
}

// say prints what the user asked for.
func say(stdout, stderr io.Writer, text string) int {
	if _, err := io.WriteString(stdout, text); err != nil {
		_, _ = fmt.Fprintf(stderr, "aks-oneshot: could not write to standard output: %v\n", err)
		return 1
	}
	return 0
}
