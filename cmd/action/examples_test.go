package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/aks-oneshot/aks-oneshot/internal/config"
	"github.com/aks-oneshot/aks-oneshot/internal/host"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// workflow is what of a workflow the tests look at.
type workflow struct {
	Jobs map[string]struct {
		Steps []struct {
			Uses string            `json:"uses"`
			With map[string]any    `json:"with"`
			Env  map[string]string `json:"env"`
			Run  string            `json:"run"`
		} `json:"steps"`
	} `json:"jobs"`
}

// The workflows in the README are for pasting: their inputs have to make a plan.
func TestREADMEWorkflowsAreValid(t *testing.T) {
	t.Parallel()
	found := map[string]int{}
	for _, block := range yamlBlocks(readFile(t, readme)) {
		var w workflow
		if err := yaml.Unmarshal([]byte(block), &w); err != nil {
			t.Fatalf("%v in\n%s", err, block)
		}
		for _, job := range w.Jobs {
			for _, step := range job.Steps {
				switch {
				case strings.HasPrefix(step.Uses, "aks-oneshot/aks-oneshot@"):
					found["uses"]++
					env := map[string]string{}
					for name, value := range step.With {
						env["INPUT_"+strings.ToUpper(name)] = fmt.Sprint(value)
					}
					expectPlan(t, env, nil)
				case strings.HasPrefix(step.Run, "aks-oneshot run "):
					found["run"]++
					expectPlan(t, step.Env, strings.Fields(step.Run)[2:])
				}
			}
		}
	}
	if found["uses"] == 0 || found["run"] == 0 {
		t.Errorf("the README shows %v", found)
	}
}

func expectPlan(t *testing.T, env map[string]string, args []string) {
	t.Helper()
	for name, value := range env {
		// The reader's own context is not here, nor what the runner fills in.
		env[name] = strings.ReplaceAll(value, "deploy/context.json", "testdata/context.json")
	}
	getenv := func(key string) string { return env[key] }
	c, err := config.Read(config.Source{Args: args, Lookup: host.Env(getenv), Getenv: getenv, Auth: config.AuthGitHub, Workflow: true, Artifacts: args == nil})
	if err != nil {
		t.Error(err)
	}
	expectWork(t, c.Plan)
}

// expectWork expects the work that all examples have. Were one of them other work,
// to go from one example to the next would dispatch it again.
func expectWork(t *testing.T, p oneshot.Plan) {
	t.Helper()
	q := p.Request
	have := []string{
		q.Template.String(), q.Purpose.String(), q.Container.String(), q.ServiceAccount.String(), q.Image.String(),
		strings.Join(q.Command, " "), strings.Join(q.Args, " "), fmt.Sprint(q.Environment), fmt.Sprint(q.RequireSuspended != nil && *q.RequireSuspended),
	}
	want := []string{
		"inventory", "inventory", "inventory", "inventory-job", "example.azurecr.io/app@sha256:" + strings.Repeat("c", 64),
		"python -m example.sync", "--initial", "map[PROGRESS_RUN_ID:genesis]", "true",
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("another example's work (-want +have)\n%s", diff)
	}
}

// The Role that people are told to grant is what a whole run asks for, all of
// it and nothing else.
func TestRoleIsWhatARunAsksFor(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	newStep(t, server).run(t.Context(), t).expect(t, 0)
	var granted struct {
		Rules []struct {
			Resources []string `json:"resources"`
			Verbs     []string `json:"verbs"`
		} `json:"rules"`
	}
	data, err := yaml.YAMLToJSONStrict([]byte(role))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &granted); err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{}
	for _, rule := range granted.Rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				allowed[verb+" "+resource] = true
			}
		}
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	asked := map[string]bool{}
	for _, request := range server.requests {
		asked[request] = true
		if !allowed[request] {
			t.Errorf("a run asks to %s, the Role does not allow it", request)
		}
	}
	seldom := map[string]string{
		"list jobs":         "after a watch that has become too old",
		"get configmaps":    "after a create or an update that somebody else came before",
		"delete configmaps": "of records whose time is over",
	}
	for request := range allowed {
		if !asked[request] && seldom[request] == "" {
			t.Errorf("the Role allows to %s, a run never does", request)
		}
	}
}

func yamlBlocks(text string) (blocks []string) {
	for {
		_, rest, found := strings.Cut(text, "```yaml\n")
		if !found {
			return blocks
		}
		block, after, _ := strings.Cut(rest, "```\n")
		blocks, text = append(blocks, block), after
	}
}
