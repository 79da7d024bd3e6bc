package e2e

import (
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// TestStoresByDefault: where records go when nobody says so, and that a run on
// another machine resumes from there.
func TestStoresByDefault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// at makes the step one of a system; again makes the next run one on another
		// machine.
		at     func(s *scene)
		again  func(s *scene)
		stores string
		from   string
	}{
		"github": {
			func(s *scene) { s.keep("auto") },
			func(s *scene) { s.rerun(standin.RerunAll) }, "artifact", "artifact, attempt 1",
		},
		"github-enterprise-cloud": {
			func(s *scene) {
				s.keep("auto")
				s.Stores.Change(func(o *standin.StoresOptions) { o.ServerURL = "https://acme.ghe.com" })
				s.In(s.Stores.NextRun())
			},
			func(s *scene) { s.rerun(standin.RerunAll) }, "artifact", "artifact, attempt 1",
		},
		"github-enterprise-server": {
			func(s *scene) {
				s.keep("auto")
				s.Stores.Change(func(o *standin.StoresOptions) { o.ServerURL = "https://github.acme.example" })
				s.In(s.Stores.NextRun())
			},
			func(s *scene) { s.rerun(standin.RerunAll) }, "cluster", "cluster, attempt 1",
		},
		"github-without-services": {func(*scene) {}, (*scene).elsewhere, "cluster", "cluster, attempt 1"},
		"shell":                   {func(s *scene) { s.System = harness.Shell }, (*scene).elsewhere, "cluster", "cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := set(t, harness.Template{TTL: 1})
			c.at(s)
			s.inCluster = c.stores == "cluster"
			delete(s.Inputs, "checkpoint-stores")
			first := s.run()
			s.expect(first, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, resumedFrom: is(""), stored: is("true")})
			job := first.Outputs["job-name"]
			s.gone(job)
			c.again(s)
			second := s.run()
			s.expect(second, want{outcome: "succeeded", resumed: true, records: asReplayed, created: 1, resumedFrom: is(c.from), stored: is("true")})
			for _, e := range []harness.Ended{first, second} {
				if have := e.Outputs["checkpoint-stores"]; have != c.stores {
					t.Errorf("the records are kept in %q, want %q", have, c.stores)
				}
			}
			if there := s.configMap(job) != nil; there != (c.stores == "cluster") {
				t.Errorf("there is a ConfigMap: %t", there)
			}
		})
	}
}

// TestStoresThatCannotBe: where the runner does not say enough of the run, nobody can
// say which store an earlier attempt chose; and where no service keeps artifacts they
// are not to be had. Both are told before anything is asked or stored, with what helps.
func TestStoresThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stores, serverURL, unset string
		says                     []string
	}{
		"auto, no run id":             {"auto", "", "GITHUB_RUN_ID", []string{"GITHUB_RUN_ID is not set", "give checkpoint-stores"}},
		"auto, no attempt":            {"auto", "", "GITHUB_RUN_ATTEMPT", []string{"GITHUB_RUN_ATTEMPT is not set", "give checkpoint-stores"}},
		"artifact, no repository":     {"artifact", "", "GITHUB_REPOSITORY", []string{"GITHUB_REPOSITORY is not set"}},
		"artifact, no service":        {"artifact", "", "ACTIONS_RESULTS_URL", []string{"ACTIONS_RESULTS_URL", "give cluster"}},
		"artifact, Enterprise Server": {"artifact", "https://github.acme.example", "", []string{"no service that keeps artifacts of version 4 on https://github.acme.example", "Give cluster"}},
		"artifact beside the cluster": {"artifact,cluster", "https://github.acme.example", "", []string{"no service that keeps artifacts of version 4", "Give cluster"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := keep(t, harness.Template{}, c.stores)
			if c.serverURL != "" {
				s.Stores.Change(func(o *standin.StoresOptions) { o.ServerURL = c.serverURL })
				s.In(s.Stores.NextRun())
			}
			if c.unset != "" {
				s.Env[c.unset] = ""
			}
			s.expect(s.run(), want{outcome: "invalid", reason: "config-invalid", says: append(c.says, "checkpoint-stores"), resumedFrom: is(""), stored: is("false")})
			if n := s.Stores.Count(); n != 0 || len(s.requests()) != 0 {
				t.Errorf("%d requests went to GitHub and %d to the cluster", n, len(s.requests()))
			}
			// What helps where all else does.
			s.Inputs["checkpoint-stores"], s.inCluster = "cluster", true
			s.expect(s.run(), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, stored: is("true")})
		})
	}
}

