package build

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	kubernetesVersion = "v1.37.2"
	kwokVersion       = "v0.8.0"
)

// heartbeat is how often a long build says that it still goes on.
const heartbeat = 30 * time.Second

// Kubernetes returns the path of the binary with all Kubernetes programs.
func Kubernetes(ctx context.Context, say func(string, ...any)) (string, error) {
	return binary(ctx, "kubernetes", kubernetesVersion, ".", "about 7 minutes on 2 processors", kubernetesFlags(), say)
}

// Kwok returns the path of the program that plays a node.
func Kwok(ctx context.Context, say func(string, ...any)) (string, error) {
	return binary(ctx, "kwok", kwokVersion, "sigs.k8s.io/kwok/cmd/kwok", "about a minute", buildFlags("-s -w"), say)
}

func buildFlags(ldflags string) []string {
	return []string{"-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", ldflags}
}

// kubernetesFlags set the version that the programs report: clients and the
// version skew rules read it. Nothing in it depends on when or where it is built.
func kubernetesFlags() []string {
	major, minor, _ := strings.Cut(strings.TrimPrefix(kubernetesVersion, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	ldflags := "-s -w"
	for _, v := range [][2]string{
		{"gitVersion", kubernetesVersion}, {"gitMajor", major}, {"gitMinor", minor},
		{"gitTreeState", "clean"}, {"gitCommit", strings.Repeat("0", 40)}, {"buildDate", "2026-01-01T00:00:00Z"},
	} {
		ldflags += fmt.Sprintf(" -X k8s.io/component-base/version.%s=%s", v[0], v[1])
	}
	return buildFlags(ldflags)
}

// binary builds a package of a nested module of its own, since none of this
// module's users should have to download what is in there.
func binary(ctx context.Context, name, version, pkg, takes string, flags []string, say func(string, ...any)) (string, error) {
	src, err := source()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(src, name)
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", err
	}
	k, err := key(append(flags, pkg, version), append(files, filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum"))...)
	if err != nil {
		return "", err
	}
	return cached(ctx, fmt.Sprintf("%s-%s-%s", name, version, k), say, func(ctx context.Context, path string) error {
		if _, err := exec.LookPath("go"); err != nil {
			return fmt.Errorf("building %s needs the go command: %w", name, err)
		}
		say("building %s %s, once: %s without a warm build cache, seconds with one", name, version, takes)
		done := beat(name, say)
		defer done()
		if err := goBuild(ctx, dir, pkg, path, flags); err != nil {
			return err
		}
		return os.Chmod(path, 0o755)
	})
}

// beat says now and then that a build goes on, until done is called.
func beat(name string, say func(string, ...any)) (done func()) {
	stop, begin := make(chan struct{}), time.Now()
	go func() {
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				say("still building %s after %.0f s", name, time.Since(begin).Seconds())
			}
		}
	}()
	return func() {
		close(stop)
		say("built %s in %.1f s", name, time.Since(begin).Seconds())
	}
}
