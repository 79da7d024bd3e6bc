package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/aks-oneshot/aks-oneshot/internal/config"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
	"github.com/aks-oneshot/aks-oneshot/internal/report"
)

// With -update the tests here write what they would compare: action.yml and the
// blocks of README.md between marks.
var update = flag.Bool("update", false, "write action.yml and the tables in README.md")

const (
	actionFile = "../../action.yml"
	readme     = "../../README.md"
)

func TestActionYAMLIsMadeOfTheTables(t *testing.T) {
	t.Parallel()
	compareFile(t, actionFile, actionYAML())
}

// The other direction: what a runner reads is what the tables say.
func TestActionYAMLReadsAsTheTables(t *testing.T) {
	t.Parallel()
	type input struct {
		Description string `json:"description"`
		Required    bool   `json:"required"`
		Default     string `json:"default"`
	}
	type output struct {
		Description string `json:"description"`
	}
	var action struct {
		Name        string            `json:"name"`
		Description string            `json:"description"`
		Author      string            `json:"author"`
		Branding    map[string]string `json:"branding"`
		Inputs      map[string]input  `json:"inputs"`
		Outputs     map[string]output `json:"outputs"`
		Runs        map[string]string `json:"runs"`
	}
	if err := yaml.UnmarshalStrict([]byte(readFile(t, actionFile)), &action); err != nil {
		t.Fatal(err)
	}
	inputs, outputs := map[string]input{}, map[string]output{}
	for _, in := range config.Inputs() {
		inputs[in.Name] = input{in.Description, in.Required, in.ActionDefault()}
	}
	for _, out := range report.OutputDocs() {
		outputs[out.Name] = output{out.Description}
	}
	if diff := cmp.Diff(inputs, action.Inputs); diff != "" {
		t.Errorf("inputs (-table +action.yml)\n%s", diff)
	}
	if diff := cmp.Diff(outputs, action.Outputs); diff != "" {
		t.Errorf("outputs (-table +action.yml)\n%s", diff)
	}
	want := map[string]string{"using": "docker", "image": "Dockerfile", "entrypoint": "/usr/local/bin/aks-oneshot"}
	if diff := cmp.Diff(want, action.Runs); diff != "" {
		t.Errorf("runs (-want +action.yml)\n%s", diff)
	}
	// GitHub lists an action under its name and shows at most 125 characters.
	if action.Name == "" || action.Description == "" || len(action.Description) > 125 || action.Branding["icon"] == "" {
		t.Errorf("name %q, description %q, branding %v", action.Name, action.Description, action.Branding)
	}
}

// actionYAML writes down what GitHub reads of the action.
func actionYAML() string {
	var b strings.Builder
	b.WriteString(`# Inputs and outputs are declared in internal/config and internal/report; after a
# change there: go test ./cmd/action -run Tables -update
name: aks-oneshot
description: Runs one Kubernetes Job on an AKS cluster at most once, from a reviewed CronJob, and resumes when re-run.
author: The aks-oneshot authors
branding:
  icon: play-circle
  color: blue

inputs:
`)
	for _, in := range config.Inputs() {
		fmt.Fprintf(&b, "  %s:\n    description: %s\n", in.Name, folded(in.Description))
		if in.Required {
			b.WriteString("    required: true\n")
		}
		if in.ActionDefault() != "" {
			fmt.Fprintf(&b, "    default: '%s'\n", in.ActionDefault())
		}
	}
	b.WriteString("\noutputs:\n")
	for _, out := range report.OutputDocs() {
		fmt.Fprintf(&b, "  %s:\n    description: %s\n", out.Name, folded(out.Description))
	}
	b.WriteString("\nruns:\n  using: docker\n  image: Dockerfile\n  entrypoint: /usr/local/bin/aks-oneshot\n")
	return b.String()
}

// folded returns text as a folded YAML block, in which nothing is special.
func folded(text string) string {
	return ">-\n" + strings.TrimSuffix(wrap(text, "      "), "\n")
}

