// Command bench measures the action beside kubectl: on one cluster, in one run,
// round by round in turn. Three ways to run the same Job are compared:
//
//   - aks-oneshot: the action, started as a runner starts it.
//   - kubectl: the calls that the action makes, one kubectl each: get cronjob,
//     get serviceaccount, get job, create, and get job every 5 s until it ended.
//   - create+wait: what people do otherwise, which checks and records nothing:
//     kubectl create job --from=cronjob/x, kubectl wait --for=condition=complete.
//
// Of signing in to Azure, the way to the first request to Kubernetes is measured:
// of the action, from the id token on, and of kubectl with kubelogin, which is
// given a kubeconfig and an id token and so has less to do.
//
// Of stores for records, the way to the create of a Job is measured and the requests
// of a whole run, beside the action without stores.
//
// With BENCH_OUT=FILE the result is also written as JSON; see [Result].
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are what the command line says.
type options struct {
	// n is the number of rounds.
	n       int
	wait    time.Duration
	check   bool
	kubectl string
	// kubelogin is the program to compare with, "" to build it.
	kubelogin string
	out       string
	// parts are what is measured.
	parts []string
}

// What can be measured.
const (
	execution   = "execution"
	credentials = "credentials"
	stores      = "stores"
)

var allParts = []string{execution, credentials, stores}

func (o options) has(part string) bool { return slices.Contains(o.parts, part) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := realMain(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// realMain is the program. It returns the exit status: 0 when everything could
// be measured (with -check, only when the goals are met too), 1 when not, 2 for
// a wrong command line, 130 when it was told to stop.
func realMain(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	o, err := parse(args, getenv, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	result, err := measure(ctx, o, stderr)
	if ctx.Err() != nil {
		_, _ = fmt.Fprintln(stderr, "bench: stopped")
		return 130
	}
	if err == nil {
		_, err = io.WriteString(stdout, result.Table())
	}
	if err == nil && o.out != "" {
		err = write(o.out, result)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	if o.check && !result.Met {
		return 1
	}
	return 0
}

func parse(args []string, getenv func(string) string, stderr io.Writer) (options, error) {
	o := options{out: getenv("BENCH_OUT")}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.n, "rounds", 7, "how many `rounds` are measured")
	flags.DurationVar(&o.wait, "wait", time.Minute, "how `long` requests are counted while a Job runs")
	flags.BoolVar(&o.check, "check", false, "exit with 1 unless every goal is met")
	flags.StringVar(&o.kubectl, "kubectl", "", "`path` of the kubectl to compare with (default: built, of the test cluster's version)")
	flags.StringVar(&o.kubelogin, "kubelogin", "", "`path` of the kubelogin to compare with (default: built, of the version of its module)")
	parts := flags.String("parts", strings.Join(allParts, ","), "`what` is measured: running Jobs, signing in to Azure, and stores for records")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.parts = strings.Split(*parts, ",")
	for _, part := range o.parts {
		if !slices.Contains(allParts, part) {
			_, _ = fmt.Fprintf(stderr, "bench: there is no part %q, there are %s\n", part, strings.Join(allParts, ", "))
			return o, errors.New("wrong arguments")
		}
	}
	if flags.NArg() > 0 || o.n < 1 || o.wait < time.Second {
		_, _ = fmt.Fprintln(stderr, "bench: -rounds must be 1 or more, -wait 1s or more, and there are no arguments")
		return o, errors.New("wrong arguments")
	}
	return o, nil
}

func write(path string, r Result) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
