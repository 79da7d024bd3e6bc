package peers

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/bundle"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/cache"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
	"github.com/aks-oneshot/aks-oneshot/test/peers/records"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// keyPrefix begins our keys of the intent, intentKey is the first one of a run.
const (
	keyPrefix = "aks-oneshot-" + records.Execution + ".dispatch-intent."
	intentKey = keyPrefix + "1"
)

func cacheOptions(attempt standin.Attempt) cache.Options {
	env := attempt.Env()
	return cache.Options{
		ResultsURL: env["ACTIONS_RESULTS_URL"], RuntimeToken: attempt.RuntimeToken, Mode: env["ACTIONS_CACHE_MODE"],
		Attempt: attempt.Number, Version: "v0.0.0-test",
		Network: network.ClientOptions{RootCAs: shared.authority.Pool()},
	}
}

func openCache(t *testing.T, attempt standin.Attempt) *cache.Store {
	t.Helper()
	store, err := cache.Open(cacheOptions(attempt))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func readCache(t *testing.T, store *cache.Store) checkpoint.Found {
	t.Helper()
	found, err := store.Read(t.Context(), records.Execution)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func packed(t *testing.T, documents ...checkpoint.Document) []byte {
	t.Helper()
	data, err := bundle.Pack(records.Execution, documents)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// said is what the service answered to the official client.
type said struct {
	OK                  bool
	EntryID, MatchedKey string
}

func TestTheOfficialClientRestoresTheEntryThatWeStored(t *testing.T) {
	t.Parallel()
	all := records.All(t)
	stores := github(t, standin.StoresOptions{})
	if err := openCache(t, stores.Attempt()).Write(t.Context(), records.Execution, all[checkpoint.Prepared], all[checkpoint.Intent]); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		key, version string
		more         []string
		found        bool
	}{
		"by its key":           {intentKey, standin.GoActionsCacheVersion(), nil, true},
		"by how its key began": {"missing", standin.GoActionsCacheVersion(), []string{"also missing", keyPrefix}, true},
		"not by another one":   {"missing", standin.GoActionsCacheVersion(), []string{keyPrefix + "2"}, false},
		"not in other form":    {intentKey, strings.Repeat("0", 64), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, stores.Attempt())
			file := filepath.Join(j.workspace, "entry")
			var answers []said
			j.run(t, &answers, "entry.mjs", append([]string{"restore", c.key, c.version, file}, c.more...)...)
			if len(answers) != 1 || answers[0].OK != c.found || c.found && answers[0].MatchedKey != intentKey {
				t.Fatalf("the service said %+v", answers)
			}
			data, err := os.ReadFile(file)
			if c.found && (err != nil || !bytes.Equal(data, packed(t, all[checkpoint.Prepared], all[checkpoint.Intent]))) {
				t.Errorf("the entry is %q, %v", data, err)
			}
			if !c.found && err == nil {
				t.Errorf("something was restored: %q", data)
			}
		})
	}
}

func TestWhatTheOfficialClientSavesInTheCacheWeRead(t *testing.T) {
	t.Parallel()
	all := records.All(t)
	stores := github(t, standin.StoresOptions{})
	j := newJob(t, stores.Attempt())
	files := j.write(t, map[string][]byte{"entry": packed(t, all[checkpoint.Prepared], all[checkpoint.Intent])})
	var answers []said
	j.run(t, &answers, "entry.mjs", "save", intentKey, standin.GoActionsCacheVersion(), files[0])
	if len(answers) != 2 || !answers[0].OK || !answers[1].OK || answers[1].EntryID == "" {
		t.Fatalf("the service said %+v", answers)
	}
	next := stores.NextAttempt(standin.RerunAll)
	found := readCache(t, openCache(t, next))
	records.Same(t, found, all[checkpoint.Prepared], all[checkpoint.Intent])
	for _, c := range found.Copies {
		if c.Attempt != 1 {
			t.Errorf("%s is said to be of attempt %d", c.Where, c.Attempt)
		}
	}
	if found.Complete || found.Blind != nil {
		t.Errorf("a cache that forgets is complete %v, blind %v", found.Complete, found.Blind)
	}
}

