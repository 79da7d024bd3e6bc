package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

var noon = time.Date(2026, 9, 27, 12, 0, 0, 0, time.UTC)

// execution returns a well-formed execution of the given name.
func execution(name string) contract.Execution {
	digest := func(c string) contract.Digest {
		d, err := contract.ParseDigest(strings.Repeat(c, 64))
		if err != nil {
			panic(err)
		}
		return d
	}
	manifest := contract.Object{
		"apiVersion": "batch/v1", "kind": "Job",
		"metadata": map[string]any{"name": name, "namespace": "fdai-runtime"},
		"spec": map[string]any{
			"backoffLimit": 1,
			"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
				"name": "inventory",
				"env":  []any{map[string]any{"name": "MODE", "value": "kept-out-of-messages"}},
			}}}},
		},
	}
	manifestDigest, err := contract.DigestOf(manifest)
	if err != nil {
		panic(err)
	}
	return contract.Execution{
		Name: name, Namespace: "fdai-runtime", Purpose: "inventory",
		Digest: digest("a"), Manifest: manifest, ManifestDigest: manifestDigest,
		TemplateDigest: digest("b"), BindingDigest: digest("c"), ContractDigest: digest("d"),
		TTL: time.Hour,
	}
}

var evidence = contract.Object{
	"conditions":      []any{map[string]any{"type": "Complete", "status": "True", "reason": "CompletionsReached"}},
	"succeeded":       1,
	"failed":          0,
	"completion_time": "2026-09-27T12:00:42Z",
}

// allRecords returns one record of every step, in order.
func allRecords(tb testing.TB, b Binding) []Record {
	tb.Helper()
	records := []Record{b.Manifest()}
	for _, build := range []func() (Record, error){
		b.Prepared,
		func() (Record, error) { return b.Intent(noon) },
		b.Dispatched,
		func() (Record, error) { return b.Ambiguous(noon) },
		func() (Record, error) { return b.Terminal(contract.Succeeded, evidence) },
	} {
		r, err := build()
		if err != nil {
			tb.Fatal(err)
		}
		records = append(records, r)
	}
	return records
}

// record returns the record of one step.
func record(tb testing.TB, b Binding, step Step) Record {
	tb.Helper()
	for _, r := range allRecords(tb, b) {
		if r.Step == step {
			return r
		}
	}
	tb.Fatalf("no step %s", step)
	return Record{}
}

// decoded returns a record as a store reads it back.
func decoded(tb testing.TB, r Record) Record {
	tb.Helper()
	data, err := r.Encode()
	if err != nil {
		tb.Fatal(err)
	}
	content, err := contract.ParseObject(data)
	if err != nil {
		tb.Fatal(err)
	}
	return Record{Step: r.Step, Content: content}
}

// reseal gives a changed record the digest that fits it.
func reseal(tb testing.TB, content contract.Object) {
	tb.Helper()
	delete(content, "checkpoint_digest")
	digest, err := contract.DigestOf(content)
	if err != nil {
		tb.Fatal(err)
	}
	content["checkpoint_digest"] = digest.String()
}

// wantFailure fails the test unless err has the code and field, and all the
// parts in its text.
func wantFailure(tb testing.TB, err error, code failure.Code, field string, parts ...string) {
	tb.Helper()
	f, ok := err.(*failure.Error) //nolint:errorlint // what is returned must be the failure itself
	if !ok || f.Code != code || f.Field != field {
		tb.Fatalf("got error %v, want %s at %s", err, code, field)
	}
	for _, part := range parts {
		if !strings.Contains(f.Error(), part) {
			tb.Errorf("the failure says %q, want %q in it", f, part)
		}
	}
	if strings.ContainsAny(f.Error(), "\n\r") {
		tb.Errorf("the failure is not on one line: %q", f)
	}
}

// workFolder returns the path of a new folder that meets every rule.
func workFolder(tb testing.TB) string {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// openFolder opens a work folder for the length of the test.
func openFolder(tb testing.TB, path string) *Folder {
	tb.Helper()
	f, err := OpenFolder(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := f.Close(); err != nil {
			tb.Error(err)
		}
	})
	return f
}

// files returns the content of every file in a work folder but the lock's.
func files(tb testing.TB, path string) map[string]string {
	tb.Helper()
	entries, err := os.ReadDir(path)
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		if e.Name() == lockName {
			continue
		}
		if !e.Type().IsRegular() {
			all[e.Name()] = e.Type().String()
			continue
		}
		data, err := os.ReadFile(filepath.Join(path, e.Name()))
		if err != nil {
			tb.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

func writeFile(tb testing.TB, path, content string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
}
