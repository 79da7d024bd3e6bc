package main

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/config"
)

// asProgram makes the test binary the program itself, so that tests can start
// it as a process of its own. impatient has its limits short, and stuck names
// the step whose record its work folder never finishes to store.
const (
	asProgram = "AKS_ONESHOT_TEST_AS_PROGRAM"
	impatient = "AKS_ONESHOT_TEST_IMPATIENT"
	stuck     = "AKS_ONESHOT_TEST_STUCK"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		if os.Getenv(impatient) != "" {
			limits.grace, limits.storing, limits.telling = time.Second, time.Second, time.Second
		}
		if step := os.Getenv(stuck); step != "" {
			open := openStore
			openStore = func(path string) (store, error) {
				s, err := open(path)
				return stuckStore{s, checkpoint.Step(step)}, err
			}
		}
		main()
	}
	os.Exit(m.Run())
}

// stuckStore is a work folder whose disk stops to answer.
type stuckStore struct {
	store
	step checkpoint.Step
}

// Put ignores ctx, as fsync does.
func (s stuckStore) Put(ctx context.Context, execution string, record checkpoint.Record) error {
	if record.Step == s.step {
		<-make(chan struct{})
	}
	return s.store.Put(ctx, execution, record)
}

func none(string) string { return "" }

// nothing is a standard input that nobody may ask for.
var nothing = iotest.ErrReader(errors.New("standard input was read"))

func TestCommands(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args           []string
		status         int
		stdout, stderr string
	}{
		"help":                 {[]string{"help"}, 0, "Usage: aks-oneshot", ""},
		"--help":               {[]string{"--help"}, 0, "Usage: aks-oneshot", ""},
		"-h":                   {[]string{"-h"}, 0, "Usage: aks-oneshot", ""},
		"help run":             {[]string{"help", "run"}, 0, "--cronjob (required)", ""},
		"run --help":           {[]string{"run", "--help"}, 0, "--cronjob (required)", ""},
		"help version":         {[]string{"help", "version"}, 0, "Usage: aks-oneshot version", ""},
		"help on nothing":      {[]string{"help", "me"}, 2, "", "there is no help on that"},
		"version":              {[]string{"version"}, 0, runtime.Version(), ""},
		"--version":            {[]string{"--version"}, 0, runtime.Version(), ""},
		"-v":                   {[]string{"-v"}, 0, runtime.Version(), ""},
		"-v of something":      {[]string{"-v", "run"}, 2, "", "version takes no arguments"},
		"help pin":             {[]string{"help", "pin"}, 0, "--identity-resource-id", ""},
		"pin --help":           {[]string{"pin", "--help"}, 0, "--identity-resource-id", ""},
		"version of something": {[]string{"version", "--short"}, 2, "", "version takes no arguments"},
		"a misspelt command":   {[]string{"rnu"}, 2, "", `no command "rnu"`},
		"a secret astray":      {[]string{"hunter2-0123"}, 2, "", "the first argument is no command"},
		"an input's name":      {[]string{"kubeconfig-content=hunter2"}, 2, "", `no command "kubeconfig-content"`},
		"a secret behind":      {[]string{"runn", "--kubeconfig-content=hunter2"}, 2, "", `no command "runn"`},
		"a secret after run":   {[]string{"run", "-kubeconfig-content=hunter2"}, 2, "", "is no flag"},
		"nothing":              {nil, 2, "outcome=invalid\n", "cronjob: is missing"},
		"run":                  {[]string{"run"}, 2, "outcome=invalid\n", "cronjob: is missing"},
		"flags alone":          {[]string{"--cronjbo=x"}, 2, "outcome=invalid\n", "did you mean --cronjob?"},
		// Never taken for a success: nothing ran.
		"help among flags": {[]string{"run", "--args", "--help"}, 2, "outcome=invalid\n", "cronjob: is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr safeBuffer
			status := realMain(t.Context(), c.args, none, nothing, &stdout, &stderr)
			if strings.Contains(stdout.String()+stderr.String(), "hunter2") {
				t.Errorf("a secret is told:\n%s", stderr.String())
			}
			if status != c.status || !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("status %d, want %d\nstdout: %s\nstderr: %s", status, c.status, stdout.String(), stderr.String())
			}
		})
	}
}

func TestHelpTellsEveryInputAndStatus(t *testing.T) {
	t.Parallel()
	text := helpText("run")
	for _, in := range config.Inputs() {
		if !strings.Contains(text, "  --"+in.Name) {
			t.Errorf("%s is not in the help", in.Name)
		}
	}
	for _, o := range outcomes {
		if !strings.Contains(text, string(o.outcome)+"\n") {
			t.Errorf("%s is not in the help", o.outcome)
		}
	}
	for line := range strings.Lines(text) {
		if n := len([]rune(line)); n > 100 {
			t.Errorf("a line of %d characters: %s", n, line)
		}
	}
}

func TestHelpThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	var stderr safeBuffer
	if status := realMain(t.Context(), []string{"version"}, none, nothing, broken{}, &stderr); status == 0 || !strings.Contains(stderr.String(), "disk full") {
		t.Errorf("status %d, %s", status, stderr.String())
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

var _ io.Writer = broken{}

func TestBuildVersion(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123"}}}
	info.Main.Version = "v1.2.3"
	if v, c := buildVersion(info, true); v != "v1.2.3" || c != "0123" {
		t.Errorf("with build information: %s, %s", v, c)
	}
	if v, c := buildVersion(nil, false); v != "(devel)" || c != "unknown" {
		t.Errorf("without: %s, %s", v, c)
	}
}
