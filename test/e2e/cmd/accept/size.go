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
	// beforeCommit is the last one in which the action knew nothing of Azure.
	beforeCommit = "00d6608"
	// starts is how often a program is started to measure how long that takes.
	starts = 20
	// maxSize is what the stripped binary may have.
	maxSize = 20 << 20
)

// size builds the action as a release does, now and from before it knew Azure,
// and measures both.
func size(ctx context.Context, t *tree) (lines []line, err error) {
	dir, err := os.MkdirTemp("", "accept-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	now, err := t.measured(ctx, t.root, filepath.Join(dir, "now"))
	if err != nil {
		return nil, err
	}
	compared := "no commit " + beforeCommit + " here to compare with"
	if before, ok, err := t.before(ctx, dir); err != nil {
		return nil, err
	} else if ok {
		compared = fmt.Sprintf("before: %s", before)
	}
	return []line{{
		ok: now.size < maxSize, figure: "stripped binary and its start",
		value: fmt.Sprintf("now: %s; %s", now, compared), goal: fmt.Sprintf("under %d MiB", maxSize>>20),
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

// before is the program of the commit, where git has it.
func (t *tree) before(ctx context.Context, dir string) (p program, ok bool, err error) {
	known := exec.CommandContext(ctx, "git", "-C", t.root, "cat-file", "-e", beforeCommit+"^{commit}")
	if known.Run() != nil {
		return p, false, nil //nolint:nilerr // A checkout without its history, or no git.
	}
	// An archive, not a worktree: it leaves no trace in the repository.
	folder := filepath.Join(dir, "tree")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return p, false, err
	}
	archive := filepath.Join(dir, "tree.tar")
	for _, args := range [][]string{
		{"git", "-C", t.root, "archive", "--output=" + archive, beforeCommit},
		{"tar", "-x", "-f", archive, "-C", folder},
	} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return p, false, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	p, err = t.measured(ctx, folder, filepath.Join(dir, "before"))
	return p, err == nil, err
}

// measured builds the action of a tree, stripped and without cgo as the Makefile
// does, and measures it.
func (t *tree) measured(ctx context.Context, root, path string) (program, error) {
	build := exec.CommandContext(ctx, "go", "-C", root, "build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -X main.version=v0.0.0 -X main.commit="+beforeCommit, "-o", path, "./cmd/action")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = t.stderr
	if err := build.Run(); err != nil {
		return program{}, fmt.Errorf("building the action of %s: %w", root, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return program{}, err
	}
	var took []time.Duration
	for range starts {
		begin := time.Now()
		if out, err := exec.CommandContext(ctx, path, "version").CombinedOutput(); err != nil {
			return program{}, fmt.Errorf("%s version: %w: %s", path, err, out)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return program{info.Size(), (took[(starts-1)/2] + took[starts/2]) / 2}, nil
}
