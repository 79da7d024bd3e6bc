package peers

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// github starts GitHub's stores with azurite as their blob server, if no other is
// given.
func github(t *testing.T, options standin.StoresOptions) *standin.Stores {
	t.Helper()
	if options.Storage == nil {
		options.Storage = shared.azurite
	}
	stores, err := standin.NewStores(shared.authority, shared.ledger, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stores.Close(); err != nil {
			t.Error(err)
		}
	})
	return stores
}

// job is a JavaScript action in a job, which has the official clients.
type job struct {
	workspace string
	env       map[string]string
}

func newJob(t *testing.T, attempt standin.Attempt) job {
	t.Helper()
	dir := t.TempDir()
	j := job{workspace: filepath.Join(dir, "workspace"), env: attempt.Env()}
	for name, value := range map[string]string{
		"HOME": dir, "RUNNER_TEMP": filepath.Join(dir, "temp"), "GITHUB_WORKSPACE": j.workspace,
		"NODE_EXTRA_CA_CERTS": shared.caFile, "ANSWERS": filepath.Join(dir, "answers"),
		"ACTIONS_CACHE_SERVICE_V2": "true", // The runner sets it for these actions alone.
	} {
		j.env[name] = value
	}
	for _, folder := range []string{j.workspace, j.env["RUNNER_TEMP"]} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

// call is a call of a function of a client.
type call []any

// answer is what it returned.
type answer struct {
	Value json.RawMessage
	Error string
}

// into decodes a value. That there was an error fails the test.
func (a answer) into(t *testing.T, value any) {
	t.Helper()
	if a.Error != "" {
		t.Fatal(a.Error)
	}
	if err := json.Unmarshal(a.Value, value); err != nil {
		t.Fatalf("%s: %v", a.Value, err)
	}
}

// call has the client of a library make calls, and returns an answer for each.
func (j job) call(t *testing.T, library string, calls ...call) []answer {
	t.Helper()
	list, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	var answers []answer
	output := j.run(t, &answers, "call.mjs", library, string(list))
	if len(answers) != len(calls) {
		t.Fatalf("%d answers to %d calls\n%s", len(answers), len(calls), output)
	}
	return answers
}

// run runs a script, and returns what it printed. No secret may be in that, but for
// the runner to mask it.
func (j job) run(t *testing.T, answers any, script string, args ...string) string {
	t.Helper()
	cmd := shared.node.command(t.Context(), j.env, script, args...)
	cmd.Dir = j.workspace
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", script, args, err, output)
	}
	data, err := os.ReadFile(j.env["ANSWERS"])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, answers); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return string(output)
}

// write puts files into the workspace, and returns their paths.
func (j job) write(t *testing.T, files map[string][]byte) []string {
	t.Helper()
	var paths []string
	for name, data := range files {
		path := filepath.Join(j.workspace, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// holds checks that a folder has just these files.
func holds(t *testing.T, dir string, want map[string][]byte) {
	t.Helper()
	want = maps.Clone(want)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Error(err)
			continue
		}
		if wanted, ok := want[e.Name()]; !ok || !bytes.Equal(data, wanted) {
			t.Errorf("the file %s has %q, want %q", e.Name(), data, wanted)
		}
		delete(want, e.Name())
	}
	for name := range want {
		t.Errorf("there is no file %s", name)
	}
}
