package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// scenario is one line of scenarios.jsonl.
type scenario struct {
	Name     string
	Context  json.RawMessage
	Call     call
	Now      time.Time
	Retained map[string]json.RawMessage
	Steps    []step
	Expect   struct {
		Outcome         string
		Code            string
		Files           map[string]json.RawMessage
		Creates         int
		JobName         string `json:"job_name"`
		ExecutionDigest string `json:"execution_digest"`
	}
}

// call is what the reference's caller passes.
type call struct {
	TemplateName           string              `json:"template_name"`
	Purpose                string              `json:"purpose"`
	ExpectedContainerName  string              `json:"expected_container_name"`
	ExpectedImage          string              `json:"expected_image"`
	ExpectedCommand        []string            `json:"expected_command"`
	ExpectedServiceAccount string              `json:"expected_service_account"`
	Args                   []string            `json:"args"`
	Environment            map[string]string   `json:"environment"`
	RequireSuspended       *bool               `json:"require_suspended"`
	TimeoutSeconds         int                 `json:"timeout_seconds"`
	FailedSuccessorLimit   int                 `json:"failed_successor_limit"`
	RetryEnvironments      []map[string]string `json:"retry_environments"`
}

// errCrash is what the scripted cluster panics with where the reference was
// killed.
var errCrash = "the process was killed here"

func (s scenario) run(t *testing.T) {
	folder := filepath.Join(workFolder(t), "work")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range s.Retained {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cluster := newScript(s.Steps)
	synctest.Test(t, func(t *testing.T) {
		crashed, result, err := s.execute(t, folder, cluster)
		switch {
		case s.Expect.Outcome == "crashed":
			if !crashed {
				t.Errorf("the run ended with %v, want a crash", err)
			}
		case s.Expect.Outcome == "succeeded" && err == nil:
			if result.Execution.Name != s.Expect.JobName && result.Successor == 0 {
				t.Errorf("the Job is %s, want %s", result.Execution.Name, s.Expect.JobName)
			}
			if have := result.Execution.Digest.String(); have != s.Expect.ExecutionDigest && result.Successor == 0 {
				t.Errorf("the execution digest is %s, want %s", have, s.Expect.ExecutionDigest)
			}
		default:
			checkCode(t, err, s.Expect.Code)
		}
	})
	if cluster.creates != s.Expect.Creates {
		t.Errorf("%d creates were sent, want %d", cluster.creates, s.Expect.Creates)
	}
	checkFiles(t, folder, s.Expect.Files)
}

// execute runs the engine on the real work folder as the reference's caller
// would.
func (s scenario) execute(t *testing.T, folder string, cluster *script) (crashed bool, result oneshot.Result, err error) {
	plan, err := s.plan()
	if err != nil {
		return false, oneshot.Result{}, err
	}
	store, err := checkpoint.OpenFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if p := recover(); p != nil {
			if p != errCrash {
				panic(p)
			}
			crashed = true
		}
	}()
	engine := &oneshot.Engine{Cluster: cluster, Store: store, Now: func() time.Time { return s.Now }}
	result, err = engine.Run(t.Context(), plan)
	return false, result, err
}

func (s scenario) plan() (oneshot.Plan, error) {
	object, err := contract.ParseObject(s.Context)
	if err != nil {
		return oneshot.Plan{}, err
	}
	pinned, err := contract.ReadContext(object)
	if err != nil {
		return oneshot.Plan{}, err
	}
	q := contract.Request{
		Command: s.Call.ExpectedCommand, Args: s.Call.Args, Environment: s.Call.Environment,
		RequireSuspended: s.Call.RequireSuspended,
	}
	for _, field := range []struct {
		text  string
		label *contract.Label
	}{
		{"fdai-runtime", &q.Namespace}, {s.Call.TemplateName, &q.Template}, {s.Call.Purpose, &q.Purpose},
		{s.Call.ExpectedServiceAccount, &q.ServiceAccount}, {s.Call.ExpectedContainerName, &q.Container},
	} {
		if *field.label, err = contract.ParseLabel(field.text); err != nil {
			return oneshot.Plan{}, failure.New(failure.ConfigInvalid, "%w", err)
		}
	}
	if q.Image, err = contract.ParseImage(s.Call.ExpectedImage); err != nil {
		return oneshot.Plan{}, failure.New(failure.ConfigInvalid, "%w", err)
	}
	if q.Pins, err = pinned.Pins(q.Template, q.Namespace, q.ServiceAccount); err != nil {
		return oneshot.Plan{}, err
	}
	return oneshot.Plan{
		Request:    q,
		Successors: s.Call.FailedSuccessorLimit, SuccessorEnvironments: s.Call.RetryEnvironments,
		Timeout: time.Duration(s.Call.TimeoutSeconds) * time.Second,
	}, nil
}

// checkFiles compares the work folder with what the reference left there: the
// same names and the same content, and for what was written by us the same
// bytes (canonical JSON and a newline).
func checkFiles(t *testing.T, folder string, want map[string]json.RawMessage) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if entry.Name() == ".checkpoint.lock" {
			continue
		}
		names = append(names, entry.Name())
		data, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		expected, ok := want[entry.Name()]
		if !ok {
			t.Errorf("the work folder has %s, which the reference did not leave", entry.Name())
			continue
		}
		sameJSON(t, entry.Name(), object(t, data), object(t, expected))
	}
	for name := range want {
		if !slices.Contains(names, name) {
			t.Errorf("the work folder lacks %s", name)
		}
	}
}

// workFolder returns a folder that passes the ownership rules.
func workFolder(t *testing.T) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return folder
}
