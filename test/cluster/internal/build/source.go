package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

const module = "github.com/aks-oneshot/aks-oneshot/test/cluster"

// source is the folder of this module's source, which the builds need.
var source = sync.OnceValues(func() (string, error) {
	if _, file, _, ok := runtime.Caller(0); ok {
		dir := filepath.Dir(filepath.Dir(filepath.Dir(file)))
		if _, err := os.Stat(filepath.Join(dir, "kubernetes", "go.mod")); err == nil {
			return dir, nil
		}
	}
	// The path is not in binaries that were built with -trimpath.
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("could not find the source of %s from here: %w", module, withStderr(err))
	}
	return strings.TrimSpace(string(out)), nil
})

// goEnv is what the go command must be started with, so that neither a
// workspace nor flags of the caller change what comes out.
func goEnv() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS=", "GOARCH=", "PWD=")
}

// toolchain is everything about the go command that changes a binary.
var toolchain = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "env", "GOVERSION", "GOHOSTOS", "GOHOSTARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GOFIPS140")
	cmd.Env = goEnv()
	if dir, err := source(); err == nil {
		cmd.Dir = dir
	}
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("could not ask the go command for its version: %w", withStderr(err))
	}
	return string(out), nil
})

// key names a build by all that goes into it: the toolchain, the flags, and
// the content of the files, in any order.
func key(flags []string, files ...string) (string, error) {
	tools, err := toolchain()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q\n%q\n", tools, flags)
	slices.Sort(files)
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		info, err := f.Stat()
		if err == nil {
			fmt.Fprintf(h, "%q %d\n", filepath.Base(path), info.Size())
			_, err = io.Copy(h, f)
		}
		f.Close()
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

func withStderr(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return err
}

// goBuild builds one main package to a path.
func goBuild(ctx context.Context, dir, pkg, output string, flags []string) error {
	args := append([]string{"build", "-o", output}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir, cmd.Env = dir, goEnv()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("could not build %s in %s: %w\n%s", pkg, dir, err, tail(string(out), 20))
	}
	return nil
}

func tail(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
