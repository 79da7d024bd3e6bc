// Package archtest holds the packages to the direction of their dependencies:
// inward, from the adapters to the engine to the contract. Only the command
// knows everybody.
package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/aks-oneshot/aks-oneshot/"

// layers says what of ours each package may import, by path below the module.
// A pattern that ends with /... stands for a package and those below it. A
// package that is not here has to be put here: that is where its place is
// decided.
var layers = map[string][]string{
	"internal/escape":               nil,
	"internal/failure":              nil,
	"internal/private":              nil,
	"internal/secret":               nil,
	"internal/contract":             {"internal/failure"},
	"internal/checkpoint":           {"internal/contract", "internal/failure", "internal/private"},
	"internal/oneshot":              {"internal/contract", "internal/checkpoint", "internal/failure"},
	"internal/checkpoint/artifact":  {"internal/checkpoint", "internal/checkpoint/bundle", "internal/escape", "internal/failure", "internal/network", "internal/secret"},
	"internal/checkpoint/bundle":    {"internal/checkpoint"},
	"internal/checkpoint/cache":     {"internal/checkpoint", "internal/checkpoint/bundle", "internal/escape", "internal/failure", "internal/network", "internal/secret"},
	"internal/checkpoint/composite": {"internal/checkpoint", "internal/failure"},
	"internal/checkpoint/configmap": {"internal/checkpoint", "internal/contract", "internal/failure", "internal/oneshot"},
	"internal/config":               {"internal/checkpoint", "internal/contract", "internal/failure", "internal/oneshot"},
	"internal/kubeconfig":           {"internal/failure"},
	"internal/network":              nil,
	"internal/cluster":              {"internal/contract", "internal/escape", "internal/failure", "internal/kubeconfig", "internal/network", "internal/oneshot", "internal/secret"},
	"internal/azure":                {"internal/escape", "internal/failure", "internal/kubeconfig", "internal/network", "internal/secret"},
	"internal/host":                 {"internal/escape"},
	"internal/host/github":          {"internal/host", "internal/escape", "internal/failure", "internal/network", "internal/secret"},
	"internal/host/terminal":        {"internal/host", "internal/contract", "internal/secret"},
	"internal/report":               {"internal/contract", "internal/escape", "internal/failure", "internal/oneshot"},
	"cmd/action":                    {"internal/..."},
	// Tests only.
	"internal/archtest":               nil,
	"internal/conformance":            nil,
	"internal/host/github/runnertest": nil,
	"test/standin":                    nil,
}

// forbidden says what else a package may not import, with everything below it.
// The contract is pure: no input or output, no clock, nothing random, so that
// the same objects always mean the same. The engine speaks through interfaces.
var forbidden = map[string][]string{
	"internal/failure": {"os", "net", "time", "k8s.io"},
	"internal/contract": {"os", "io/fs", "io/ioutil", "net", "syscall", "log", "bufio", "embed", "crypto/rand", "math/rand",
		"runtime", "unsafe", "plugin", "context", "sync", "k8s.io", "golang.org"},
	"internal/checkpoint": {"net", "k8s.io"},
	"internal/oneshot":    {"net", "os", "io/fs", "syscall", "k8s.io"},
	"internal/config":     {"net", "os/exec", "k8s.io"},
	"internal/report":     {"net", "os", "io/fs", "k8s.io"},
	"internal/host":       {"net", "k8s.io"},
	"internal/private":    {"net", "k8s.io"},
}

// goPackage is what of `go list -json` the tests look at.
type goPackage struct {
	ImportPath string
	GoFiles    []string
	Imports    []string
	Deps       []string
	Dir        string
}

func TestDependenciesPointInward(t *testing.T) {
	t.Parallel()
	packages := list(t)
	for name := range layers {
		if _, ok := packages[name]; !ok {
			t.Errorf("%s is in the layers and not in the tree", name)
		}
	}
	for name, p := range packages {
		allowed, known := layers[name]
		if !known {
			t.Errorf("%s has no layer", name)
			continue
		}
		for _, imported := range p.Imports {
			ours, ok := strings.CutPrefix(imported, module)
			if ok && !slices.ContainsFunc(allowed, func(pattern string) bool { return below(pattern, ours) }) {
				t.Errorf("%s imports %s, may import %v", name, ours, allowed)
			}
		}
		for _, prefix := range forbidden[name] {
			for _, imported := range p.Imports {
				if imported == prefix || strings.HasPrefix(imported, prefix+"/") {
					t.Errorf("%s imports %s", name, imported)
				}
			}
		}
	}
}

// time is for durations and parsing in the contract; a digest that depended on
// the clock would be another one tomorrow.
func TestContractHasNoClock(t *testing.T) {
	t.Parallel()
	p := list(t)["internal/contract"]
	for _, file := range p.GoFiles {
		source, err := os.ReadFile(path.Join(p.Dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{"time.Now", "time.Since", "time.Until", "time.After", "time.Sleep", "time.NewTimer", "time.Tick"} {
			if strings.Contains(string(source), call+"(") {
				t.Errorf("%s calls %s", file, call)
			}
		}
	}
}

// The typed clientset and everything of Kubernetes it brings would be most of
// the binary.
func TestTheProgramStaysSmall(t *testing.T) {
	t.Parallel()
	for _, dep := range list(t)["cmd/action"].Deps {
		for _, prefix := range []string{"k8s.io/client-go/kubernetes", "k8s.io/client-go/informers", "k8s.io/api/", "k8s.io/kubectl", "testing"} {
			if strings.HasPrefix(dep, prefix) {
				t.Errorf("the program holds %s", dep)
			}
		}
	}
}

func below(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == prefix || strings.HasPrefix(name, prefix+"/")
	}
	return name == pattern
}

// list returns every package of the module by its path below it.
func list(t *testing.T) map[string]goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,GoFiles,Imports,Deps,Dir", module+"...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := map[string]goPackage{}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages[strings.TrimPrefix(p.ImportPath, module)] = p
	}
}