// TestStoresWithSignIn: the whole chain, as a workflow has it: an id token, Entra,
// Azure Resource Manager, the API server, and the records in both stores.
func TestStoresWithSignIn(t *testing.T) {
	t.Parallel()
	s := signIn(t, harness.Template{}).keep("artifact,cluster").signed()
	s.args("sleep 1s")
	run := s.start()
	run.until("created Job")
	run.kill()
	s.rerun(standin.RerunAll)
	e := s.run()
	s.expect(e, want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1, stored: is("true")})
	s.expectKnownAs(s.User)
	for _, store := range []string{"artifact", "cluster"} {
		if !s.hasStep(store, e.Outputs["job-name"], "terminal") {
			t.Errorf("%s does not have the end", store)
		}
	}
}

// TestStoresPipelines: from Azure Pipelines, where there is no GitHub, by way of
// the cluster.
func TestStoresPipelines(t *testing.T) {
	t.Parallel()
	s := signIn(t, harness.Template{})
	s.Azure.FromPipelines()
	s.inCluster = true
	delete(s.Inputs, "checkpoint-stores")
	first := s.run()
	s.expect(first, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, stored: is("true")})
	s.elsewhere()
	s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asReplayed, created: 1, resumedFrom: is("cluster"), stored: is("true")})
	s.Inputs["checkpoint-stores"] = "artifact"
	e := s.run()
	s.expect(e, want{outcome: "invalid", reason: "config-invalid", created: 1})
	if !strings.Contains(e.Log(), "a service for the jobs of a GitHub workflow, and this is none") {
		t.Errorf("the log does not say why:\n%s", e.Log())
	}
}

// TestStoresInTheSummary: where records are is told to people and to the steps that
// follow.
func TestStoresInTheSummary(t *testing.T) {
	t.Parallel()
	s := keep(t, harness.Template{}, "cluster, artifact")
	e := s.run()
	job := e.Outputs["job-name"]
	s.expect(e, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, resumedFrom: is(""), stored: is("true")})
	if have := e.Outputs["checkpoint-stores"]; have != "artifact,cluster" {
		t.Errorf("output checkpoint-stores is %q", have)
	}
	for _, a := range s.Stores.Artifacts() {
		text := `"name":"` + a.Name + `","id":`
		if !strings.Contains(e.Outputs["checkpoint-artifacts"], text) {
			t.Errorf("%s is not in the output %s", a.Name, e.Outputs["checkpoint-artifacts"])
		}
	}
	if len(s.artifacts()) != 3 {
		t.Errorf("the artifacts are %q", s.artifacts())
	}
	object := s.configMap(job)
	annotations, _ := harness.Member(object, "metadata", "annotations").(map[string]any)
	if run, _ := annotations["aks-oneshot/run"].(string); !strings.Contains(run, "/actions/runs/") || annotations["aks-oneshot/attempt"] != "1" {
		t.Errorf("the annotations of the ConfigMap are %v", annotations)
	}
	s.rerun(standin.RerunFailed)
	e = s.run()
	s.expect(e, want{outcome: "succeeded", resumed: true, records: asReplayed, created: 1, resumedFrom: is("artifact, attempt 1")})
	if !strings.Contains(e.Summary, "artifact, attempt 1") {
		t.Errorf("the summary does not say where the run resumed from:\n%s", e.Summary)
	}
}
