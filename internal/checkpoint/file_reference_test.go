package checkpoint

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// referenceFolder is a work folder as the reference left it, before and after
// one of its runs: the exact bytes of each file.
type referenceFolder struct {
	Name     string
	Now      time.Time
	Code     failure.Code
	Retained map[string]string
	Files    map[string]string
}

func referenceFolders(t *testing.T) []referenceFolder {
	t.Helper()
	data, err := os.ReadFile("testdata/folders.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []referenceFolder
	for line := range bytes.Lines(data) {
		var f referenceFolder
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

// TestReferenceFolders opens folders that the reference wrote and does in each
// what a run does: put the manifest and the prepared record, load, validate,
// and record what follows. What is in the folder afterwards is, byte for byte,
// what the reference had there after its own run.
func TestReferenceFolders(t *testing.T) {
	t.Parallel()
	all := referenceFolders(t)
	truth := referenceExecutions(t, all)
	differ := 0
	for _, c := range all {
		if c.Code == failure.CheckpointDiffers {
			differ++
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			path := workFolder(t)
			for name, content := range c.Retained {
				writeFile(t, path+"/"+name, content)
			}
			f := openFolder(t, path)
			err := error(nil)
			for _, name := range slices.Sorted(maps.Keys(truth)) {
				if _, there := c.Files[name+".json"]; there && err == nil {
					err = resume(t, f, Bind(truth[name]), c)
				}
			}
			if c.Code == failure.CheckpointDiffers {
				if failure.CodeOf(err) != c.Code {
					t.Errorf("got %v, want checkpoint-differs", err)
				}
			} else if err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(c.Files, files(t, path)); diff != "" {
				t.Errorf("the folder is not the reference's (-want +have):\n%s", diff)
			}
		})
	}
	if differ < 5 || len(all)-differ < 5 {
		t.Errorf("testdata has %d folders, %d of them tampered with: too few to tell anything", len(all), differ)
	}
}

// resume does with one execution what a run does with the store, and takes what
// the cluster would have said from what the reference recorded.
func resume(t *testing.T, f *Folder, b Binding, c referenceFolder) error {
	t.Helper()
	ctx := t.Context()
	name := b.execution.Name
	prepared := record(t, b, Prepared)
	for _, r := range []Record{b.Manifest(), prepared} {
		if err := f.Put(ctx, name, r); err != nil {
			return err
		}
	}
	records, err := f.Load(ctx, name)
	if err != nil {
		return err
	}
	for step, r := range records {
		data, err := r.Encode()
		if err != nil {
			return err
		}
		if want := c.Files[FileName(name, step)]; string(data) != want {
			t.Errorf("%s is loaded as %s, the file holds %s", step, data, want)
		}
	}
	if _, err := b.Validate(records, c.Now); err != nil {
		return err
	}
	for _, step := range []Step{Intent, Dispatched, Ambiguous, Terminal} {
		text, there := c.Files[FileName(name, step)]
		if !there {
			continue
		}
		own, err := rebuilt(t, b, step, text)
		if err != nil {
			return err
		}
		if err := f.Put(ctx, name, own); err != nil {
			return err
		}
	}
	return nil
}

// rebuilt builds the record of a step from what its file says that does not
// follow from the execution.
func rebuilt(t *testing.T, b Binding, step Step, text string) (Record, error) {
	t.Helper()
	content, err := contract.ParseObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var at time.Time
	if s, ok := content["recorded_at"].(string); ok {
		if at, err = time.Parse(time.RFC3339Nano, s); err != nil {
			t.Fatal(err)
		}
	}
	switch step {
	case Intent:
		return b.Intent(at)
	case Dispatched:
		return b.Dispatched()
	case Ambiguous:
		return b.Ambiguous(at)
	default:
		outcome, _ := content["outcome"].(string)
		evidence, _ := content["terminal_evidence"].(map[string]any)
		return b.Terminal(contract.State(outcome), evidence)
	}
}

// referenceExecutions returns the executions that the folders are about, from
// the runs of the reference that started with nothing.
func referenceExecutions(t *testing.T, all []referenceFolder) map[string]contract.Execution {
	t.Helper()
	digest := func(v any) contract.Digest {
		text, _ := v.(string)
		d, err := contract.ParseDigest(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	parsed := func(text string) contract.Object {
		content, err := contract.ParseObject([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	executions := map[string]contract.Execution{}
	for _, c := range all {
		if c.Code == failure.CheckpointDiffers {
			continue
		}
		for file, text := range c.Files {
			name, isManifest := strings.CutSuffix(file, ".json")
			terminal, ended := c.Files[name+".terminal.json"]
			if !isManifest || strings.Contains(name, ".") || !ended {
				continue
			}
			manifest := parsed(text)
			annotations := manifest["metadata"].(map[string]any)["annotations"].(map[string]any)
			manifestDigest, err := contract.DigestOf(manifest)
			if err != nil {
				t.Fatal(err)
			}
			executions[name] = contract.Execution{
				Name: name, Manifest: manifest, ManifestDigest: manifestDigest,
				Digest:         digest(annotations["fdai.io/execution-digest"]),
				TemplateDigest: digest(annotations["fdai.io/template-digest"]),
				BindingDigest:  digest(annotations["fdai.io/identity-binding-digest"]),
				ContractDigest: digest(parsed(terminal)["observed_job_contract_digest"]),
			}
		}
	}
	if len(executions) < 2 {
		t.Fatalf("testdata has %d executions, want one and its successor", len(executions))
	}
	return executions
}
