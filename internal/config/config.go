package config

import (
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// FDAI is the one contract dialect there is: that of fdai-deployment-cli.
const FDAI = "fdai/v1"

// Config is what one run is to do, and the places it needs.
type Config struct {
	Plan oneshot.Plan
	// Kubeconfig is where the credential for the cluster is; the zero value when
	// Azure hands one out.
	Kubeconfig Kubeconfig
	// Azure is how to get a credential from Azure; nil when a kubeconfig is used.
	// Where both were given, which is an error, both are here.
	Azure *Azure
	// WorkDir is the absolute path of the folder of the records.
	WorkDir string
	// Checkpoints are the places for records beside that folder.
	Checkpoints Checkpoints
}

// Source is where inputs come from.
type Source struct {
	// Args are the flags of the command line.
	Args []string
	// Lookup asks the CI system for the value of an input, and whether one was
	// given.
	Lookup func(name string) (value string, given bool)
	// Getenv reads the environment, which says where this user keeps state, and
	// as whom a workload or a pipeline's task is to sign in to Azure.
	Getenv func(string) string
	// Auth is the way of signing in to Azure where we run, one of the values of
	// the input auth; what the user gives wins.
	Auth string
	// UID is the user that the process runs as; root has a work folder of its
	// own.
	UID int
	// Workflow says that this is a job of a GitHub workflow, and Artifacts that the
	// artifact service is there for it, which is what checkpoint-stores auto goes by.
	Workflow, Artifacts bool
}

// Read returns the checked configuration. The only thing it reads beside the
// source is the context file. With an error the configuration is not one to
// run: it holds what was well formed, for a report.
//
// The error tells everything that is wrong, each thing with the input's name;
// several have [Errors] as their cause. Most are config-invalid; what a context
// does not pin is context-incomplete, and a context that contradicts itself has
// the codes of [contract.Context.Pins].
func Read(src Source) (Config, error) {
	p := &problems{}
	v := gather(p, src.Args, src.Lookup)
	c := Config{}
	c.Plan.Request = readRequest(p, v)
	c.Plan.Timeout = readTimeout(p, v)
	c.Plan.Successors, c.Plan.SuccessorEnvironments = readSuccessors(p, v, c.Plan.Request)
	pins := readContext(p, v, &c.Plan.Request)
	way := azureWay(p, v)
	c.Azure = azureReader{p, v, src, pins, way}.read()
	c.Kubeconfig = readKubeconfig(p, v, pins, way)
	c.WorkDir = readWorkDir(p, v, src)
	c.Checkpoints = readCheckpoints(p, v, src)
	if have := v.text(dialect); have != FDAI {
		p.add(dialect, "is %q; %s is the only contract so far", have, FDAI)
	}
	return c, p.err()
}

// text returns an input that is one line, without white space around it.
func (v values) text(name string) string { return strings.TrimSpace(v[name]) }

// given reports whether an input has a value.
func (v values) given(name string) bool { return v.text(name) != "" }

// parsed hands an input that has a value to a parser. Whether one may be
// missing is decided elsewhere.
func parsed[T any](p *problems, v values, name string, parse func(string) (T, error)) T {
	var zero T
	if !v.given(name) {
		return zero
	}
	out, err := parse(v.text(name))
	if err != nil {
		p.add(name, "%w", err)
		return zero
	}
	return out
}

// readRequest reads what the caller expects of the template and what is
// different in this run. The pins come from the context.
func readRequest(p *problems, v values) contract.Request {
	q := contract.Request{
		Template:       parsed(p, v, cronJob, contract.ParseLabel),
		Namespace:      parsed(p, v, namespace, contract.ParseLabel),
		Purpose:        parsed(p, v, purpose, contract.ParseLabel),
		Container:      parsed(p, v, container, contract.ParseLabel),
		Image:          parsed(p, v, image, contract.ParseImage),
		ServiceAccount: parsed(p, v, serviceAccount, contract.ParseLabel),
	}
	if want, _ := find(namespace); q.Namespace.String() != want.Default && !p.with(namespace) {
		p.add(namespace, "is %q; the fdai/v1 contract knows only %s", q.Namespace, want.Default)
		q.Namespace = contract.Label{}
	}
	q.Command = checkList(p, command, readList(p, command, v[command]))
	if len(q.Command) == 0 && !p.with(command) {
		p.add(command, "is missing")
	}
	q.Args = checkList(p, arguments, readList(p, arguments, v[arguments]))
	q.Environment = checkEnvironment(p, jobEnvironment, readEnvironment(p, jobEnvironment, v[jobEnvironment]))
	checkPurpose(p, q, nil)
	q.RequireSuspended = readBool(p, v, requireSuspended)
	return q
}
