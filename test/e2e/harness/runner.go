package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Step is one step of a workflow that uses the action.
type Step struct {
	// Inputs are what `with` says, by the inputs' names.
	Inputs map[string]string
	// Env is added to what a runner sets; it wins.
	Env map[string]string
	// Args are those of the command line. A runner gives none.
	Args []string
	// System is what runs the step.
	System System
}

// System is a CI system, or none.
type System int

// The systems that a step is run by.
const (
	// GitHub is a runner of GitHub Actions.
	GitHub System = iota
	// Pipelines is an agent of Azure Pipelines.
	Pipelines
	// Shell is a person, or a script, at a terminal.
	Shell
)

// Runner starts steps as a GitHub runner starts a container action: a process
// of its own, with an environment that holds the inputs and nothing of ours,
// and files for what the step hands back.
type Runner struct {
	// Program is the action.
	Program string
	// Dir holds the files of each step, in a folder of its own.
	Dir string
}

// Run is a step under way.
type Run struct {
	// Dir is the step's own folder.
	Dir string

	system         System
	cmd            *exec.Cmd
	begin          time.Time
	stdout, stderr *log
	done           chan struct{}
	took           time.Duration
	err            error
}

// Start starts a step. When ctx ends, the process is killed.
func (r *Runner) Start(ctx context.Context, s Step) (*Run, error) {
	dir, err := os.MkdirTemp(r.Dir, "step-")
	if err != nil {
		return nil, err
	}
	run := &Run{Dir: dir, system: s.System, stdout: newLog(), stderr: newLog(), done: make(chan struct{})}
	env, err := run.environment(s)
	if err != nil {
		return nil, err
	}
	run.cmd = exec.CommandContext(ctx, r.Program, s.Args...)
	run.cmd.Env, run.cmd.Dir = env, filepath.Join(dir, "workspace")
	run.cmd.Stdout, run.cmd.Stderr = run.stdout, run.stderr
	run.begin = time.Now()
	if err := run.cmd.Start(); err != nil {
		return nil, fmt.Errorf("could not start the action: %w", err)
	}
	go func() {
		run.err = run.cmd.Wait()
		run.took = time.Since(run.begin)
		run.stdout.end()
		run.stderr.end()
		close(run.done)
	}()
	return run, nil
}

// files are what a runner prepares for each step, by the variable that names
// the file.
var files = map[string]string{
	"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary", "GITHUB_STATE": "state",
	"GITHUB_ENV": "env", "GITHUB_PATH": "path",
}

// environment makes the folders and files of a step, and returns what the system
// sets that runs it.
func (r *Run) environment(s Step) ([]string, error) {
	env := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	folders := map[string]string{"HOME": "home"}
	switch s.System {
	case GitHub:
		maps.Copy(env, workflow)
		maps.Copy(folders, map[string]string{"RUNNER_TEMP": "temp", "GITHUB_WORKSPACE": "workspace"})
	case Pipelines:
		maps.Copy(env, pipeline)
		maps.Copy(folders, map[string]string{"AGENT_TEMPDIRECTORY": "temp", "BUILD_SOURCESDIRECTORY": "workspace"})
	case Shell:
		folders["TMPDIR"], folders["PWD"] = "temp", "workspace"
	}
	for variable, folder := range folders {
		env[variable] = filepath.Join(r.Dir, folder)
		if err := os.Mkdir(env[variable], 0o755); err != nil {
			return nil, err
		}
	}
	for variable, file := range files {
		path := filepath.Join(r.Dir, file)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return nil, err
		}
		if s.System == GitHub {
			env[variable] = path
		}
	}
	// https://docs.github.com/actions: INPUT_ and the name in upper case, spaces
	// replaced by _; dashes stay.
	for name, value := range s.Inputs {
		env["INPUT_"+strings.ToUpper(strings.ReplaceAll(name, " ", "_"))] = value
	}
	maps.Copy(env, s.Env)
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list, nil
}

// workflow is what a runner of GitHub sets (GitHub docs, "Default environment
// variables"), but for files and folders.
var workflow = map[string]string{
	"CI": "true", "GITHUB_ACTIONS": "true", "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64",
	"RUNNER_ENVIRONMENT": "github-hosted",
	"GITHUB_SERVER_URL":  "https://github.com", "GITHUB_API_URL": "https://api.github.com",
	"GITHUB_REPOSITORY": "octo/widgets", "GITHUB_WORKFLOW": "deploy", "GITHUB_JOB": "backfill",
	"GITHUB_RUN_ID": "1658821493", "GITHUB_RUN_NUMBER": "3", "GITHUB_RUN_ATTEMPT": "1",
	"GITHUB_SHA": strings.Repeat("a", 40), "GITHUB_REF": "refs/heads/main",
	"GITHUB_EVENT_NAME": "workflow_dispatch", "GITHUB_ACTOR": "octocat",
}

// pipeline is what an agent of Azure Pipelines sets (Azure DevOps docs, "Use
// predefined variables"), but for folders.
var pipeline = map[string]string{
	"TF_BUILD": "True", "AGENT_OS": "Linux", "AGENT_JOBNAME": "Job", "AGENT_NAME": "Hosted Agent",
	"BUILD_BUILDID": "3141", "BUILD_BUILDNUMBER": "20261130.1", "BUILD_DEFINITIONNAME": "deploy",
	"BUILD_REPOSITORY_NAME": "widgets", "BUILD_SOURCEBRANCH": "refs/heads/main", "BUILD_SOURCEVERSION": strings.Repeat("a", 40),
	"SYSTEM_COLLECTIONURI": "https://dev.azure.com/acme/", "SYSTEM_TEAMPROJECT": "orders",
	"SYSTEM_HOSTTYPE": "build", "SYSTEM_STAGENAME": "__default", "SYSTEM_JOBNAME": "__default",
}

// Signal sends a signal to the process.
func (r *Run) Signal(s os.Signal) error { return r.cmd.Process.Signal(s) }

// Kill ends the process as nothing can prevent, and waits for its end.
func (r *Run) Kill() (Ended, error) {
	if err := r.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return Ended{}, err
	}
	return r.Wait()
}

// WaitFor returns as soon as a line of the log holds the text, and fails when
// the process ends, or ctx does, before that.
func (r *Run) WaitFor(ctx context.Context, text string) error {
	for {
		stdout, stderr := r.stdout.changed(), r.stderr.changed()
		if strings.Contains(r.Log(), text) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %q in the log: %w\n%s", text, context.Cause(ctx), r.Log())
		case <-r.done:
			if !strings.Contains(r.Log(), text) {
				return fmt.Errorf("the action ended without %q in its log:\n%s", text, r.Log())
			}
		case <-stdout:
		case <-stderr:
		}
	}
}

// Running reports whether the process has not ended yet.
func (r *Run) Running() bool {
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

// Log is what the process has printed so far.
func (r *Run) Log() string { return r.stdout.String() + r.stderr.String() }

// Wait waits for the process and reads what it handed back.
func (r *Run) Wait() (Ended, error) {
	<-r.done
	var exit *exec.ExitError
	if r.err != nil && !errors.As(r.err, &exit) {
		return Ended{}, fmt.Errorf("waiting for the action: %w", r.err)
	}
	e := Ended{Dir: r.Dir, System: r.system, Stdout: r.stdout.String(), Stderr: r.stderr.String(), Began: r.begin, Took: r.took}
	e.Status = r.cmd.ProcessState.ExitCode()
	if ws, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal = ws.Signal()
	}
	if usage, ok := r.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		e.PeakMemory = peakBytes(usage)
	}
	return e, e.read()
}
