// Command cluster runs a test cluster for people and scripts.
//
//	cluster up              start one that stays, or find the one that runs; prints
//	                        what a shell has to evaluate: eval "$(cluster up)"
//	cluster down            end it and remove all of it
//	cluster status          say whether it runs
//	cluster build           only make and cache what a cluster needs
//	cluster run -- CMD ARG… a cluster of its own for the length of one command, which
//	                        has KUBECONFIG, a kubectl in its PATH, and the test
//	                        program's image in ONESHOT_TEST_WORKLOAD
//
// Environment: ONESHOT_TEST_STATE moves the folder of the cluster that stays,
// ONESHOT_TEST_CACHE that of the builds; ONESHOT_TEST_NODE=kubelet|kwok says who
// runs the pods; ONESHOT_TEST_LOGS is a folder to copy the logs to at the end.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := realMain(ctx, os.Args[1:])
	stop()
	os.Exit(exitStatus(err))
}

// exitStatus says what went wrong, unless a command has done so itself: then
// its status is ours.
func exitStatus(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "cluster:", err)
	return 1
}

func realMain(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	switch name, rest := args[0], args[1:]; {
	case name == "run" && len(rest) > 1 && rest[0] == "--":
		return run(ctx, rest[1:])
	case len(rest) > 0:
		return errUsage
	case name == "up":
		return up(ctx)
	case name == "down":
		return down()
	case name == "status":
		return status()
	case name == "build":
		return cluster.Build(ctx, cluster.Options{Log: os.Stderr})
	}
	return errUsage
}

var errUsage = errors.New("usage: cluster up | down | status | build | run -- COMMAND ARGUMENT…")

// state is the folder of the cluster that stays: one for each user.
func state() (string, error) {
	if dir := os.Getenv("ONESHOT_TEST_STATE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for the cluster: set ONESHOT_TEST_STATE: %w", err)
	}
	return filepath.Join(dir, "aks-oneshot", "up"), nil
}

func up(ctx context.Context) error {
	dir, err := state()
	if err != nil {
		return err
	}
	found, err := cluster.Up(ctx, cluster.Options{Dir: dir, Log: os.Stderr})
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "test cluster: kubectl is also at %s\n", found.Kubectl)
	fmt.Printf("export KUBECONFIG=%s\n", quote(found.Kubeconfig))
	return nil
}

func down() error {
	dir, err := state()
	if err != nil {
		return err
	}
	return cluster.Down(dir)
}

func status() error {
	dir, err := state()
	if err != nil {
		return err
	}
	fmt.Println(cluster.Status(dir))
	return nil
}

// run has the command's status as its own.
func run(ctx context.Context, argv []string) (err error) {
	c, err := cluster.Start(ctx, cluster.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop(context.WithoutCancel(ctx))) }()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+c.Kubeconfig(),
		"ONESHOT_TEST_WORKLOAD="+c.Workload(),
		"PATH="+filepath.Dir(c.KubectlPath())+string(os.PathListSeparator)+os.Getenv("PATH"),
	)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd.Run()
}

// quote makes one word for a shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
