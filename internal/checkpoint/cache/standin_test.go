package cache

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

const intentKey = "aks-oneshot-" + job + ".dispatch-intent."

// ways are the forms in which the services are met.
var ways = map[string]standin.StoresOptions{
	"as GitHub":        {},
	"in camelCase":     {CamelCase: true},
	"on a branch":      {Ref: "refs/heads/feature"},
	"the cache before": {NoResults: true, CacheV1: true},
}

func eachWay(t *testing.T, test func(t *testing.T, g *github)) {
	t.Helper()
	for name, o := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newGitHub(t, o))
		})
	}
}

func TestAcrossAttempts(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, g *github) {
		first := g.Attempt()
		g.mustWrite(g.must(first), intent("a")...)
		for i, how := range []standin.Rerun{standin.RerunFailed, standin.RerunAll} {
			next := g.must(g.NextAttempt(how))
			wantCopies(t, read(t, next, job)[:2], copyOf(intent("a")[1], intentKey+"1", 1), copyOf(intent("a")[0], intentKey+"1", 1))
			g.mustWrite(next, document(checkpoint.Terminal, strconv.Itoa(i+2)))
		}
		// Another run of the same execution starts to count again, and finds the newest.
		other := g.must(g.NextRun())
		got := read(t, other, job)
		wantCopies(t, got[2:], copyOf(document(checkpoint.Terminal, "3"), "aks-oneshot-"+job+".terminal.3", 3))
		if err := g.write(other, intent("b")...); !errors.Is(err, checkpoint.ErrTaken) {
			t.Errorf("the error of an intent that comes second is %v", err)
		}
	})
}

// A runner that was only thought dead, and one that saves for it.
func TestKeyThatIsHeld(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, g *github) {
		a := g.Attempt()
		ref := a.Env()["GITHUB_REF"]
		held := g.LockCache(ref, intentKey+"1", standin.GoActionsCacheVersion())
		g.mustWrite(g.must(a), intent("a")...)
		wantCopies(t, read(t, g.must(g.NextAttempt(standin.RerunFailed)), job),
			copyOf(intent("a")[1], intentKey+"1.2", 1), copyOf(intent("a")[0], intentKey+"1.2", 1))
		g.EvictCache(held.ID)
	})
}

// What anybody on the branch can write is handed on, and is not taken for the copy of
// another execution.
func TestForgedEntry(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, g *github) {
		a := g.Attempt()
		ref := a.Env()["GITHUB_REF"]
		forged := document(checkpoint.Terminal, "forged")
		g.mustWrite(g.must(a), document(checkpoint.Terminal, "a"))
		const key = "aks-oneshot-" + job + ".terminal."
		forge := func(key string, data []byte) {
			t.Helper()
			if _, err := g.ForgeCache(ref, key, standin.GoActionsCacheVersion(), data); err != nil {
				t.Fatal(err)
			}
		}
		forge(key+"1.7", packed(t, job, forged))
		wantCopies(t, read(t, g.must(a), job), copyOf(forged, key+"1.7", 1))
		forge(key+"2", packed(t, "fdai-other", forged))
		forge(strings.Replace(key, job, job+"0", 1)+"2", packed(t, job, forged))
		got := read(t, g.must(g.NextAttempt(standin.RerunFailed)), job)
		if len(got) != 2 || got[0].Err != nil || got[1].Err == nil || got[1].Where != "cache key "+key+"2" {
			t.Errorf("copies are %v", got)
		}
	})
}

// What goes wrong on the way shows in nothing but notices.
func TestFaultsThatPass(t *testing.T) {
	t.Parallel()
	faults := map[string]func() standin.Answer{
		"429": func() standin.Answer {
			return standin.TwirpError("resource_exhausted", "slow down", "Retry-After", "1")
		},
		"503":            func() standin.Answer { return standin.Status(503, "") },
		"a page":         func() standin.Answer { return standin.HTML(502) },
		"dropped":        standin.Drop,
		"aborted":        standin.Abort,
		"cut":            standin.CutBody,
		"lost":           standin.Lost,
		"lost, with 502": func() standin.Answer { return standin.LostStatus(502) },
		"slow":           func() standin.Answer { return standin.Slow(50 * time.Millisecond) },
	}
	results := []string{"CreateCacheEntry", "FinalizeCacheEntryUpload", "GetCacheEntryDownloadURL", "ReserveCache", "UploadCache", "CommitCache", "FindCache"}
	eachWay(t, func(t *testing.T, g *github) {
		for name, fault := range faults {
			g.Results.Reset()
			for _, operation := range results {
				g.Results.On(standin.Operation(operation), 1, fault())
			}
			g.Blobs.On(standin.Operation("GetBlob"), 1, fault())
			a := g.NextRun()
			s := g.must(a)
			// Each time with keys of its own.
			s.attempt = 100 + len(g.CacheEntries())
			if err := g.write(s, intent(name)...); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !slices.ContainsFunc(read(t, s, job), func(c checkpoint.Copy) bool {
				return c.Err == nil && cmp.Equal(c.Document, intent(name)[1])
			}) {
				t.Errorf("%s: it is not read", name)
			}
		}
	})
}