// The official client packs files with tar and has another version for each set of
// paths; that is how it is used by everybody else, beside us and with any key.
func TestTheOfficialClientSavesAndRestoresBesideOurEntries(t *testing.T) {
	t.Parallel()
	all := records.All(t)
	stores := github(t, standin.StoresOptions{})
	j := newJob(t, stores.Attempt())
	files := records.Files(all[checkpoint.Terminal])
	folder := filepath.Join(j.workspace, "folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	paths := []string{"folder"}
	answers := j.call(t, "cache", call{"isFeatureAvailable"}, call{"saveCache", paths, intentKey}, call{"saveCache", paths, intentKey})
	var there bool
	if answers[0].into(t, &there); !there {
		t.Error("the client sees no cache here")
	}
	var id, again int64
	answers[1].into(t, &id)
	answers[2].into(t, &again)
	if id <= 0 || again != -1 {
		t.Errorf("the ids are %d, and %d for the same key once more", id, again)
	}
	entries := stores.CacheEntries()
	if len(entries) != 1 || entries[0].Key != intentKey || !entries[0].Finalized || entries[0].Version == standin.GoActionsCacheVersion() {
		t.Fatalf("the entries are %+v", entries)
	}
	data, err := stores.CacheData(entries[0].ID)
	if err != nil || int64(len(data)) != entries[0].Size {
		t.Errorf("of %d bytes %d are there: %v", entries[0].Size, len(data), err)
	}

	next := stores.NextAttempt(standin.RerunFailed)
	records.Same(t, readCache(t, openCache(t, next)))
	if err := openCache(t, stores.Attempt()).Write(t.Context(), records.Execution, all[checkpoint.Prepared], all[checkpoint.Intent]); err != nil {
		t.Fatal(err)
	}
	records.Same(t, readCache(t, openCache(t, next)), all[checkpoint.Prepared], all[checkpoint.Intent])

	other := newJob(t, next)
	var matched string
	other.call(t, "cache", call{"restoreCache", paths, "missing", []string{keyPrefix}})[0].into(t, &matched)
	if matched != intentKey {
		t.Errorf("the client restored %q", matched)
	}
	holds(t, filepath.Join(other.workspace, "folder"), files)
}

func TestAnEntryThatIsNoBundleIsACopyThatCannotBeRead(t *testing.T) {
	t.Parallel()
	all := records.All(t)
	stores := github(t, standin.StoresOptions{})
	j := newJob(t, stores.Attempt())
	files := j.write(t, map[string][]byte{"entry": all[checkpoint.Intent].Data})
	var answers []said
	j.run(t, &answers, "entry.mjs", "save", intentKey, standin.GoActionsCacheVersion(), files[0])
	store := openCache(t, stores.Attempt())
	found := readCache(t, store)
	if len(found.Copies) != 1 || found.Copies[0].Step != checkpoint.Intent || found.Copies[0].Err == nil {
		t.Fatalf("found is %+v", found)
	}
	// It is in the way of nothing.
	if err := store.Write(t.Context(), records.Execution, all[checkpoint.Prepared], all[checkpoint.Intent]); err != nil {
		t.Fatal(err)
	}
	if entries := stores.CacheEntries(); len(entries) != 2 || entries[1].Key != intentKey+".2" {
		t.Errorf("the entries are %+v", entries)
	}
}

// What the stand-in denies is what the official client takes for a denial; where it
// only warns, we do not begin.
func TestTheOfficialClientIsDeniedWhereWeRefuse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options standin.StoresOptions
		says    string
	}{
		"by the service": {standin.StoresOptions{Cache: standin.CacheReadOnly}, "cache write denied"},
		"by the mode":    {standin.StoresOptions{CacheMode: "read"}, "cache-mode 'read' does not permit writes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stores := github(t, c.options)
			if _, err := cache.Open(cacheOptions(stores.Attempt())); failure.CodeOf(err) != failure.CheckpointStoreFailed {
				t.Errorf("our store opens with %v", err)
			}
			j := newJob(t, stores.Attempt())
			j.write(t, map[string][]byte{"file": []byte("content")})
			var answers []struct{ Value int64 }
			output := j.run(t, &answers, "call.mjs", "cache", `[["saveCache", ["file"], "key"]]`)
			if len(answers) != 1 || answers[0].Value != -1 || !strings.Contains(output, c.says) {
				t.Errorf("the client answers %+v, and prints no %q:\n%s", answers, c.says, output)
			}
			if entries := stores.CacheEntries(); len(entries) > 0 {
				t.Errorf("the entries are %+v", entries)
			}
		})
	}
}
