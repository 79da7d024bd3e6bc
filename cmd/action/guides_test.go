package main

import (
	"encoding/base64"
	"encoding/pem"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/contract.md lists what a digest is over: every field of the projection,
// by name, and none besides.
func TestContractPageHasTheControlledFields(t *testing.T) {
	t.Parallel()
	source := readFile(t, "../../internal/contract/fields.go")
	var controlled []string
	for _, m := range regexp.MustCompile(`(?m)^\t+"([A-Za-z]+)": |out\["([a-z]+)"\] =|\{"(labels)": labels, "(annotations)"`).FindAllStringSubmatch(source, -1) {
		for _, name := range m[1:] {
			if name != "" {
				controlled = append(controlled, name)
			}
		}
	}
	if len(controlled) < 70 || !slices.Contains(controlled, "annotations") || !slices.Contains(controlled, "hostPID") {
		t.Fatalf("found %d fields in the source: %q", len(controlled), controlled)
	}
	page := readFile(t, "../../docs/contract.md")
	_, lists, _ := strings.Cut(page, "## Of the CronJob\n")
	lists, _, _ = strings.Cut(lists, "The order of `env`")
	var listed []string
	for item := range strings.SplitSeq(lists, "\n- ") {
		item, _, _ = strings.Cut(item, "\n\n") // what follows a list is prose
		for _, m := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(item, -1) {
			listed = append(listed, m[1])
		}
	}
	for _, name := range controlled {
		if !slices.Contains(listed, name) {
			t.Errorf("%s is controlled and not in docs/contract.md", name)
		}
	}
	for _, name := range listed {
		if !slices.Contains(controlled, name) {
			t.Errorf("%s is in docs/contract.md and not controlled", name)
		}
	}
}

// The kubeconfig that its page has people make is one that a run takes.
func TestKubeconfigPageIsTaken(t *testing.T) {
	t.Parallel()
	_, made, found := strings.Cut(readFile(t, "../../docs/kubeconfig.md"), " <<EOF\n")
	made, _, closed := strings.Cut(made, "EOF\n")
	if !found || !closed {
		t.Fatal("the page has no kubeconfig")
	}
	server := newAPIServer(t, complete)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	s := newStep(t, server)
	s.env["INPUT_KUBECONFIG"] = ""
	s.env["INPUT_KUBECONFIG-CONTENT"] = strings.NewReplacer("$SERVER", server.URL,
		"$CA", base64.StdEncoding.EncodeToString(ca), "$TOKEN", token).Replace(made)
	s.run(t.Context(), t).expect(t, 0, "outcome", "succeeded")
}

// A folder that is not private has two ways out only where it is the work folder,
// which is created; a kubeconfig has to be there.
func TestAFolderThatIsNotPrivateHasTheAdviceOfItsInput(t *testing.T) {
	t.Parallel()
	const created = "does not exist yet is created"
	for input, want := range map[string]bool{"INPUT_KUBECONFIG": false, "INPUT_WORK-DIR": true} {
		t.Run(input, func(t *testing.T) {
			t.Parallel()
			s := newStep(t, newAPIServer(t, complete))
			folder := s.env[input]
			if input == "INPUT_KUBECONFIG" {
				folder = filepath.Dir(folder)
			} else if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			e := s.run(t.Context(), t)
			e.expect(t, 2, "outcome", "invalid", "namespace", "fdai-runtime")
			e.expectError(t, "config-invalid", "Make it private (chmod 0700 "+folder+")")
			if strings.Contains(e.log, created) != want {
				t.Errorf("told of creation: %t, want %t\n%s", !want, want, e.log)
			}
		})
	}
}

// What the README says of running work again on purpose: of a failed execution a
// re-run repeats the failure, and each of the three changes makes one more Job.
func TestFailedWorkIsRunAgainOnPurposeOnly(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, failed)
	s := newStep(t, server)
	for i, next := range []struct {
		name, value string
		creates     int
	}{
		{"INPUT_TIMEOUT", "2m", 1}, // the first run
		{"INPUT_TIMEOUT", "3m", 1},
		{"INPUT_RETRIES", "1", 2},
		{"INPUT_TIMEOUT", "4m", 2},
		{"INPUT_RETRIES", "0", 2},
		{"INPUT_ENV", "PROGRESS_RUN_ID=2026-12-01", 3},
		{"INPUT_PURPOSE", "inventory-2", 4},
		{"INPUT_TIMEOUT", "5m", 4},
	} {
		s.env[next.name] = next.value
		if next.name == "INPUT_RETRIES" {
			s.env["INPUT_RETRY-ENV"] = strings.Repeat(`[{"PROGRESS_RUN_ID":"again"}]`, int(next.value[0]-'0'))
		}
		before := server.creates()
		e := s.run(t.Context(), t)
		dispatched := "false"
		if next.creates > before {
			dispatched = "true"
		}
		e.expect(t, 1, "outcome", "failed", "reason", "job-failed", "dispatched", dispatched)
		if have := server.creates(); have != next.creates {
			t.Fatalf("run %d, with %s=%s: %d Jobs were created, want %d", i+1, next.name, next.value, have, next.creates)
		}
		if err := os.Remove(s.env["GITHUB_OUTPUT"]); err != nil {
			t.Fatal(err)
		}
		server.mu.Lock()
		server.job = nil // its TTL is over
		server.mu.Unlock()
	}
}