// An upload that breaks off leaves a key behind, and goes on under the next.
func TestUploadBreaksOff(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]standin.Answer{"cut": standin.CutUpload(100), "refused": standin.Status(403, ""), "hanging": standin.Hang()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGitHub(t, standin.StoresOptions{})
			s := g.must(g.Attempt())
			g.Blobs.On(standin.Operation("PutBlob"), 1, fault)
			if name != "refused" {
				// The library tries again after 10 s and more, until its time is up.
				var alarm alarm
				s.service.after = alarm.after
				go func() {
					for g.Count("PutBlob") == 0 {
						time.Sleep(5 * time.Millisecond)
					}
					alarm.ring()
				}()
			}
			g.mustWrite(s, intent("a")...)
			wantCopies(t, read(t, g.must(g.NextAttempt(standin.RerunAll)), job),
				copyOf(intent("a")[1], intentKey+"1.2", 1), copyOf(intent("a")[0], intentKey+"1.2", 1))
		})
	}
}

// A lookup may not show for a while what was stored. Nothing says that it is not
// there, and what comes then is found.
func TestLag(t *testing.T) {
	t.Parallel()
	g := newGitHub(t, standin.StoresOptions{Stale: 2})
	g.mustWrite(g.must(g.Attempt()), document(checkpoint.Terminal, "a"))
	s := g.must(g.NextAttempt(standin.RerunFailed))
	for i, want := range []int{0, 0, 1} {
		if copies := read(t, s, job); len(copies) != want {
			t.Errorf("read %d: %d copies, want %d", i+1, len(copies), want)
		}
	}
	// The answer to a finalize is lost, and the entry not shown yet: it is stored twice.
	g.Results.On(standin.Operation("FinalizeCacheEntryUpload"), 1, standin.Lost())
	g.mustWrite(s, intent("a")...)
	for range 3 {
		read(t, s, job)
	}
	if copies := read(t, s, job); len(copies) != 3 || copies[0].Err != nil || !cmp.Equal(copies[0].Document, intent("a")[1]) {
		t.Errorf("copies are %v", copies)
	}
}

// What a job may not do is told before anything is done, and by the service when that
// knows better.
func TestAccess(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		o      standin.StoresOptions
		opened bool
		want   string
	}{
		{"read-only", standin.StoresOptions{Cache: standin.CacheReadOnly}, false, "by its runtime token this job may only read it"},
		{"none", standin.StoresOptions{Cache: standin.CacheNone}, false, "by its runtime token this job may not use it"},
		{"mode read", standin.StoresOptions{CacheMode: "read"}, false, "ACTIONS_CACHE_MODE is read"},
		{"mode none", standin.StoresOptions{CacheMode: "none"}, false, "ACTIONS_CACHE_MODE is none"},
		{"mode write-only", standin.StoresOptions{CacheMode: "write-only"}, false, "ACTIONS_CACHE_MODE is write-only"},
		{"mode write", standin.StoresOptions{CacheMode: "write"}, true, ""},
		{"write-only", standin.StoresOptions{Cache: standin.CacheWriteOnly}, true, "cache read denied:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newGitHub(t, tt.o)
			s, err := g.open(g.Attempt())
			if (err == nil) != tt.opened {
				t.Fatalf("the error is %v", err)
			}
			if err == nil {
				_, err = s.Read(t.Context(), job)
			}
			if tt.want == "" && err == nil {
				return
			}
			if failure.CodeOf(err) != failure.CheckpointStoreFailed || !strings.Contains(err.Error(), tt.want) || tt.want == "" {
				t.Errorf("the error is %v, want %q", err, tt.want)
			}
			if n := g.Count("CreateCacheEntry"); n > 0 {
				t.Errorf("%d entries were created", n)
			}
		})
	}
}

// A permission that ends while the job runs is told, and nothing is tried again.
func TestWriteDenied(t *testing.T) {
	t.Parallel()
	g := newGitHub(t, standin.StoresOptions{})
	s := g.must(g.Attempt())
	g.Change(func(o *standin.StoresOptions) { o.Cache = standin.CacheReadOnly })
	err := g.write(s, intent("a")...)
	if failure.CodeOf(err) != failure.CheckpointStoreFailed || !strings.Contains(err.Error(), "cache write denied:") || !strings.Contains(err.Error(), fixReadOnly) {
		t.Errorf("the error is %v", err)
	}
	if n := g.Count(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	g.EndToken(g.Attempt().RuntimeToken)
	if err := g.write(s, intent("a")...); failure.CodeOf(err) != failure.CheckpointStoreFailed || !strings.Contains(err.Error(), "401") {
		t.Errorf("the error of a token that has ended is %v", err)
	}
}

// Entries are evicted, and their files can be gone before them.
func TestWhatIsGone(t *testing.T) {
	t.Parallel()
	g := newGitHub(t, standin.StoresOptions{})
	s := g.must(g.Attempt())
	g.mustWrite(s, document(checkpoint.Terminal, "a"))
	g.Blobs.On(standin.Operation("GetBlob"), -1, standin.Status(404, ""))
	got := read(t, s, job)
	if len(got) != 1 || got[0].Err == nil {
		t.Fatalf("copies are %v", got)
	}
	g.say(got[0].Err.Error())
	g.EvictCache(g.CacheEntries()[0].ID)
	wantCopies(t, read(t, s, job))
}

// Secrets are known to be found by what is scanned for them.
func TestLedgerKnowsTheSecrets(t *testing.T) {
	t.Parallel()
	g := newGitHub(t, standin.StoresOptions{})
	g.mustWrite(g.must(g.Attempt()), intent("a")...)
	if len(g.ledger.Scan("the token", []byte(g.Attempt().RuntimeToken))) == 0 || len(g.ledger.Kinds()) < 2 {
		t.Errorf("the ledger knows %v", g.ledger.Kinds())
	}
}
