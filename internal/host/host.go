// Package host is what a CI system offers to the action: inputs, outputs,
// masks, log lines, annotations and a summary. Each system has a package below
// this one; a plain terminal is one of them.
package host

import (
	"context"
	"fmt"
	"regexp"
)

// Host is the system that runs the action. Every method may be called from
// several goroutines; what is said comes out whole and in the order of the
// calls.
//
// Text handed to a host may come from anywhere, a workload or an API server
// among them. Whatever it holds, a host shows it as text: it is never obeyed as
// a command, and never breaks the form it is put into. Secrets that were given
// to Mask do not come out of any method called later.
type Host interface {
	// Input is an [Inputs]: what the system was told under this name.
	Input(name string) (value string, given bool)
	// Output hands a value to the steps that follow. The name must pass
	// [CheckOutput]; any other error is of the place the value goes to.
	Output(name, value string) error
	// Summary shows the report of the run where people look for it.
	Summary(Report) error
	// Mask hides the secret, and each line of it, in everything that follows.
	// Lines shorter than [secret.MinLength] are left alone.
	Mask(secret string)
	// Hide returns text without the secrets that were given to Mask: for text
	// that is cut or escaped before it comes to the host.
	Hide(text string) string
	// Group opens a section of the log that can be folded away. end closes it;
	// a second call does nothing. Groups do not nest.
	Group(title string) (end func())
	// Log shows plain text, one line of the log for each line of it.
	Log(text string)
	// Warning and Error point people at something. The title may be "".
	Warning(title, message string)
	Error(title, message string)
}

// Report is a text in the two forms that hosts show.
type Report interface {
	// Markdown is in GitHub's flavour and ends with a newline.
	Markdown() string
	// Plain is for a terminal and ends with a newline.
	Plain() string
}

// IDTokens is a [Host] that vouches for the job that runs here: others can trade
// its word for a token of theirs (OpenID Connect).
type IDTokens interface {
	// IDToken returns an id token for the audience, a JWT, which is masked
	// already. Each call returns another one: they live for minutes, and one that
	// was shown before may be refused. It tries again what may pass by itself.
	//
	// The error is credential-failed and says what to do, or wraps ctx's cause. One
	// that may pass after all has a method Temporary() bool.
	IDToken(ctx context.Context, audience string) (string, error)
}

// Kind names a system that [Detect] knows.
type Kind string

// The kinds of hosts.
const (
	GitHub    Kind = "github"
	Pipelines Kind = "azure-pipelines"
	Terminal  Kind = "terminal"
)

// Detect tells which system runs this process, by the variable that the system
// sets for just that purpose. What is no CI system we know is a terminal.
//
// GITHUB_ACTIONS is "true" in every step (GitHub docs, "Default environment
// variables"), TF_BUILD is "True" in every step of Azure Pipelines (Azure DevOps
// docs, "Predefined variables"). A runner that somebody starts within a pipeline
// sets both, and it is the one that this is a step of.
func Detect(getenv func(string) string) Kind {
	switch {
	case getenv("GITHUB_ACTIONS") == "true":
		return GitHub
	case getenv("TF_BUILD") == "True":
		return Pipelines
	}
	return Terminal
}

var outputName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// CheckOutput returns an error for the name of an output that no host takes:
// names are made of letters, digits, '-' and '_', and do not begin with a digit
// or '-'.
func CheckOutput(name string) error {
	if !outputName.MatchString(name) {
		return fmt.Errorf("could not set output %q: a name is made of letters, digits, '-' and '_'", name)
	}
	return nil
}
