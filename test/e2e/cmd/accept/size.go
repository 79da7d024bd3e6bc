package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// beforeAzure is the last commit in which the action knew nothing of Azure.
	beforeAzure = "00d6608"
	// starts is how often a program is started to measure how long that takes.
	starts = 20
	// maxSize is what the stripped binary may have.
	maxSize = 20 << 20
)

// size builds the action as a release does, now and at an earlier commit, and
// measures both.
func size(ctx context.Context, t *tree) (lines []line, err error) {
	dir, err := os.MkdirTemp("", "accept-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	paths := []string{filepath.Join(dir, "now")}
	if err := t.build(ctx, t.root, paths[0]); err != nil {
		return nil, err
	}
	root, ok, err := t.checkout(ctx, dir)
	if err != nil {
		return nil, err
	}
	if ok {
		paths = append(paths, filepath.Join(dir, "before"))
		if err := t.build(ctx, root, paths[1]); err != nil {
			return nil, err
		}
	}
	programs, err := measured(ctx, paths)
	if err != nil {
		return nil, err
	}
	compared := fmt.Sprintf("not compared: this checkout has no commit %s (git fetch --unshallow brings it, -before=COMMIT takes another)", t.before)
	if ok {
		compared = fmt.Sprintf("at %s: %s", t.before, programs[1])
	}
	return []line{{
		// A checkout without its history cannot help it; who names a commit wants it.
		ok: programs[0].size < maxSize && (ok || t.before == beforeAzure), figure: "stripped binary and its start",
		value: fmt.Sprintf("now: %s; %s", programs[0], compared), goal: fmt.Sprintf("under %d MiB", maxSize>>20),
	}}, nil
}

// program is what was measured of one.
type program struct {
	size  int64
	start time.Duration
}

// String tells both.
func (p program) String() string {
	return fmt.Sprintf("%d bytes, `aks-oneshot version` in %.1f ms", p.size, float64(p.start.Microseconds())/1000)
}

// checkout puts the tree of the earlier commit into a folder, where git has it.
func (t *tree) checkout(ctx context.Context, dir string) (root string, ok bool, err error) {
	known := exec.CommandContext(ctx, "git", "-C", t.root, "cat-file", "-e", t.before+"^{commit}")
	if known.Run() != nil {
		return "", false, nil //nolint:nilerr // A checkout without its history, or no git.
	}
	// An archive, not a worktree: it leaves no trace in the repository.
	root = filepath.Join(dir, "tree")
	if err := os.Mkdir(root, 0o700); err != nil {
		return "", false, err
	}
	archive := filepath.Join(dir, "tree.tar")
	for _, args := range [][]string{
		{"git", "-C", t.root, "archive", "--output=" + archive, t.before},
		{"tar", "-x", "-f", archive, "-C", root},
	} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", false, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return root, true, nil
}

// build builds the action of a tree, stripped and without cgo as the Makefile
// does.
func (t *tree) build(ctx context.Context, root, path string) error {
	build := exec.CommandContext(ctx, "go", "-C", root, "build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -X main.version=v0.0.0 -X main.commit="+strings.Repeat("0", 40), "-o", path, "./cmd/action")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = t.stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the action of %s: %w", root, err)
	}
	return nil
}

// measured measures programs, in turn: what else the machine does concerns all
// of them.
func measured(ctx context.Context, paths []string) ([]program, error) {
	programs, took := make([]program, len(paths)), make([][]time.Duration, len(paths))
	for i, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		programs[i].size = info.Size()
	}
	for range starts {
		for i, path := range paths {
			begin := time.Now()
			if out, err := exec.CommandContext(ctx, path, "version").CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%s version: %w: %s", path, err, out)
			}
			took[i] = append(took[i], time.Since(begin))
		}
	}
	for i := range programs {
		slices.Sort(took[i])
		programs[i].start = (took[i][(starts-1)/2] + took[i][starts/2]) / 2
	}
	return programs, nil
}
