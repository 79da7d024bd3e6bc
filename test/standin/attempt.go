package standin

import (
	"crypto/rand"
	"maps"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Attempt is a job in an attempt of a workflow's run, as the runner sees it that
// has it.
type Attempt struct {
	RunID  int64
	Number int // 1 is the first
	// RunBackendID and JobBackendID are the ids of the results service.
	RunBackendID, JobBackendID string
	// RuntimeToken is ACTIONS_RUNTIME_TOKEN.
	RuntimeToken string
	// Token is github.token, which is not in the environment.
	Token string

	env map[string]string
}

// Rerun is how a run is run once more.
type Rerun int

// The ways to do that.
const (
	// RerunFailed is "re-run failed jobs": the internal list of artifacts goes on to
	// show those of earlier attempts.
	RerunFailed Rerun = iota
	// RerunAll is "re-run all jobs", which hides them there.
	RerunAll
)

// Env is what a container action has in its environment of the run and of the
// services. Tokens of GitHub's are not in it, nor whom to trust.
func (a Attempt) Env() map[string]string { return maps.Clone(a.env) }

// Attempt returns the job that runs now.
func (s *Stores) Attempt() Attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attempt
}

// NextRun begins another run of the workflow.
func (s *Stores) NextRun() Attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := Attempt{RunID: s.attempt.RunID + 1, Number: 1, RunBackendID: uuid.NewString()}
	if s.attempt.RunID == 0 {
		next.RunID = firstRun
	}
	s.options.HideEarlier = false
	return s.begin(next, true)
}

// NextAttempt begins the run's next attempt. The tokens of earlier ones stay good:
// their runner may have been given up too early.
func (s *Stores) NextAttempt(how Rerun) Attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := Attempt{RunID: s.attempt.RunID, Number: s.attempt.Number + 1, RunBackendID: s.attempt.RunBackendID}
	if s.options.RunBackendPerAttempt {
		next.RunBackendID = uuid.NewString()
	}
	s.options.HideEarlier = how == RerunAll
	return s.begin(next, true)
}

// NextJob begins another job in the same attempt. The jobs of an attempt share the
// names of its artifacts.
func (s *Stores) NextJob() Attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begin(Attempt{RunID: s.attempt.RunID, Number: s.attempt.Number, RunBackendID: s.attempt.RunBackendID}, false)
}

// begin makes a job the one that runs, and gives it its tokens.
func (s *Stores) begin(next Attempt, newAttempt bool) Attempt {
	if newAttempt {
		s.attempts++
	}
	next.JobBackendID = uuid.NewString()
	next.RuntimeToken = s.runtimeToken(next)
	next.Token = s.newGitHubToken(s.options.Actions)
	next.env = s.env(next)
	s.attempt = next
	return next
}

// GitHubToken returns another github token.
func (s *Stores) GitHubToken(p Permission) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newGitHubToken(p)
}

func (s *Stores) newGitHubToken(p Permission) string {
	token := "ghs_" + rand.Text() + rand.Text()[:10]
	s.ledger.AddText("a github token", token)
	s.tokens[token] = p
	return token
}

// EndToken makes a runtime token or a github token one that is not known any more.
func (s *Stores) EndToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended[token] = true
}

// env is the environment of a job.
func (s *Stores) env(a Attempt) map[string]string {
	o := s.options
	full := o.Owner + "/" + o.Repository
	kind, name := "branch", strings.TrimPrefix(o.Ref, "refs/heads/")
	if tag, ok := strings.CutPrefix(o.Ref, "refs/tags/"); ok {
		kind, name = "tag", tag
	}
	env := map[string]string{
		"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": full, "GITHUB_REPOSITORY_OWNER": o.Owner, "GITHUB_REPOSITORY_ID": "517421",
		"GITHUB_RUN_ID": strconv.FormatInt(a.RunID, 10), "GITHUB_RUN_ATTEMPT": strconv.Itoa(a.Number), "GITHUB_RUN_NUMBER": "42",
		"GITHUB_API_URL": s.REST.URL, "GITHUB_SERVER_URL": o.ServerURL, "GITHUB_RETENTION_DAYS": strconv.Itoa(o.RetentionDays),
		"GITHUB_REF": o.Ref, "GITHUB_REF_NAME": name, "GITHUB_REF_TYPE": kind, "GITHUB_SHA": runSHA, "GITHUB_ACTOR": "octocat",
		"GITHUB_EVENT_NAME": "workflow_dispatch", "GITHUB_WORKFLOW": "migrate", "GITHUB_JOB": "migrate",
		"ACTIONS_RUNTIME_URL": s.Results.URL + "/pipelines/" + a.RunBackendID + "/", "ACTIONS_RUNTIME_TOKEN": a.RuntimeToken,
	}
	if !o.NoResults {
		env["ACTIONS_RESULTS_URL"] = s.Results.URL + "/"
	}
	if o.CacheV1 {
		env["ACTIONS_CACHE_URL"] = s.Results.URL + s.cachePath + "/"
	}
	if o.CacheMode != "" {
		env["ACTIONS_CACHE_MODE"] = o.CacheMode
	}
	return env
}

// runSHA is the commit of every run.
const runSHA = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// firstRun is the id of the first run.
const firstRun = 15402213877
