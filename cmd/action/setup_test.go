package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/aks-oneshot/aks-oneshot/internal/config"
	"github.com/aks-oneshot/aks-oneshot/internal/host"
)

const federationPage = docs + "federation.md"

// languages are those of the fences around files.
var languages = map[string]string{"sh": "sh", "yaml": "yaml", "tf": "hcl", "bicep": "bicep"}

// fileMark stands where a page shows a file.
var fileMark = regexp.MustCompile(`(?s)(<!-- ([a-z/.-]+)\.([a-z]+): made by a test -->\n).*?(<!-- end of [a-z/.-]+ -->\n)`)

// What the page shows is the file, byte for byte, as tables are made.
func TestFederationPageHasTheFilesAndTables(t *testing.T) {
	t.Parallel()
	have := readFile(t, federationPage)
	shown := 0
	want := fileMark.ReplaceAllStringFunc(have, func(block string) string {
		m := fileMark.FindStringSubmatch(block)
		begin, name, suffix, end := m[1], m[2], m[3], m[4]
		shown++
		if end != "<!-- end of "+name+"."+suffix+" -->\n" {
			t.Errorf("the block of %s.%s ends with %s", name, suffix, end)
		}
		return begin + "\n```" + languages[suffix] + "\n" + readFile(t, docs+name+"."+suffix) + "```\n\n" + end
	})
	if shown != 5 {
		t.Errorf("the page shows %d files", shown)
	}
	compareFile(t, federationPage, want)
}

// The Role that people apply is the one that a run needs and tells of.
func TestSetupGrantsTheRole(t *testing.T) {
	t.Parallel()
	const placeholder = "OBJECT_ID"
	if have := readFile(t, docs+"setup/namespace.yaml"); have != grant(placeholder) {
		t.Errorf("docs/setup/namespace.yaml is not what a refused run tells people to apply:\n%s", have)
	}
}

// The page's workflow signs in to Azure and asks for its cluster.
func TestFederationPageWorkflowIsValid(t *testing.T) {
	t.Parallel()
	found := 0
	for _, block := range yamlBlocks(readFile(t, federationPage)) {
		var w workflow
		if err := yaml.Unmarshal([]byte(block), &w); err != nil {
			continue // Several documents, or another system's jobs.
		}
		for _, job := range w.Jobs {
			for _, step := range job.Steps {
				if !strings.HasPrefix(step.Uses, "aks-oneshot/aks-oneshot@") {
					continue
				}
				found++
				env := map[string]string{}
				for name, value := range step.With {
					env["INPUT_"+strings.ToUpper(name)] = fmt.Sprint(value)
				}
				expectAzure(t, config.AuthGitHub, env, nil)
			}
		}
	}
	if found != 1 {
		t.Errorf("the page shows %d workflows", found)
	}
}

// The pipeline takes from its task who it is, as Azure Pipelines says it.
func TestPipelineIsValid(t *testing.T) {
	t.Parallel()
	var pipeline struct {
		Jobs []struct {
			Strategy struct {
				RunOnce struct {
					Deploy struct {
						Steps []struct {
							Task   string            `json:"task"`
							Inputs map[string]string `json:"inputs"`
							Env    map[string]string `json:"env"`
						} `json:"steps"`
					} `json:"deploy"`
				} `json:"runOnce"`
			} `json:"strategy"`
		} `json:"jobs"`
	}
	if err := yaml.Unmarshal([]byte(readFile(t, docs+"azure-pipelines.yaml")), &pipeline); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, job := range pipeline.Jobs {
		for _, step := range job.Strategy.RunOnce.Deploy.Steps {
			if step.Task != "AzureCLI@2" {
				continue
			}
			found++
			if step.Env["SYSTEM_ACCESSTOKEN"] != "$(System.AccessToken)" || step.Inputs["azureSubscription"] == "" {
				t.Errorf("the step has env %v and inputs %v", step.Env, step.Inputs)
			}
			command, args, _ := strings.Cut(step.Inputs["inlineScript"], " run ")
			if !strings.HasSuffix(command, `/aks-oneshot"`) {
				t.Errorf("the script begins with %s", command)
			}
			var expanded []string
			for _, arg := range strings.Fields(args) {
				for name, value := range step.Env {
					arg = strings.ReplaceAll(arg, `"$`+name+`"`, value)
				}
				expanded = append(expanded, arg)
			}
			expectAzure(t, config.AuthAzurePipelines, map[string]string{
				"AZURESUBSCRIPTION_TENANT_ID":             "66666666-7777-8888-9999-aaaaaaaaaaaa",
				"AZURESUBSCRIPTION_CLIENT_ID":             "cccccccc-dddd-eeee-ffff-000000000000",
				"AZURESUBSCRIPTION_SERVICE_CONNECTION_ID": "abcdef01-2345-6789-abcd-ef0123456789",
			}, expanded)
		}
	}
	if found != 1 {
		t.Errorf("the pipeline has %d steps that run a Job", found)
	}
}

func expectAzure(t *testing.T, auth string, env map[string]string, args []string) {
	t.Helper()
	// The reader's own context is not here.
	const theirs, ours = "deploy/context.json", "testdata/context.json"
	for name, value := range env {
		env[name] = strings.ReplaceAll(value, theirs, ours)
	}
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, theirs, ours)
	}
	getenv := func(key string) string { return env[key] }
	c, err := config.Read(config.Source{Args: args, Lookup: host.Env(getenv), Getenv: getenv, Auth: auth, Workflow: auth == config.AuthGitHub, Artifacts: auth == config.AuthGitHub})
	if err != nil {
		t.Error(err)
	}
	a := c.Azure
	if a == nil || a.Auth != auth || a.AuthGiven || a.ClientID == "" || a.TenantID == "" ||
		a.ResourceGroup != "example-rg" || a.Cluster != "example" || (a.ServiceConnection != "") != (auth == config.AuthAzurePipelines) {
		t.Errorf("signs in with %+v", a)
	}
	expectWork(t, c.Plan)
}
