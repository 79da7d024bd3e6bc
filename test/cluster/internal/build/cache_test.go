package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func quiet(string, ...any) {}

func TestCachedMakesOnce(t *testing.T) {
	t.Setenv(CacheEnv, t.TempDir())
	var made atomic.Int32
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			path, err := cached(t.Context(), "thing", quiet, func(_ context.Context, path string) error {
				made.Add(1)
				time.Sleep(100 * time.Millisecond)
				return os.WriteFile(path, []byte("done"), 0o600)
			})
			if b, _ := os.ReadFile(path); err != nil || string(b) != "done" {
				t.Errorf("cached gives %s with %q, %v", path, b, err)
			}
		})
	}
	wg.Wait()
	if made.Load() != 1 {
		t.Errorf("made %d times, want once", made.Load())
	}
}

func TestCachedKeepsNothingHalfMade(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(CacheEnv, dir)
	broken := errors.New("broken")
	_, err := cached(t.Context(), "thing", quiet, func(_ context.Context, path string) error {
		return errors.Join(os.WriteFile(path, nil, 0o600), broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("error is %v, want %v", err, broken)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("there remains %v", left)
	}
}

func TestCachedStopsWaiting(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(CacheEnv, dir)
	unlock, err := lock(t.Context(), filepath.Join(dir, "thing.lock"), func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	said := 0
	_, err = cached(ctx, "thing", func(string, ...any) { said++ }, func(context.Context, string) error {
		t.Error("made while another process makes it")
		return nil
	})
	if !errors.Is(err, context.DeadlineExceeded) || said != 1 {
		t.Errorf("error is %v after %d messages, want the deadline and one", err, said)
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write := func(path, content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	get := func(flags []string, files ...string) string {
		k, err := key(flags, files...)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	write(a, "one")
	write(b, "two")
	first := get([]string{"-x"}, a, b)
	if again := get([]string{"-x"}, b, a); again != first {
		t.Error("the order of the files counts")
	}
	others := []string{get([]string{"-y"}, a, b), get([]string{"-x"}, a), get([]string{"-x", ""}, a, b)}
	write(b, "three")
	others = append(others, get([]string{"-x"}, a, b))
	write(a, "onetwo") // the same bytes one after the other, cut elsewhere
	write(b, "")
	others = append(others, get([]string{"-x"}, a, b))
	seen := map[string]bool{first: true}
	for i, k := range others {
		if seen[k] {
			t.Errorf("change %d is not seen by the key", i)
		}
		seen[k] = true
	}
}

func TestVersionsMatchTheModules(t *testing.T) {
	t.Parallel()
	src, err := source()
	if err != nil {
		t.Fatal(err)
	}
	for module, line := range map[string]string{
		"kubernetes": "k8s.io/kubernetes " + kubernetesVersion,
		"kwok":       "sigs.k8s.io/kwok " + kwokVersion,
	} {
		b, err := os.ReadFile(filepath.Join(src, module, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), line) {
			t.Errorf("%s/go.mod does not require %q", module, line)
		}
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := time.Now().Add(-unused - time.Hour)
	for _, name := range []string{"kubernetes-v1-old", "kubernetes-v1-new", "somebody-elses"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if name != "kubernetes-v1-new" {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	prune(dir)
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(left) != 2 || filepath.Base(left[0]) != "kubernetes-v1-new" || filepath.Base(left[1]) != "somebody-elses" {
		t.Errorf("there remain %v", left)
	}
}
