package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/aks-oneshot/aks-oneshot/internal/config"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

const exampleFile = "../../docs/example.yaml"

// pinArgs are the flags that belong to docs/example.yaml.
var pinArgs = []string{
	"--target-binding=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
	"--tenant-id=66666666-7777-8888-9999-AAAAAAAAAAAA",
	"--subscription-id=11111111-2222-3333-4444-555555555555",
	"--identity-client-id", "bbbbbbbb-cccc-dddd-eeee-ffffffffffff",
	"--identity-resource-id=/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/example-rg/providers/Microsoft.ManagedIdentity/userAssignedIdentities/inventory-work",
}

// runPin runs the program's pin and expects it to end with a status, and to
// print on standard output only with 0.
func runPin(ctx context.Context, t *testing.T, want int, args []string, stdin io.Reader) (stdout, stderr string) {
	t.Helper()
	var out, log safeBuffer
	if status := realMain(ctx, append([]string{"pin"}, args...), none, stdin, &out, &log); status != want {
		t.Fatalf("status %d, want %d: %s", status, want, log.String())
	}
	if (out.String() == "") != (want != 0) {
		t.Errorf("status %d and on standard output: %s", want, out.String())
	}
	return out.String(), log.String()
}

// The example is for pasting: it can be pinned as it is, and a run with its pins
// gets its Job.
func TestExampleIsPinnedAndDerived(t *testing.T) {
	t.Parallel()
	example := exampleObjects(t)
	printed, _ := runPin(t.Context(), t, 0, pinArgs, bytes.NewReader(example["CronJob"]))

	object := parseObject(t, []byte(printed))
	reviewed, err := contract.ReadContext(object)
	if err != nil {
		t.Fatal(err)
	}
	if have := reviewed.SourceCommit.String(); have != strings.Repeat("a", 40) {
		t.Errorf("the context has the commit %s", have)
	}
	// The inputs that a user gives beside the context, from the README's workflow.
	file := filepath.Join(t.TempDir(), "context.json")
	if err := os.WriteFile(file, []byte(printed), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Read(config.Source{Getenv: none, Lookup: func(string) (string, bool) { return "", false }, Args: []string{
		"--kubeconfig=/kubeconfig", "--context-file=" + file, "--cronjob=inventory", "--purpose=inventory",
		"--container=inventory", "--service-account=inventory-job", `--command=["python","-m","example.sync"]`,
		"--image=example.azurecr.io/app@sha256:" + strings.Repeat("c", 64), "--require-suspended=true",
	}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := contract.Derive(parseObject(t, example["CronJob"]), parseObject(t, example["ServiceAccount"]), c.Plan.Request)
	if err != nil {
		t.Fatal(err)
	}
	if e.Namespace != "fdai-runtime" || !strings.HasPrefix(e.Name, "fdai-inventory-") {
		t.Errorf("the execution is %s in %s", e.Name, e.Namespace)
	}
}

// contextBlock is what the README shows of a context: what pin prints of the
// example, to the letter.
func contextBlock(t *testing.T) string {
	t.Helper()
	printed, _ := runPin(t.Context(), t, 0, pinArgs, bytes.NewReader(exampleObjects(t)["CronJob"]))
	return "```json\n" + printed + "```\n"
}

// What the reference pinned of the same CronJob is what pin prints.
func TestPinIsTheReferences(t *testing.T) {
	t.Parallel()
	theirs := slices.Clone(pinArgs)
	theirs[len(theirs)-1] = strings.Replace(theirs[len(theirs)-1], "/inventory-work", "/runner", 1)
	printed, _ := runPin(t.Context(), t, 0, theirs, strings.NewReader(readFile(t, "testdata/cronjob.json")))
	want := parseObject(t, []byte(readFile(t, "testdata/context.json")))
	delete(want, "kubeconfig")
	if diff := cmp.Diff(want, parseObject(t, []byte(printed))); diff != "" {
		t.Errorf("(-reference +pin)\n%s", diff)
	}
	if !strings.Contains(printed, "\n  \"source_commit\": ") {
		t.Errorf("not indented:\n%s", printed)
	}
}

// changed returns a CronJob with another value at a path, or with none there.
func changed(t *testing.T, cronJob, path string, value any) string {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(cronJob), &object); err != nil {
		t.Fatal(err)
	}
	at, keys := object, strings.Split(path, "/")
	for _, key := range keys[:len(keys)-1] {
		if list, ok := at[key].([]any); ok {
			at = list[0].(map[string]any)
			continue
		}
		at = at[key].(map[string]any)
	}
	if last := keys[len(keys)-1]; value == nil {
		delete(at, last)
	} else {
		at[last] = value
	}
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What no run would refuse is pinned, and told on standard error.
func TestPinWarns(t *testing.T) {
	t.Parallel()
	cronJob := string(exampleObjects(t)["CronJob"])
	const ttl = "spec/jobTemplate/spec/ttlSecondsAfterFinished"
	for name, c := range map[string]struct {
		stdin  string
		expect []string
	}{
		"nothing": {cronJob, nil},
		"no TTL":  {changed(t, cronJob, ttl, nil), []string{"spec.jobTemplate.spec.ttlSecondsAfterFinished: is missing"}},
		"less":    {changed(t, cronJob, ttl, 60), []string{"spec.jobTemplate.spec.ttlSecondsAfterFinished: is 60, and the records say 3600"}},
		"plain kubectl apply": {changed(t, cronJob, "metadata/annotations", map[string]any{lastApplied: "{}\n", "a": "b"}),
			[]string{"metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]: is pinned", "annotate cronjob NAME -n fdai-runtime kubectl.kubernetes.io/last-applied-configuration-"}},
		"both": {changed(t, changed(t, cronJob, ttl, 0), "metadata/annotations", map[string]any{lastApplied: ""}), []string{"is 0, and", "last-applied"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr := runPin(t.Context(), t, 0, pinArgs, strings.NewReader(c.stdin))
			if (stderr == "") != (len(c.expect) == 0) || strings.Contains(stdout, "warning") {
				t.Errorf("told: %q", stderr)
			}
			for _, want := range c.expect {
				if !strings.Contains(stderr, want) {
					t.Errorf("%q is not in: %s", want, stderr)
				}
			}
		})
	}
}

func TestPinRefuses(t *testing.T) {
	t.Parallel()
	cronJob := string(exampleObjects(t)["CronJob"])
	const pod = "spec.jobTemplate.spec.template"
	change := func(path string, value any) string { return changed(t, cronJob, path, value) }
	only := "spec/jobTemplate/spec/template/spec/containers/"
	for name, c := range map[string]struct {
		args   []string
		stdin  string
		expect []string
	}{
		"no flags at all": {nil, cronJob, []string{"target-binding: is missing", "tenant-id: is missing", "subscription-id: is missing", "identity-client-id: is missing", "identity-resource-id: is missing"}},
		"a stray secret":  {append([]string{"hunter2", "--hunter2=x"}, pinArgs...), cronJob, []string{"argument 1: is no flag", "argument 2: is no flag"}},
		"a flag twice":    {append([]string{"--tenant-id=66666666-7777-8888-9999-aaaaaaaaaaaa"}, pinArgs...), cronJob, []string{"tenant-id: is given twice"}},
		"no digest":       {append([]string{"--target-binding=prod"}, pinArgs[1:]...), cronJob, []string{"target-binding: \"prod\" is not a SHA-256 digest"}},
		"an identity of another subscription": {append([]string{"--subscription-id=99999999-2222-3333-4444-555555555555"}, append(pinArgs[:2:2], pinArgs[3:]...)...), cronJob,
			[]string{"identity-resource-id: ", "is not a user-assigned managed identity of subscription"}},
		"nothing":               {pinArgs, " \n", []string{"standard input: is empty", "kubectl get cronjob"}},
		"no JSON":               {pinArgs, "apiVersion: batch/v1", []string{"standard input: is no JSON object"}},
		"too much":              {pinArgs, strings.Repeat(" ", maxCronJob+1), []string{"has more than 4194304 bytes"}},
		"a list":                {pinArgs, `{"apiVersion":"v1","kind":"List","items":[]}`, []string{"is no CronJob of batch/v1"}},
		"no commit":             {pinArgs, change("metadata/labels", nil), []string{"metadata.labels[fdai.io/source-commit]: "}},
		"another namespace":     {pinArgs, change("metadata/namespace", "default"), []string{`metadata.namespace: is "default"`}},
		"no label on the pod":   {pinArgs, change("spec/jobTemplate/spec/template/metadata/labels", map[string]any{}), []string{pod + ".metadata.labels[fdai.io/source-commit]: "}},
		"another account":       {pinArgs, change("spec/jobTemplate/spec/template/spec/serviceAccountName", "inventory"), []string{pod + `.spec.serviceAccountName: is "inventory"`, "inventory-job"}},
		"no env list":           {pinArgs, change(only+"env", nil), []string{pod + ".spec.containers[0].env: "}},
		"an empty env list":     {pinArgs, change(only+"env", []any{}), []string{pod + ".spec.containers[0].env: "}},
		"no command":            {pinArgs, change(only+"command", nil), []string{pod + ".spec.containers[0].command: is missing"}},
		"an image by tag":       {pinArgs, change(only+"image", "example.azurecr.io/app:latest"), []string{pod + ".spec.containers[0].image: "}},
		"no backoffLimit":       {pinArgs, change("spec/jobTemplate/spec/backoffLimit", nil), []string{"spec.jobTemplate.spec.backoffLimit: must be a count"}},
		"too long a deadline":   {pinArgs, change("spec/jobTemplate/spec/activeDeadlineSeconds", 3600), []string{"spec.jobTemplate.spec.activeDeadlineSeconds: must be an integer from 1 to 1800"}},
		"several pods at once":  {pinArgs, change("spec/jobTemplate/spec/parallelism", 2), []string{"spec.jobTemplate.spec.parallelism: must be 1"}},
		"no containers":         {pinArgs, change("spec/jobTemplate/spec/template/spec/containers", []any{}), []string{".containers: must be a list of exactly one container"}},
		"a spec that is no map": {pinArgs, change("spec", "x"), []string{"serviceAccountName"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, stderr := runPin(t.Context(), t, 2, c.args, strings.NewReader(c.stdin))
			for _, want := range c.expect {
				if !strings.Contains(stderr, want) {
					t.Errorf("%q is not in: %s", want, stderr)
				}
			}
			if strings.Contains(stderr, "hunter2") || strings.Contains(stderr, "drift") {
				t.Errorf("told: %s", stderr)
			}
		})
	}
}

func TestPinThatIsCancelled(t *testing.T) {
	t.Parallel()
	stdin, writer := io.Pipe()
	defer func() { _ = writer.Close() }()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	if _, stderr := runPin(ctx, t, 130, pinArgs, stdin); !strings.Contains(stderr, "nothing was pinned") {
		t.Errorf("told: %s", stderr)
	}
}

// exampleObjects returns the objects of docs/example.yaml as JSON, by kind.
func exampleObjects(t *testing.T) map[string][]byte {
	t.Helper()
	objects := map[string][]byte{}
	for document := range strings.SplitSeq(readFile(t, exampleFile), "\n---\n") {
		data, err := yaml.YAMLToJSONStrict([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		kind, _ := parseObject(t, data)["kind"].(string)
		objects[kind] = data
	}
	if len(objects) != 3 || objects["Namespace"] == nil {
		t.Fatalf("%s has %d kinds of objects", exampleFile, len(objects))
	}
	return objects
}

func parseObject(t *testing.T, data []byte) contract.Object {
	t.Helper()
	object, err := contract.ParseObject(data)
	if err != nil {
		t.Fatal(err)
	}
	return object
}
