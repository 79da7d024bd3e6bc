package github

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/host/github/runnertest"
)

// runtimeToken is a token in looks alone.
const runtimeToken = "eyJhbGciOiJub25lIn0.cnVudGltZQ.c2lnbmF0dXJl"

// runEnv is the environment of a step on github.com, with changes: pairs of a name
// and its value, "" for none.
func runEnv(changes ...string) map[string]string {
	env := map[string]string{
		"GITHUB_RUN_ID":         "19783200001",
		"GITHUB_RUN_ATTEMPT":    "2",
		"GITHUB_REPOSITORY":     "octo-org/night.jobs",
		"GITHUB_SERVER_URL":     "https://github.com",
		"GITHUB_API_URL":        "https://api.github.com",
		"ACTIONS_RESULTS_URL":   "https://results-receiver.actions.githubusercontent.com/",
		"ACTIONS_CACHE_URL":     "https://artifactcache.actions.githubusercontent.com/aBcD",
		"ACTIONS_RUNTIME_TOKEN": runtimeToken,
		"GITHUB_RETENTION_DAYS": "90",
		"ACTIONS_CACHE_MODE":    "write-only",
	}
	for i := 0; i < len(changes); i += 2 {
		env[changes[i]] = changes[i+1]
	}
	return env
}

func TestRun(t *testing.T) {
	t.Parallel()
	full := Run{
		ID: 19783200001, Attempt: 2, Repository: "octo-org/night.jobs",
		ServerURL: "https://github.com", APIURL: "https://api.github.com",
		ResultsURL: "https://results-receiver.actions.githubusercontent.com", CacheURL: "https://artifactcache.actions.githubusercontent.com/aBcD/",
		RuntimeToken: runtimeToken, RetentionDays: 90, CacheMode: "write-only",
	}
	tests := []struct {
		name string
		env  map[string]string
		want func(*Run)
	}{
		{"on github.com", runEnv(), func(*Run) {}},
		{"with all that may be missing", runEnv("ACTIONS_RESULTS_URL", "", "ACTIONS_CACHE_URL", "", "ACTIONS_RUNTIME_TOKEN", "",
			"GITHUB_RETENTION_DAYS", "", "ACTIONS_CACHE_MODE", ""), func(r *Run) {
			r.ResultsURL, r.CacheURL, r.RuntimeToken, r.RetentionDays, r.CacheMode = "", "", "", 0, ""
		}},
		{"addresses with slashes and paths", runEnv("GITHUB_SERVER_URL", "https://ghes.example/", "GITHUB_API_URL", "https://ghes.example/api/v3/",
			"ACTIONS_RESULTS_URL", "http://127.0.0.1:8080/_apis/results/"), func(r *Run) {
			r.ServerURL, r.APIURL, r.ResultsURL = "https://ghes.example", "https://ghes.example/api/v3", "http://127.0.0.1:8080"
		}},
		{"the .github repository", runEnv("GITHUB_REPOSITORY", "o/.github"), func(r *Run) { r.Repository = "o/.github" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, _ := step(t, tt.env)
			got, err := h.Run()
			if err != nil {
				t.Fatal(err)
			}
			want := full
			tt.want(&want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the run (-want +got):\n%s", diff)
			}
		})
	}
}

// Where the records of an earlier attempt are looked for must not depend on what the
// runner says of something else.
func TestRunIsNotRefusedForTheCache(t *testing.T) {
	t.Parallel()
	for variable, values := range map[string][]string{
		"GITHUB_RETENTION_DAYS": {"0", "-1", "x", "99999"},
		"ACTIONS_CACHE_URL":     {"ftp://github.com", "https://h/x?y=1"},
		"ACTIONS_CACHE_MODE":    {"read_only", "READ", "::error::"},
	} {
		for _, value := range values {
			h, _ := step(t, runEnv(variable, value))
			run, err := h.Run()
			if err != nil || !run.KeepsArtifacts() {
				t.Errorf("%s=%q: refused: %v", variable, value, err)
			}
			if days := variable == "GITHUB_RETENTION_DAYS"; days && run.RetentionDays != 0 || !days && (failure.CodeOf(run.CacheErr) != failure.ConfigInvalid || !strings.Contains(run.CacheErr.Error(), variable)) {
				t.Errorf("%s=%q: %d days, %v", variable, value, run.RetentionDays, run.CacheErr)
			}
		}
	}
}

