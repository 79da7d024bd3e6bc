package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// signingKey is the checkpoint-key of the tests that have one.
const signingKey = "a key of the tests, of more than thirty-two bytes"

// keep makes a scenario of its own for a test, as a job of a workflow on GitHub,
// whose records are kept in stores.
func keep(t *testing.T, template harness.Template, stores string) *scene {
	t.Helper()
	return set(t, template).keep(stores)
}

// keep has the scenario's records kept in stores, as the input names them.
func (s *scene) keep(stores string) *scene {
	s.t.Helper()
	k, err := s.Keep(standin.StoresOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := k.Close(); err != nil {
			s.t.Error(err)
		}
	})
	s.Inputs["checkpoint-stores"] = stores
	s.inCluster = strings.Contains(stores, "cluster")
	return s
}

// signed has the records signed.
func (s *scene) signed() *scene {
	s.Sign(signingKey)
	return s
}

// rerun makes the next run one of the workflow's next attempt, on another machine.
func (s *scene) rerun(how standin.Rerun) {
	s.t.Helper()
	if err := s.Rerun(how); err != nil {
		s.t.Fatal(err)
	}
}

// elsewhere makes the next run one on another machine.
func (s *scene) elsewhere() {
	s.t.Helper()
	if err := s.Move(); err != nil {
		s.t.Fatal(err)
	}
}

// asReplayed are the records on a machine that replays what stores have.
var asReplayed = []string{"", "terminal"}

// is is for outputs that are wanted.
func is(value string) *string { return &value }

// unstored is the title of the annotation on records that are not stored.
const unstored = "checkpoints-stored: false"

// expectUnstored holds what is said of records that are not stored together, and
// returns the other annotations of a kind.
func (s *scene) expectUnstored(kind string, e harness.Ended) []string {
	s.t.Helper()
	about, others := 0, []string{}
	for _, a := range e.Annotations(kind) {
		if strings.HasPrefix(a, unstored+"\n") {
			about++
		} else {
			others = append(others, a)
		}
	}
	if kind != "warning" {
		return others
	}
	for _, text := range s.warns {
		about := func(a string) bool { return strings.Contains(a, text) }
		if !slices.ContainsFunc(others, about) {
			s.t.Errorf("no warning says %q: %q", text, others)
		}
		others = slices.DeleteFunc(others, about)
	}
	section := strings.Contains(e.Summary, "Records that could not be stored")
	if about > 1 || about == 1 != section || about == 1 && e.Outputs["checkpoints-stored"] != "false" {
		s.t.Errorf("%d annotations say that records are not stored; in the summary: %t; the output: %s", about, section, e.Outputs["checkpoints-stored"])
	}
	return others
}

// artifacts are the names of the artifacts that are there, in order.
func (s *scene) artifacts() []string {
	var names []string
	for _, a := range s.Stores.Artifacts() {
		if a.Finalized && !a.Deleted {
			names = append(names, a.Name)
		}
	}
	slices.Sort(names)
	return names
}

// configMap returns the ConfigMap of a Job's records, nil when there is none.
func (s *scene) configMap(job string) harness.Object {
	s.t.Helper()
	object, err := s.World.API.Get(s.t.Context(), harness.ConfigMapPath(job))
	if err != nil && !harness.IsStatus(err, 404) {
		s.t.Fatal(err)
	}
	return object
}

// storedStep waits until each of the scenario's stores has a step of a Job.
func (s *scene) storedStep(job, step string) {
	s.t.Helper()
	s.eventually("the stores have "+step, func() bool {
		for _, store := range strings.Split(s.stores(), ",") {
			if !s.hasStep(store, job, step) {
				return false
			}
		}
		return true
	})
}

// stores are those that the scenario keeps records in.
func (s *scene) stores() string {
	if stores := s.Inputs["checkpoint-stores"]; stores != "auto" {
		return stores
	}
	return "artifact"
}

// hasStep reports whether a store has a step of a Job's records.
func (s *scene) hasStep(store, job, step string) bool {
	s.t.Helper()
	prefix := job + "." + step + "."
	switch store {
	case "artifact":
		return slices.ContainsFunc(s.artifacts(), func(name string) bool { return strings.HasPrefix(name, prefix) })
	case "cache":
		return slices.ContainsFunc(s.Stores.CacheEntries(), func(e standin.CacheEntry) bool {
			return e.Finalized && strings.HasPrefix(e.Key, "aks-oneshot-"+prefix)
		})
	}
	return harness.Member(s.configMap(job), "data", step+".json") != nil
}
