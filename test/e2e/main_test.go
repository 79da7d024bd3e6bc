package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

var (
	// program is the built action.
	program string
	// shared is the cluster of the tests that disturb nobody, and world what is
	// in it: each test has a template, a purpose and a user of its own.
	shared *cluster.Cluster
	world  *harness.World
	// worldJobs are all that were ever there in it.
	worldJobs *harness.JobLog
	// clients is whom the shared cluster trusts with client certificates.
	clients *standin.Authority
)

// raceEnv, when it is set, has the action itself built with the race detector.
const raceEnv = "ONESHOT_E2E_RACE"

func TestMain(m *testing.M) {
	code, err := realMain(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "end-to-end tests:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func realMain(m *testing.M) (code int, err error) {
	flag.Parse()
	if err := parallel(); err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "aks-oneshot-e2e-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	go endWith(dir)
	ctx := context.Background()
	if program, err = harness.Build(ctx, dir, harness.BuildOptions{Race: os.Getenv(raceEnv) != ""}); err != nil {
		return 1, err
	}
	if clients, err = standin.NewAuthority("clients"); err != nil {
		return 1, err
	}
	ca := filepath.Join(dir, "clients.crt")
	if err := os.WriteFile(ca, clients.PEM, 0o600); err != nil {
		return 1, err
	}
	trust, err := harness.NewTrust(dir)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, trust.Close()) }()
	o := cluster.Options{APIServerArgs: append(trust.APIServerArgs(), "--client-ca-file="+ca)}
	return cluster.Main(inWorld{m, dir}, o, &shared), nil
}

// endWith leaves nothing behind when the tests are told to stop: the folder has
// tokens in it. The clusters end with the process.
func endWith(dir string) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, "end-to-end tests:", err)
	}
	os.Exit(1)
}

// parallel lets more tests run at a time than there are processors: what they
// do most is wait for pods. A number on the command line wins.
func parallel() error {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", "8")
}

// inWorld runs the tests once the shared cluster is there.
type inWorld struct {
	m   *testing.M
	dir string
}

// Run implements what [cluster.Main] wants.
func (w inWorld) Run() int {
	if os.Getenv("CI") == "true" && !shared.RealNode() {
		fmt.Fprintln(os.Stderr, "end-to-end tests: this machine is one that must have real containers (CI=true): run them as root on Linux")
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var err error
	if world, err = harness.NewWorld(ctx, shared, program, w.dir); err == nil {
		worldJobs, err = harness.FollowJobs(ctx, world.API)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "end-to-end tests:", err)
		return 1
	}
	code := w.m.Run()
	world.Scans.Figure(figure)
	matrixFigure()
	printFigures()
	return code
}
