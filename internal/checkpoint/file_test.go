package checkpoint

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

const job = "fdai-inventory-aaaaaaaaaaaaaaaa"

func TestFolderKeepsRecords(t *testing.T) {
	t.Parallel()
	path := workFolder(t) + "/a/work"
	b := Bind(execution(job))
	ctx := t.Context()
	func() {
		f, err := OpenFolder(path)
		if err != nil {
			t.Fatal(err)
		}
		if f.Path() != path {
			t.Errorf("Path is %s, want %s", f.Path(), path)
		}
		defer func() {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}()
		if records, err := f.Load(ctx, job); err != nil || len(records) != 0 {
			t.Errorf("a new folder holds %v (error %v)", records, err)
		}
		for _, r := range allRecords(t, b) {
			for range 2 { // the second time it is there already
				if err := f.Put(ctx, job, r); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := f.Put(ctx, "fdai-other", Bind(execution("fdai-other")).Manifest()); err != nil {
			t.Fatal(err)
		}
	}()
	want := []string{job + ".dispatch-ambiguous.json", job + ".dispatch-intent.json", job + ".dispatched.json",
		job + ".json", job + ".prepared.json", job + ".terminal.json", "fdai-other.json"}
	if have := slices.Sorted(maps.Keys(files(t, path))); !slices.Equal(have, want) {
		t.Errorf("the folder holds %v, want %v", have, want)
	}
	records, err := openFolder(t, path).Load(ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != len(Steps()) {
		t.Errorf("loaded %d records, want %d", len(records), len(Steps()))
	}
	for _, r := range allRecords(t, b) {
		if !records[r.Step].Equal(r) {
			t.Errorf("%s is loaded as %v", r.Step, records[r.Step])
		}
	}
}

func TestPutTakesEqualContentInAnyFormat(t *testing.T) {
	t.Parallel()
	f := openFolder(t, workFolder(t))
	r := Record{Step: Prepared, Content: contract.Object{"a": 1, "b": []any{"é"}}}
	const spelt = "\n{ \"b\": [\"é\"],\n  \"a\": 1}\n\n"
	writeFile(t, f.Path()+"/e.prepared.json", spelt)
	if err := f.Put(t.Context(), "e", r); err != nil {
		t.Error(err)
	}
	if have := files(t, f.Path())["e.prepared.json"]; have != spelt {
		t.Errorf("the file was changed to %q", have)
	}
}

func TestPutRefusesOtherContent(t *testing.T) {
	t.Parallel()
	b := Bind(execution(job))
	for name, c := range map[string]struct {
		step   Step
		change func(contract.Object)
		field  string
		says   []string
		hides  string
	}{
		"a value": {Prepared, func(o contract.Object) { o["execution_digest"] = "other" }, "#execution_digest",
			[]string{`the retained record has "other", this execution has "aaaa`}, ""},
		"a field too many": {Prepared, func(o contract.Object) { o["extra"] = nil }, "#extra", []string{"has null"}, ""},
		"a field too few":  {Prepared, func(o contract.Object) { delete(o, "state") }, "#state", []string{"has null", `"prepared"`}, ""},
		"the digest only": {Prepared, func(o contract.Object) { o["checkpoint_digest"] = "0" }, "#checkpoint_digest",
			[]string{`has "0"`}, ""},
		"another time": {Intent, func(o contract.Object) { o["recorded_at"] = "2026-01-01T00:00:00Z"; reseal(t, o) }, "#recorded_at",
			[]string{`"2026-01-01T00:00:00Z"`, `"2026-09-27T12:00:00Z"`}, ""},
		"a deep value": {Terminal, func(o contract.Object) {
			o["terminal_evidence"].(map[string]any)["conditions"].([]any)[0].(map[string]any)["reason"] = "no\n::error::reason"
		}, "#terminal_evidence.conditions[0].reason", []string{`"no\n::error::reason"`}, ""},
		"an environment value": {Manifest, func(o contract.Object) {
			container(o)["env"].([]any)[0].(map[string]any)["value"] = "sensitive"
		}, "#spec.template.spec.containers[0].env[0].value", []string{"the retained manifest record is not the one that this execution would write"}, "sensitive"},
		"an environment entry too many": {Manifest, func(o contract.Object) {
			container(o)["env"] = append(container(o)["env"].([]any), "sensitive")
		}, "#spec.template.spec.containers[0].env", nil, "sensitive"},
		"an object that is none": {Manifest, func(o contract.Object) { o["spec"] = "sensitive" }, "#spec", nil, "sensitive"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := openFolder(t, workFolder(t))
			changed := decoded(t, record(t, b, c.step))
			c.change(changed.Content)
			data, err := changed.Encode()
			if err != nil {
				t.Fatal(err)
			}
			file := FileName(job, c.step)
			writeFile(t, f.Path()+"/"+file, string(data))
			before := files(t, f.Path())
			err = f.Put(t.Context(), job, record(t, b, c.step))
			wantFailure(t, err, failure.CheckpointDiffers, file+c.field, c.says...)
			for _, secret := range []string{c.hides, "kept-out-of-messages"} {
				if secret != "" && strings.Contains(err.Error(), secret) {
					t.Errorf("the failure tells an environment value: %v", err)
				}
			}
			if diff := cmp.Diff(before, files(t, f.Path())); diff != "" {
				t.Errorf("the folder was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestPutRefusesWhatItCouldNotLoad(t *testing.T) {
	t.Parallel()
	f := openFolder(t, workFolder(t))
	for name, r := range map[string]Record{
		"too large":   {Step: Manifest, Content: contract.Object{"a": strings.Repeat("x", maxRecordBytes)}},
		"no form":     {Step: Manifest, Content: contract.Object{"a": make(chan int)}},
		"no step":     {Step: "", Content: contract.Object{}},
		"a wrong one": {Step: "../x", Content: contract.Object{}},
	} {
		if err := f.Put(t.Context(), job, r); failure.CodeOf(err) != failure.CheckpointStoreFailed {
			t.Errorf("%s: got %v, want checkpoint-store-failed", name, err)
		}
	}
	largest := Record{Step: Manifest, Content: contract.Object{"a": strings.Repeat("x", maxRecordBytes-len("{\"a\":\"\"}\n"))}}
	if err := f.Put(t.Context(), "largest", largest); err != nil {
		t.Error(err)
	}
	if records, err := f.Load(t.Context(), "largest"); err != nil || !records[Manifest].Equal(largest) {
		t.Errorf("the largest record cannot be loaded: %v", err)
	}
	if have := files(t, f.Path()); len(have) != 1 {
		t.Errorf("the folder holds %d files, want the largest alone", len(have))
	}
}

func TestExecutionNames(t *testing.T) {
	t.Parallel()
	f := openFolder(t, workFolder(t)+"/work")
	for _, name := range []string{"", ".", "..", "../x", "a/b", "a.b", "A", "a\x00", strings.Repeat("a", 64)} {
		_, loadErr := f.Load(t.Context(), name)
		putErr := f.Put(t.Context(), name, Record{Step: Prepared, Content: contract.Object{}})
		for _, err := range []error{loadErr, putErr} {
			wantFailure(t, err, failure.CheckpointStoreFailed, "execution", "is not a DNS label")
		}
	}
	if have := files(t, f.Path()); len(have) != 0 {
		t.Errorf("the folder holds %v", have)
	}
}

func TestCancelledContext(t *testing.T) {
	t.Parallel()
	f := openFolder(t, workFolder(t))
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("the runner said stop")
	cancel(stopped)
	_, loadErr := f.Load(ctx, job)
	putErr := f.Put(ctx, job, record(t, Bind(execution(job)), Intent))
	for _, err := range []error{loadErr, putErr} {
		if !errors.Is(err, stopped) || failure.CodeOf(err) != "" || !strings.Contains(err.Error(), f.Path()) {
			t.Errorf("got %v, want the context's cause without a code", err)
		}
	}
	if have := files(t, f.Path()); len(have) != 0 {
		t.Errorf("the folder holds %v", have)
	}
}

func TestClosedFolder(t *testing.T) {
	t.Parallel()
	f, err := OpenFolder(workFolder(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	_, loadErr := f.Load(t.Context(), job)
	for what, err := range map[string]error{
		"Load":  loadErr,
		"Put":   f.Put(t.Context(), job, record(t, Bind(execution(job)), Intent)),
		"Close": f.Close(),
	} {
		if !errors.Is(err, os.ErrClosed) && !errors.Is(err, unix.EBADF) || failure.CodeOf(err) != failure.CheckpointStoreFailed {
			t.Errorf("%s: got %v, want checkpoint-store-failed for a closed folder", what, err)
		}
	}
}

func container(manifest contract.Object) map[string]any {
	pod := manifest["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	return pod["containers"].([]any)[0].(map[string]any)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
