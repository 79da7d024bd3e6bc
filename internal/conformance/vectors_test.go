package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

var passed, failed atomic.Int64

func TestMain(m *testing.M) {
	code := m.Run()
	if n := passed.Load() + failed.Load(); n > 0 {
		fmt.Printf("vectors: %d passed, %d failed\n", passed.Load(), failed.Load())
	}
	os.Exit(code)
}

// TestVectors runs every vector there is, each as a subtest.
func TestVectors(t *testing.T) {
	folder := os.Getenv("ONESHOT_VECTORS")
	if folder == "" {
		folder = "testdata"
	}
	units := readUnits(t, filepath.Join(folder, "units.json"))
	scenarios := readScenarios(t, filepath.Join(folder, "scenarios.jsonl"))
	if len(units.Canonical) == 0 || len(units.TemplateDigest) == 0 || len(units.IdentityBinding) == 0 ||
		len(units.TerminalState) == 0 || len(scenarios) == 0 {
		t.Fatalf("a part of the vectors in %s is empty", folder)
	}
	units.run(t)
	for _, s := range scenarios {
		vector(t, "scenario/"+s.Name, s.run)
	}
}

// vector runs one vector as a subtest and counts how it ended.
func vector(t *testing.T, name string, check func(*testing.T)) {
	t.Helper()
	if t.Run(name, check) {
		passed.Add(1)
	} else {
		failed.Add(1)
	}
}

func readUnits(t *testing.T, path string) units {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var u units
	if err := json.Unmarshal(data, &u); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return u
}

func readScenarios(t *testing.T, path string) []scenario {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []scenario
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var s scenario
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, s)
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return all
}
