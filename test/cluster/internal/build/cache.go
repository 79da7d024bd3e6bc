// Package build makes what a cluster runs, once: the Kubernetes binary, kwok,
// and the images. It keeps them in a cache outside the work tree.
package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// CacheEnv names the environment variable that moves the cache.
const CacheEnv = "ONESHOT_TEST_CACHE"

// CacheDir is the folder that finished builds are kept in.
func CacheDir() (string, error) {
	dir := os.Getenv(CacheEnv)
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no folder for the cache: set %s: %w", CacheEnv, err)
		}
		dir = filepath.Join(user, "aks-oneshot")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// cached returns the path of the file with that name in the cache, made by
// produce if it is not there. Two processes never make the same one at a time,
// and a half-made one is never seen.
func cached(ctx context.Context, name string, say func(string, ...any), produce func(ctx context.Context, path string) error) (string, error) {
	dir, err := CacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err == nil {
		_ = os.Chtimes(path, time.Now(), time.Now()) // in use: see prune
		return path, nil
	}
	prune(dir)
	unlock, err := lock(ctx, path+".lock", func() { say("waiting for another process that is making %s", name) })
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return path, nil // the other process has made it
	}
	temp := path + ".part"
	defer os.RemoveAll(temp)
	if err := produce(ctx, temp); err != nil {
		return "", err
	}
	return path, os.Rename(temp, path)
}

// unused is how long a build is kept that nobody asks for.
const unused = 14 * 24 * time.Hour

// prune removes builds that are not in use any more, such as those of an older
// version. One that still runs goes on without its file.
func prune(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		name, _, found := strings.Cut(e.Name(), "-")
		ours := found && (name == "kubernetes" || name == "kwok" || name == "images")
		if err == nil && ours && time.Since(info.ModTime()) > unused {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// lock takes an exclusive lock, which the kernel gives up with the process.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	for said := false; ; {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && sameFile(f, path) {
			return func() { os.Remove(path); f.Close() }, nil
		}
		f.Close()
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("could not lock %s: %w", path, err)
		}
		if !said {
			waiting()
			said = true
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// sameFile tells whether the open file is still the one at path: the one who
// had the lock before us removes it.
func sameFile(f *os.File, path string) bool {
	ours, err1 := f.Stat()
	there, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(ours, there)
}
