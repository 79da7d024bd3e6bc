package main

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint/bundle"
	"github.com/aks-oneshot/aks-oneshot/internal/config"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/host"
	"github.com/aks-oneshot/aks-oneshot/internal/report"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

const storesPage = docs + "stores.md"

// The record that the page shows is one that the reference wrote, as tables are made.
func TestStoresPageHasTheRecordAndTables(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- record: made by a test -->\n", "<!-- end of record -->\n"
	first, _, _ := strings.Cut(readFile(t, "../../internal/checkpoint/testdata/folders.jsonl"), "\n")
	var folder struct {
		Files map[string]string `json:"files"`
	}
	if err := json.Unmarshal([]byte(first), &folder); err != nil {
		t.Fatal(err)
	}
	var record bytes.Buffer
	for name, text := range folder.Files {
		if strings.HasSuffix(name, "."+string(checkpoint.Intent)+".json") {
			if err := json.Indent(&record, []byte(text), "", "  "); err != nil {
				t.Fatal(err)
			}
		}
	}
	have := readFile(t, storesPage)
	before, rest, found := strings.Cut(have, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed || record.Len() == 0 {
		t.Fatalf("the page has no block for a record, or there is none: %s", record.String())
	}
	compareFile(t, storesPage, before+begin+"\n```json\n"+strings.TrimSpace(record.String())+"\n```\n\n"+end+after)
}

// The steps on the page are for pasting, and their conditions about outputs that
// there are.
func TestStoresPageStepsAreValid(t *testing.T) {
	t.Parallel()
	outputs := map[string]bool{}
	for _, doc := range report.OutputDocs() {
		outputs[doc.Name] = true
	}
	uses, asks := 0, 0
	page := readFile(t, storesPage)
	for _, block := range yamlBlocks(page) {
		var steps []struct {
			Uses string         `json:"uses"`
			With map[string]any `json:"with"`
		}
		if err := yaml.Unmarshal([]byte(block), &steps); err != nil {
			continue // What a job may do.
		}
		for _, step := range steps {
			if !strings.HasPrefix(step.Uses, "aks-oneshot/aks-oneshot@") {
				continue
			}
			uses++
			env := map[string]string{}
			for name, value := range step.With {
				text := strings.ReplaceAll(fmt.Sprint(value), "deploy/context.json", "testdata/context.json")
				env["INPUT_"+strings.ToUpper(name)] = strings.ReplaceAll(text, "${{ secrets.CHECKPOINT_KEY }}", strings.Repeat("k", checkpoint.MinKeyLength))
			}
			getenv := func(key string) string { return env[key] }
			c, err := config.Read(config.Source{Lookup: host.Env(getenv), Getenv: getenv, Auth: config.AuthGitHub, Workflow: true, Artifacts: true})
			if err != nil {
				t.Error(err)
			}
			if c.Checkpoints.Key == "" || len(c.Checkpoints.Stores) != 3 {
				t.Errorf("the step keeps records in %v", c.Checkpoints.Stores)
			}
			expectWork(t, c.Plan)
		}
	}
	for _, m := range regexp.MustCompile(`steps\.job\.outputs\.([a-z-]+)`).FindAllStringSubmatch(page, -1) {
		asks++
		if !outputs[m[1]] {
			t.Errorf("there is no output %s", m[1])
		}
	}
	if uses != 1 || asks < 2 {
		t.Errorf("the page shows %d steps, which ask for %d outputs", uses, asks)
	}
}

// The matrix on the page has the work of every example on each cluster, and a
// target of each.
func TestStoresPageMatrixHasATargetOfEachCluster(t *testing.T) {
	t.Parallel()
	const cluster = "${{ matrix.cluster }}"
	found := 0
	for _, block := range yamlBlocks(readFile(t, storesPage)) {
		if !strings.Contains(block, "matrix:") {
			continue
		}
		var w workflow
		if err := yaml.Unmarshal([]byte(block), &w); err != nil {
			t.Fatal(err)
		}
		for _, step := range w.Jobs["sync"].Steps {
			if !strings.HasPrefix(step.Uses, "aks-oneshot/aks-oneshot@") {
				continue
			}
			names, bindings := map[string]bool{}, map[string]bool{}
			for i, region := range []string{"westeurope", "northeurope"} {
				context := filepath.Join(t.TempDir(), "context.json")
				binding := strings.Repeat(strconv.Itoa(i), 64)
				text := regexp.MustCompile(`"target_binding": "[0-9a-f]+"`).ReplaceAllString(readFile(t, "testdata/context.json"), `"target_binding": "`+binding+`"`)
				if err := os.WriteFile(context, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				env := map[string]string{}
				for name, value := range step.With {
					text := strings.ReplaceAll(fmt.Sprint(value), cluster, region)
					env["INPUT_"+strings.ToUpper(name)] = strings.ReplaceAll(text, "deploy/"+region+"/context.json", context)
				}
				getenv := func(key string) string { return env[key] }
				c, err := config.Read(config.Source{Lookup: host.Env(getenv), Getenv: getenv, Auth: config.AuthGitHub, Workflow: true, Artifacts: true})
				if err != nil {
					t.Fatal(err)
				}
				expectWork(t, c.Plan)
				names[env["INPUT_CLUSTER-NAME"]] = true
				bindings[c.Plan.Request.Pins.TargetBinding.String()] = true
				found++
			}
			if len(names) != 2 || len(bindings) != 2 {
				t.Errorf("the clusters are %v, the targets %v", names, bindings)
			}
		}
	}
	if found != 2 {
		t.Errorf("the page shows work on %d clusters", found)
	}
}

// What the page says of a new certificate authority: the ConfigMap is taken, the work
// folder is refused until the file that says whose it is was removed.
func TestRecordsAreResumedUnderANewAuthority(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	s := newStep(t, server)
	first := s.run(t.Context(), t)
	first.expect(t, 0, "outcome", "succeeded", "dispatched", "true", "checkpoint-stores", "cluster")
	server.mu.Lock()
	server.job = nil // its TTL is over
	server.mu.Unlock()

	authority, err := standin.NewAuthority("the next one")
	if err != nil {
		t.Fatal(err)
	}
	rotated := regexp.MustCompile(`"certificate-authority-data":"([^"]+)"`).ReplaceAllStringFunc(server.kubeconfig(), func(member string) string {
		old, err := base64.StdEncoding.DecodeString(strings.Split(member, `"`)[3])
		if err != nil {
			t.Fatal(err)
		}
		return `"certificate-authority-data":"` + base64.StdEncoding.EncodeToString(append(old, authority.PEM...)) + `"`
	})
	if err := os.WriteFile(s.env["INPUT_KUBECONFIG"], []byte(rotated), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := s.env["INPUT_WORK-DIR"]
	next := func(folder string) ended {
		s.env["INPUT_WORK-DIR"] = folder
		if err := os.Remove(s.env["GITHUB_OUTPUT"]); err != nil {
			t.Fatal(err)
		}
		return s.run(t.Context(), t)
	}
	next(filepath.Join(s.folder, "elsewhere")).expect(t, 0, "outcome", "succeeded", "resumed", "true", "resumed-from", "cluster, attempt 1", "checkpoints-stored", "true")
	e := next(folder)
	e.expect(t, 3, "outcome", "refused", "reason", "checkpoint-differs", "dispatched", "false")
	e.expectError(t, "checkpoint-differs", "on another cluster", "two clusters, give each a target-binding of its own", "docs/stores.md says how to resume")
	if err := os.Remove(filepath.Join(folder, "cluster."+first.outputs["job-name"])); err != nil {
		t.Fatal(err)
	}
	next(folder).expect(t, 0, "outcome", "succeeded", "resumed", "true", "resumed-from", "work-dir", "checkpoints-stored", "true")
	if n := server.creates(); n != 1 {
		t.Errorf("%d Jobs were created", n)
	}
}

// What the page has people look for is what there is.
func TestStoresPageNamesWhatIsStored(t *testing.T) {
	t.Parallel()
	page := readFile(t, storesPage)
	for file, pattern := range map[string]string{
		"../../internal/checkpoint/configmap/object.go": `(?m)^\t(?:managedByLabel|cronJobLabel|namePrefix|managedBy|storedByPrefix) += "([^"]+)"$`,
		"../../internal/checkpoint/cache/cache.go":      `keyPrefix += "([^"]+)"`,
		"../../internal/checkpoint/bundle/bundle.go":    `sealSuffix += "([^"]+)"`,
		"../../internal/checkpoint/key.go":              `(?m)^\t(?:cluster|code)Part += "([^"]+)"$`,
	} {
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(readFile(t, file), -1)
		if len(found) == 0 {
			t.Errorf("%s names nothing", file)
		}
		for _, m := range found {
			if !strings.Contains(page, m[1]) {
				t.Errorf("%s: %q is not on the page", file, m[1])
			}
		}
	}
	for _, step := range checkpoint.SharedSteps() {
		if !strings.Contains(page, "| `"+string(step)+"` | ") {
			t.Errorf("the page does not tell what %s means", step)
		}
	}
	for _, store := range []string{config.StoreArtifact, config.StoreCluster, config.StoreCache} {
		if strings.Count(page, "\n| `"+store+"` | ") < 3 {
			t.Errorf("%s is missing in a table of the page", store)
		}
	}
}

// How long is waited for what, in the words of the page.
func TestStoresPageHasTheTimes(t *testing.T) {
	t.Parallel()
	page := strings.Join(strings.Fields(readFile(t, storesPage)), " ")
	source := readFile(t, "../../internal/oneshot/overtaken.go")
	for _, limit := range []string{"freshness = 5 * time.Second", "reading = absenceMargin", "maxReadings = 4"} {
		if !strings.Contains(source, "\t"+limit+"\n") {
			t.Errorf("it is not so that %s", limit)
		}
	}
	for _, want := range []string{
		"within five seconds of what was read**, and within a minute of when the reading began",
		"after the fourth reading it refuses",
		fmt.Sprintf("for %v seconds at most", limits.storing.Seconds()),
		fmt.Sprintf("for %v seconds after the run was told to stop, and for %v after its time is over", storingStopped.Seconds(), storingLate.Seconds()),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// How long an intent that only some stores took can be resumed is the TTL in its
// record without the margin of the engine, wherever people read of it.
func TestHowLongAnIntentIsGoodFor(t *testing.T) {
	t.Parallel()
	page := readFile(t, storesPage)
	ttl := regexp.MustCompile(`"job_ttl_seconds": (\d+)`).FindStringSubmatch(page)
	margin := regexp.MustCompile(`(?m)^\tabsenceMargin = time\.Minute$`).FindString(readFile(t, "../../internal/oneshot/execution.go"))
	if ttl == nil || margin == "" {
		t.Fatalf("the TTL is %q, the margin %q", ttl, margin)
	}
	seconds, err := strconv.Atoi(ttl[1])
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("within %d minutes of", seconds/60-1)
	texts := map[string]string{"docs/stores.md": page}
	for _, m := range failure.Meanings() {
		if m.Code == failure.CheckpointStoreFailed {
			texts["the code's advice"] = m.Do
		}
	}
	for where, text := range texts {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not say %q", where, want)
		}
	}
	if len(texts) != 2 {
		t.Error("the code has no advice")
	}
}

// Artifacts that a person unpacks into a work folder are records that a run takes,
// though the manifest is not among them.
func TestUnpackedArtifactsAreAWorkFolder(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	s := newStep(t, server)
	s.env["INPUT_CHECKPOINT-STORES"] = "none"
	e := s.run(t.Context(), t)
	e.expect(t, 0, "outcome", "succeeded", "resumed", "false")
	job := e.outputs["job-name"]

	records := filepath.Join(s.folder, "unpacked")
	if err := os.Mkdir(records, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, steps := range [][]checkpoint.Step{{checkpoint.Prepared, checkpoint.Intent}, {checkpoint.Dispatched}, {checkpoint.Terminal}} {
		var documents []checkpoint.Document
		for _, step := range steps {
			data := readFile(t, filepath.Join(s.env["INPUT_WORK-DIR"], job+"."+string(step)+".json"))
			documents = append(documents, checkpoint.Document{Step: step, Data: []byte(data)})
		}
		data, err := bundle.Pack(job, documents)
		if err != nil {
			t.Fatal(err)
		}
		unpackInto(t, records, data)
	}
	s.env["INPUT_WORK-DIR"] = records
	if err := os.Remove(s.env["GITHUB_OUTPUT"]); err != nil {
		t.Fatal(err)
	}
	server.mu.Lock()
	server.job = nil // its TTL is over
	server.mu.Unlock()
	s.run(t.Context(), t).expect(t, 0, "outcome", "succeeded", "resumed", "true", "dispatched", "false")
	if n := server.creates(); n != 1 {
		t.Errorf("%d Jobs were created", n)
	}
}

// unpackInto unpacks a zip as a person would, with the modes that it says.
func unpackInto(t *testing.T, folder string, data []byte) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range r.File {
		in, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(file.Name)), content, file.Mode()); err != nil {
			t.Fatal(err)
		}
	}
}
