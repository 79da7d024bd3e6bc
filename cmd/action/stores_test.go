package main

import (
	"strings"
	"testing"
)

// runner makes a step one of attempt n of a workflow run, with services that
// answer nothing.
func (s *step) runner(server, attempt, results string) {
	for name, value := range map[string]string{
		"GITHUB_RUN_ID": "4711", "GITHUB_RUN_ATTEMPT": attempt, "GITHUB_REPOSITORY": "acme/orders",
		"GITHUB_SERVER_URL": server, "GITHUB_API_URL": server + "/api/v3", "ACTIONS_RESULTS_URL": results,
	} {
		s.env[name] = value
	}
	if results != "" {
		s.env["ACTIONS_RUNTIME_TOKEN"] = token
	}
}

// A store that cannot be there is refused before any other is written to.
func TestArtifactsAreOnlyNamedWhereTheyAre(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ server, results, says string }{
		"GitHub Enterprise Server": {"https://ghes.example.com", "https://ghes.example.com/_services/results", "no service that keeps artifacts of version 4 on https://ghes.example.com"},
		"no address":               {"https://github.com", "", "the runner does not say where artifacts are kept"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newAPIServer(t, complete)
			s := newStep(t, server)
			s.runner(test.server, "1", test.results)
			s.env["INPUT_CHECKPOINT-STORES"] = "artifact,cluster"
			e := s.run(t.Context(), t)
			e.expect(t, 2, "outcome", "invalid", "reason", "config-invalid")
			e.expectError(t, "config-invalid", "checkpoint-stores: ", test.says, "ive cluster, which works anywhere")
			if n := len(server.requests); n != 0 {
				t.Errorf("%d requests were sent to the cluster", n)
			}
		})
	}
}

// Where the records are must not depend on a variable that happens to be missing.
func TestAutoNeedsToKnowTheRun(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, complete)
	s := newStep(t, server)
	delete(s.env, "GITHUB_RUN_ATTEMPT")
	e := s.run(t.Context(), t)
	e.expect(t, 2, "outcome", "invalid", "reason", "config-invalid")
	e.expectError(t, "config-invalid", "checkpoint-stores: ", "GITHUB_RUN_ATTEMPT is not set", "Or give checkpoint-stores")
	if n := len(server.requests); n != 0 {
		t.Errorf("%d requests were sent to the cluster", n)
	}
	s.env["INPUT_CHECKPOINT-STORES"] = "cluster"
	s.run(t.Context(), t).expect(t, 0, "outcome", "succeeded", "checkpoints-stored", "true")
}

// Records of an earlier attempt that are not looked for do not go unsaid.
func TestAnAttemptWithoutArtifactsIsToldSo(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[string]bool{"1": false, "2": true} {
		s := newStep(t, newAPIServer(t, complete))
		s.runner("https://github.com", attempt, "")
		e := s.run(t.Context(), t)
		e.expect(t, 0, "outcome", "succeeded", "checkpoint-stores", "cluster", "checkpoints-stored", "true", "resumed-from", "")
		if told := e.says("::warning", "what an earlier attempt stored as artifacts is not looked at"); told != want {
			t.Errorf("attempt %s: told %v:\n%s", attempt, told, e.log)
		}
	}
}

// A secret whose name is misspelt is an empty key, which is none: the log says what
// became of it.
func TestTheLogSaysWhetherRecordsAreSigned(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"":                      "records are kept in cluster as well as in the work folder, not signed: no checkpoint-key is given",
		strings.Repeat("k", 32): "records are kept in cluster as well as in the work folder, signed with checkpoint-key",
	} {
		s := newStep(t, newAPIServer(t, complete))
		s.env["INPUT_CHECKPOINT-STORES"], s.env["INPUT_CHECKPOINT-KEY"] = "cluster", key
		e := s.run(t.Context(), t)
		e.expect(t, 0, "outcome", "succeeded", "checkpoints-stored", "true")
		if !e.says(want) {
			t.Errorf("the log does not say %q:\n%s", want, e.log)
		}
	}
}

// says reports whether a line of the log holds all of the texts.
func (e ended) says(texts ...string) bool {
lines:
	for line := range strings.Lines(e.log) {
		for _, text := range texts {
			if !strings.Contains(line, text) {
				continue lines
			}
		}
		return true
	}
	return false
}