func TestREADMEHasTheTables(t *testing.T) {
	t.Parallel()
	have := readFile(t, readme)
	want := have
	for _, block := range []struct{ name, content string }{
		{"context", contextBlock(t)},
		{"inputs", inputsTable()},
		{"outputs", outputsTable()},
		{"statuses", statusesTable()},
		{"failures", failuresTable()},
		{"role", "```yaml\n" + role + "```\n"},
	} {
		begin, end := "<!-- "+block.name+": made by a test -->\n", "<!-- end of "+block.name+" -->\n"
		before, rest, found := strings.Cut(want, begin)
		_, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Errorf("README.md has no block between %q and %q", begin, end)
			continue
		}
		want = before + begin + "\n" + block.content + "\n" + end + after
	}
	compareFile(t, readme, want)
}

// Every code, status and name is in a table once; that there are no others in
// the README follows from the tables being whole.
func TestTablesAreWhole(t *testing.T) {
	t.Parallel()
	for _, o := range []oneshot.Outcome{
		oneshot.Succeeded, oneshot.Failed, oneshot.Invalid, oneshot.Refused, oneshot.Unknown, oneshot.Cancelled,
	} {
		if n := strings.Count(statusesTable(), "| `"+string(o)+"` |"); n != 1 {
			t.Errorf("%s is in the table of exit statuses %d times", o, n)
		}
	}
	if n := len(outcomes); n != 6 {
		t.Errorf("the table of exit statuses has %d rows", n)
	}
	seen := map[failure.Code]bool{}
	for _, m := range failure.Meanings() {
		if seen[m.Code] || m.Means == "" || m.Do == "" {
			t.Errorf("%s: told twice, or without meaning or advice", m.Code)
		}
		seen[m.Code] = true
	}
	names := map[string]bool{}
	for _, out := range report.Outputs(oneshot.Result{}, nil, report.Facts{}) {
		names[out.Name] = true
	}
	for _, doc := range report.OutputDocs() {
		if !names[doc.Name] {
			t.Errorf("output %s is described and never set", doc.Name)
		}
		delete(names, doc.Name)
	}
	if len(names) > 0 {
		t.Errorf("set and not described: %v", names)
	}
}

func inputsTable() string {
	rows := []string{"| Input | Default | What it is |", "| --- | --- | --- |"}
	for _, in := range config.Inputs() {
		fallback := ""
		switch {
		case in.Required:
			fallback = "*required*"
		case in.ActionDefault() != "":
			fallback = "`" + in.ActionDefault() + "`"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |", in.Name, fallback, in.Description))
	}
	return strings.Join(rows, "\n") + "\n"
}

func outputsTable() string {
	rows := []string{"| Output | What it holds |", "| --- | --- |"}
	for _, out := range report.OutputDocs() {
		rows = append(rows, fmt.Sprintf("| `%s` | %s |", out.Name, out.Description))
	}
	return strings.Join(rows, "\n") + "\n"
}

func statusesTable() string {
	rows := []string{"| Status | `outcome` | What it means |", "| --- | --- | --- |"}
	for _, o := range outcomes {
		rows = append(rows, fmt.Sprintf("| %d | `%s` | %s |", report.ExitStatus(o.outcome), o.outcome, o.means))
	}
	return strings.Join(rows, "\n") + "\n"
}

func failuresTable() string {
	rows := []string{"| Code | What it means | What to do |", "| --- | --- | --- |"}
	for _, m := range failure.Meanings() {
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |", m.Code, m.Means, m.Do))
	}
	return strings.Join(rows, "\n") + "\n"
}

// compareFile fails when a file is not as it should be, or writes it.
func compareFile(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, readFile(t, path)); diff != "" {
		t.Errorf("%s (-want +have); write it with: go test ./cmd/action -run Tables -update\n%s", path, diff)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
