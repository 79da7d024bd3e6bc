// Command accept shows, figure by figure, what a part of the product promises,
// and ends with 0 only when all of it holds. The parts are the suites:
//
//   - execution: running a Job. It runs every test and every check and takes the
//     better part of an hour on two processors.
//   - credentials: the way from a workflow's id token to the API server. It runs
//     what is about that, and takes some minutes.
//   - stores: records that outlive the runner. It loses runners in every way there
//     is and runs again, and plays the crash matrix over the stores in full.
//
// -only=NAME,NAME runs some of a suite's checks, for development; the exit status
// then says nothing of the rest.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := realMain(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// check is a part of what is accepted. The error is that it could not be
// carried out; what it found are its lines.
type check struct {
	name string
	run  func(context.Context, *tree) ([]line, error)
}

// suites are what can be accepted. The cheap checks come first.
var suites = map[string][]check{
	"execution": {
		{"vectors", vectors},
		{"matrix", matrix},
		{"lint", lint},
		{"tests", tests},
		{"bench", bench},
	},
	"credentials": {
		{"size", size},
		{"failures", failures},
		{"chain", chain},
		{"latency", latency},
	},
	"stores": {
		{"units", storeUnits},
		{"peers", peers},
		{"rerun", rerun},
		{"latency", storeLatency},
		{"matrix", storeMatrix},
	},
}

func realMain(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("accept", flag.ContinueOnError)
	flags.SetOutput(stderr)
	suite := flags.String("suite", "execution", "what is accepted: "+strings.Join(slices.Sorted(maps.Keys(suites)), " or "))
	only := flags.String("only", "", "the `checks` of the suite to run (default: all)")
	before := flags.String("before", beforeAzure, "the `commit` whose program the one of now is compared with, in size and start")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	checks, err := choose(*suite, *only)
	if err != nil {
		fmt.Fprintln(stderr, "accept:", err)
		return 2
	}
	root, err := harness.Root(ctx)
	if err != nil {
		fmt.Fprintln(stderr, "accept:", err)
		return 1
	}
	return accept(ctx, &tree{root: root, stderr: stderr, before: *before}, checks, stdout)
}

// choose returns the checks of a suite, all of them or those that are named.
func choose(suite, only string) ([]check, error) {
	all, ok := suites[suite]
	if !ok {
		return nil, fmt.Errorf("there is no suite %q, there are %s", suite, strings.Join(slices.Sorted(maps.Keys(suites)), ", "))
	}
	if only == "" {
		return all, nil
	}
	var names []string
	for _, c := range all {
		names = append(names, c.name)
	}
	wanted := strings.Split(only, ",")
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("there is no check %q, there are %s", name, strings.Join(names, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(c check) bool { return !slices.Contains(wanted, c.name) }), nil
}

// accept runs the checks, all of them even when one fails.
func accept(ctx context.Context, t *tree, checks []check, stdout io.Writer) int {
	begin := time.Now()
	total, failed := 0, 0
	show := func(l line) {
		total++
		if !l.ok {
			failed++
		}
		fmt.Fprintln(stdout, l)
	}
	for _, c := range checks {
		t.say("%s …", c.name)
		lines, err := c.run(ctx, t)
		for _, l := range lines {
			show(l)
		}
		switch {
		case ctx.Err() != nil:
			t.say("stopped")
			return 130
		case err != nil:
			show(line{figure: c.name, value: "could not be measured", goal: err.Error()})
		case len(lines) == 0:
			show(line{figure: c.name, value: "nothing was measured", goal: "something is"})
		}
	}
	verdict := "all of it holds"
	if failed > 0 {
		verdict = fmt.Sprintf("%d of it FAILED", failed)
	}
	fmt.Fprintf(stdout, "accept: %d figures, %s, after %s\n", total, verdict, time.Since(begin).Round(time.Second))
	if failed > 0 {
		return 1
	}
	return 0
}

// line is one figure, as it is and as it is to be.
type line struct {
	ok                  bool
	figure, value, goal string
}

// String puts the verdict first.
func (l line) String() string {
	verdict := "ok    "
	if !l.ok {
		verdict = "FAILED"
	}
	const short = 34
	if len(l.figure) > short || len(l.value) > 2*short {
		return fmt.Sprintf("%s  %s\n        %s\n        goal: %s", verdict, l.figure, l.value, l.goal)
	}
	return fmt.Sprintf("%s  %-*s %-*s goal: %s", verdict, short, l.figure, short, l.value, l.goal)
}
