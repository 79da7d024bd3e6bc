package standin_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	actionscache "github.com/tonistiigi/go-actions-cache"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// What the library is told to save and finds again, in a process of its own: for
// blobs it makes its own client, which trusts SSL_CERT_FILE.
func TestGoActionsCacheSavesAndLoads(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("0123456789"), 1000)
	if os.Getenv("STANDIN_CACHE_CHILD") != "" {
		saveAndLoad(t, data)
		return
	}
	authority, err := standin.NewAuthority("stand-ins")
	if err != nil {
		t.Fatal(err)
	}
	s, err := standin.NewStores(authority, standin.NewLedger(), standin.StoresOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	trusted := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(trusted, authority.PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestGoActionsCacheSavesAndLoads$", "-test.v")
	child.Env = append(os.Environ(), "STANDIN_CACHE_CHILD=1", "SSL_CERT_FILE="+trusted)
	for name, value := range s.Attempt().Env() {
		child.Env = append(child.Env, name+"="+value)
	}
	if output, err := child.CombinedOutput(); err != nil || !bytes.Contains(output, []byte("--- PASS")) {
		t.Fatalf("%v: %s", err, output)
	}
	entries := s.CacheEntries()
	if len(entries) != 1 || !entries[0].Finalized || entries[0].Version != standin.GoActionsCacheVersion() || entries[0].Ref != "refs/heads/main" {
		t.Fatalf("%+v", entries)
	}
	if kept, err := s.CacheData(entries[0].ID); err != nil || !bytes.Equal(kept, data) {
		t.Errorf("%v: %d bytes", err, len(kept))
	}
	var operations []string
	for _, r := range s.Requests() {
		operations = append(operations, r.Operation)
	}
	want := []string{"CreateCacheEntry", "PutBlob", "FinalizeCacheEntryUpload", "GetCacheEntryDownloadURL", "GetBlob"}
	if !slices.Equal(operations, want) {
		t.Errorf("%v, want %v", operations, want)
	}
}

// saveAndLoad is what the process does.
func saveAndLoad(t *testing.T, data []byte) {
	t.Helper()
	c, err := actionscache.New(os.Getenv("ACTIONS_RUNTIME_TOKEN"), os.Getenv("ACTIONS_RESULTS_URL"), true, actionscache.Opt{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Save(t.Context(), "job.intent.1", actionscache.NewBlob(data)); err != nil {
		t.Fatal(err)
	}
	entry, err := c.Load(t.Context(), "job.intent.")
	if err != nil || entry == nil || entry.Key != "job.intent.1" {
		t.Fatalf("%+v, %v", entry, err)
	}
	var read bytes.Buffer
	if err := entry.WriteTo(t.Context(), &read); err != nil || !bytes.Equal(read.Bytes(), data) {
		t.Errorf("%v: %d bytes", err, read.Len())
	}
}
