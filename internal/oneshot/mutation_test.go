package oneshot

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// mutation is one fault put into the source.
type mutation struct {
	name     string
	file     string
	from, to string
}

// mutations are faults that the crash matrix has to find. Each undoes one of the
// decisions that the promises rest on.
var mutations = []mutation{
	{
		"no read-back before a create", "dispatch.go",
		"	job, err := x.readBack(reading)\n", "	_ = reading\n	var job contract.Object\n	var err error\n",
	},
	{
		"the intent is recorded after the create", "dispatch.go",
		"	w, err := x.intend(ctx, history.IntentAt)\n	if err != nil {\n		return nil, err\n	}\n	return x.create(ctx, w)",
		"	job, err = x.create(ctx, window{intent: x.now(), ttl: x.TTL, fresh: true})\n	if err != nil {\n		return nil, err\n	}\n" +
			"	_, err = x.intend(ctx, history.IntentAt)\n	return job, err",
	},
	{
		"the intent's failure is ignored", "dispatch.go",
		"	err := x.put(x.binding.Intent(now))\n", "	_ = x.put(x.binding.Intent(now))\n	var err error\n",
	},
	{
		"the TTL window is not looked at", "dispatch.go",
		"	if !w.open(x.now()) {", "	if !w.open(w.intent) {",
	},
	{
		"a dispatched record does not stop a create", "dispatch.go",
		"case history.Dispatched:", "case history.Dispatched && x.now().IsZero():",
	},
	{
		"an ambiguous record does not stop a create", "dispatch.go",
		"case history.Ambiguous:", "case history.Ambiguous && x.now().IsZero():",
	},
	{
		"a create is sent after the deadline", "dispatch.go",
		"ctx.Err() != nil || ok && !time.Now().Before(deadline)", "ok && deadline.IsZero()",
	},
	{
		"an altered answer keeps a create from being recorded", "dispatch.go",
		"	if differs != nil && x.exposure != sent {", "	if differs != nil {",
	},
	{
		"a create that timed out is repeated", "create.go",
		"		case TimedOut:\n			x.exposure = sent\n			return x.timedOut(err)\n", "",
	},
	{
		"a create that timed out is not recorded as ambiguous", "create.go",
		"	if err := x.put(x.binding.Ambiguous(x.now())); err != nil {\n		return nil, err\n	}\n", "",
	},
	{
		"a terminal record is not replayed", "run.go",
		"if history.Outcome != \"\" {", "if history.Outcome == \"none\" {",
	},
	{
		"a failed Job is reported as a success", "execution.go",
		"if state == contract.Succeeded {", "if state != contract.Running {",
	},
	{
		"a successor follows any failure", "run.go",
		"if failure.CodeOf(err) != failure.JobFailed || n == plan.Successors {",
		"if err == nil || n == plan.Successors {",
	},
	{
		"what an execution did is said of its successor", "run.go",
		"	r.result = Result{Successor: r.result.Successor, Resumed: r.result.Resumed}\n", "",
	},
	{
		"what is under way is not given up when the run is told to stop", "retry.go",
		"timer := time.AfterFunc(d, cancel)", "timer := time.AfterFunc(1000*d, cancel)",
	},
}

// TestMutations proves that the crash matrix can fail: with each mutation in
// the source, it has to find a violation.
func TestMutations(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			// Which violation comes first depends on which setting was faster.
			m.isFound(t, ".", "TestCrashMatrix", "violation: ")
		})
	}
}

// isFound builds the package at path with the mutation laid over the source, and
// fails unless the named test of that package fails and says so.
func (m mutation) isFound(t *testing.T, path, test, says string) {
	t.Helper()
	if os.Getenv("ONESHOT_MUTANT") != "" {
		t.Fatal("a mutant must not run the mutations")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-overlay", m.overlay(t), "-run", "^"+test+"$", path)
	cmd.Env = append(os.Environ(), "ONESHOT_MUTANT=1", "ONESHOT_MATRIX=")
	output, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("%s passed with the mutation in", test)
	}
	if !strings.Contains(string(output), says) {
		t.Errorf("%s did not find %q:\n%s", test, says, tail(string(output)))
	}
}

// overlay writes the mutated file and returns the overlay that lays it over the
// source.
func (m mutation) overlay(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(m.file)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), m.from); n != 1 {
		t.Fatalf("%s has the mutated text %d times, want once", m.file, n)
	}
	folder := t.TempDir()
	mutant := filepath.Join(folder, filepath.Base(m.file))
	if err := os.WriteFile(mutant, []byte(strings.Replace(string(source), m.from, m.to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func tail(s string) string {
	const most = 2000
	if len(s) > most {
		return "…" + s[len(s)-most:]
	}
	return s
}