func TestRunMasksTheRuntimeToken(t *testing.T) {
	t.Parallel()
	// Also where the run is refused: the token was read all the same.
	for name, env := range map[string]map[string]string{"taken": runEnv(), "refused": runEnv("GITHUB_RUN_ID", "x")} {
		h, stdout := step(t, env)
		_, _ = h.Run()
		if diff := cmp.Diff([]string{runtimeToken}, runnertest.Read(stdout.String()).Named("add-mask")); diff != "" {
			t.Errorf("%s: masks (-want +got):\n%s", name, diff)
		}
		if got := h.Hide("token " + runtimeToken); strings.Contains(got, runtimeToken) {
			t.Errorf("%s: %q is shown", name, got)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	numbers := []string{"0", "-1", "+1", "01", "1.0", "1e3", " 1", "1 ", "x", "9223372036854775808"}
	addresses := []string{"github.com", "ftp://github.com", "https://", "https://user:pass@github.com", "https://github.com?q=1", "https://github.com?",
		"https://github.com#x", "https://git hub.com", "https://github.com/a b", "https://github.com/\x00", "https://github.com/%zz"}
	bad := map[string][]string{
		"GITHUB_RUN_ID":         append(numbers, ""),
		"GITHUB_RUN_ATTEMPT":    append(numbers, "", "4294967296"),
		"GITHUB_REPOSITORY":     {"", "octo", "octo/", "/jobs", "octo/jobs/more", "octo/..", "octo/.", "../jobs", "octo/jo bs", "octo/jobs\n", "octo/jobs?x"},
		"GITHUB_SERVER_URL":     append(addresses, ""),
		"GITHUB_API_URL":        append(addresses, ""),
		"ACTIONS_RESULTS_URL":   addresses,
		"ACTIONS_RUNTIME_TOKEN": {"two words", "line\nend", "\x1b[0m", "nul\x00"},
	}
	const lenient = 3 // see TestRunIsNotRefusedForTheCache
	if len(bad) != len(runEnv())-lenient {
		t.Errorf("%d variables have bad values, want all %d", len(bad), len(runEnv())-lenient)
	}
	for variable, values := range bad {
		for _, value := range values {
			h, _ := step(t, runEnv(variable, value))
			run, err := h.Run()
			if failure.CodeOf(err) != failure.ConfigInvalid || !strings.Contains(err.Error(), variable) {
				t.Errorf("%s=%q: the error is %v", variable, value, err)
				continue
			}
			if run != (Run{}) {
				t.Errorf("%s=%q: the run is %+v", variable, value, run)
			}
			if len(value) > 5 && strings.Contains(err.Error(), value) {
				t.Errorf("%s=%q is repeated in %q", variable, value, err)
			}
		}
	}
}

func TestRunErrorText(t *testing.T) {
	t.Parallel()
	h, _ := step(t, runEnv("GITHUB_RUN_ATTEMPT", ""))
	_, err := h.Run()
	want := "config-invalid: the environment variable GITHUB_RUN_ATTEMPT is not set. " +
		"The runner sets it: do not set it in the workflow, and pass it on where the action is started by something else"
	if err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

func TestRunURL(t *testing.T) {
	t.Parallel()
	run := Run{ServerURL: "https://octo.ghe.com", Repository: "octo/jobs", ID: 42, Attempt: 3}
	if got, want := run.URL(), "https://octo.ghe.com/octo/jobs/actions/runs/42/attempts/3"; got != want {
		t.Errorf("the URL is %s, want %s", got, want)
	}
}

func TestRunKeepsArtifacts(t *testing.T) {
	t.Parallel()
	servers := map[string]bool{
		"https://github.com": true, "https://GitHub.com": true, "https://github.com:443": true, "https://octo.ghe.com": true, "http://github.localhost": true,
		"https://ghes.example": false, "https://ghe.com": false, "https://github.com.example": false, "https://notgithub.com": false,
		"https://xghe.com": false, "https://localhost": false, "https://www.github.com": false,
	}
	for server, want := range servers {
		h, _ := step(t, runEnv("GITHUB_SERVER_URL", server))
		run, err := h.Run()
		if err != nil {
			t.Fatal(err)
		}
		if got, keeps := run.KeepsArtifacts(), run.ServerKeepsArtifacts(); got != want || keeps != want {
			t.Errorf("%s: %t, the server: %t, want %t", server, got, keeps, want)
		}
	}
	for _, missing := range []string{"ACTIONS_RESULTS_URL", "ACTIONS_RUNTIME_TOKEN"} {
		env := maps.Clone(runEnv())
		delete(env, missing)
		h, _ := step(t, env)
		if run, err := h.Run(); err != nil || run.KeepsArtifacts() || !run.ServerKeepsArtifacts() {
			t.Errorf("without %s: artifacts are kept, or could not be with it, error %v", missing, err)
		}
	}
}
