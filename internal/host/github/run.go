package github

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// Run is what the runner says of the workflow run that a step belongs to. What is
// said of more than this step is in GitHub docs, "Default environment variables";
// the variables that begin with ACTIONS_ are those the runner gives to actions.
type Run struct {
	// ID is the same in every attempt of a run, Attempt counts them from 1.
	ID      int64
	Attempt int
	// Repository is OWNER/NAME.
	Repository string
	// ServerURL is where people look, APIURL where the REST API is. Neither ends
	// with a slash.
	ServerURL, APIURL string
	// ResultsURL is the origin of the service for artifacts and, where it is there,
	// for the cache (v2). CacheURL is the cache before that (v1); it has a path that
	// ends with a slash. Each is "" where there is no such service.
	ResultsURL, CacheURL string
	// RuntimeToken is what a step asks those services with, "" where there is none.
	// It is a secret.
	RuntimeToken string
	// RetentionDays is the most days that an artifact of this run may be kept, 0 when
	// not known.
	RetentionDays int
	// CacheMode is what the run may do with the cache: read, write, write-only or
	// none; "" when nothing is said.
	CacheMode string
	// CacheErr is why the cache cannot be used by what the runner says of it.
	CacheErr error
}

// Run returns what the environment says of the workflow run. The runtime token is
// masked already. The error is config-invalid and names the variable at fault.
func (h *Host) Run() (Run, error) {
	token := h.getenv("ACTIONS_RUNTIME_TOKEN")
	if token != "" {
		h.Mask(token) // Before anything is said of it.
	}
	v := variables{getenv: h.getenv}
	run := Run{
		ID:           v.count("GITHUB_RUN_ID", 64),
		Attempt:      int(v.count("GITHUB_RUN_ATTEMPT", 31)),
		Repository:   v.text("GITHUB_REPOSITORY", repository, "of the form OWNER/NAME"),
		ServerURL:    strings.TrimRight(v.address("GITHUB_SERVER_URL", required), "/"),
		APIURL:       strings.TrimRight(v.address("GITHUB_API_URL", required), "/"),
		ResultsURL:   origin(v.address("ACTIONS_RESULTS_URL", !required)),
		RuntimeToken: v.optional("ACTIONS_RUNTIME_TOKEN", printable, "a token: it holds a character that no token has"),
	}
	if v.err != nil {
		return Run{}, v.err
	}
	// What is odd about the rest matters to nobody else, and least of all to where the
	// records of an earlier attempt are looked for.
	days := variables{getenv: h.getenv}
	if run.RetentionDays = int(days.optionalCount("GITHUB_RETENTION_DAYS", 16)); days.err != nil {
		run.RetentionDays = 0
	}
	cache := variables{getenv: h.getenv}
	run.CacheURL = cache.address("ACTIONS_CACHE_URL", !required)
	run.CacheMode = cache.optional("ACTIONS_CACHE_MODE", word, "a word")
	run.CacheErr = cache.err
	if run.CacheURL != "" && !strings.HasSuffix(run.CacheURL, "/") {
		run.CacheURL += "/"
	}
	return run, nil
}

// URL is where people see this attempt of the run.
func (r Run) URL() string {
	return fmt.Sprintf("%s/%s/actions/runs/%d/attempts/%d", r.ServerURL, r.Repository, r.ID, r.Attempt)
}

// KeepsArtifacts reports whether there is a service that takes artifacts of version
// 4, and the runner says where.
func (r Run) KeepsArtifacts() bool {
	return r.ResultsURL != "" && r.RuntimeToken != "" && r.ServerKeepsArtifacts()
}

// ServerKeepsArtifacts reports whether the server has such a service. GitHub
// Enterprise Server sets a results URL as well but has none: its artifacts are of
// version 3. It is told by its name, as GitHub's own client does.
func (r Run) ServerKeepsArtifacts() bool {
	server, err := url.Parse(r.ServerURL)
	if err != nil {
		return false
	}
	name := strings.ToLower(server.Hostname())
	return name == "github.com" || strings.HasSuffix(name, ".ghe.com") || strings.HasSuffix(name, ".localhost")
}

const required = true

var (
	repository = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.-]*/\.?[A-Za-z0-9_-][A-Za-z0-9_.-]*$`)
	printable  = regexp.MustCompile(`^[^\pZ\pC]+$`)
	word       = regexp.MustCompile(`^[a-z-]+$`)
)

// variables reads variables until one is not what it has to be, which is err then.
type variables struct {
	getenv func(string) string
	err    error
}

// fail keeps the first failure. No value is repeated: it may be a secret that was
// put into the wrong variable.
func (v *variables) fail(name, what string) {
	if v.err == nil {
		v.err = failure.New(failure.ConfigInvalid, "the environment variable %s %s", name, what).
			WithFix("The runner sets it: do not set it in the workflow, and pass it on where the action is started by something else")
	}
}

// text returns a variable that must be there and match.
func (v *variables) text(name string, pattern *regexp.Regexp, form string) string {
	if v.getenv(name) == "" {
		v.fail(name, "is not set")
		return ""
	}
	return v.optional(name, pattern, form)
}

// optional returns a variable that must match where it is there.
func (v *variables) optional(name string, pattern *regexp.Regexp, form string) string {
	value := v.getenv(name)
	if value != "" && !pattern.MatchString(value) {
		v.fail(name, "is not "+form)
		return ""
	}
	return value
}

// count returns a variable that must be a whole number from 1 on.
func (v *variables) count(name string, bits int) int64 {
	if v.getenv(name) == "" {
		v.fail(name, "is not set")
		return 0
	}
	return v.optionalCount(name, bits)
}

func (v *variables) optionalCount(name string, bits int) int64 {
	value := v.getenv(name)
	if value == "" {
		return 0
	}
	n, err := strconv.ParseInt(value, 10, bits)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != value {
		v.fail(name, "is not a whole number from 1 on")
		return 0
	}
	return n
}

// address returns a variable that must be a URL with a host, with nothing in it
// that is secret. Whether plain http will do is for who sends something there.
func (v *variables) address(name string, must bool) string {
	value := v.getenv(name)
	if value == "" {
		if must {
			v.fail(name, "is not set")
		}
		return ""
	}
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || !printable.MatchString(value):
		v.fail(name, "is not an http or https URL with a host")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		v.fail(name, "is a URL with more than a scheme, a host and a path")
	default:
		return value
	}
	return ""
}

// origin returns an address without its path: that of the service for results
// counts for nothing, its methods are below the root.
func origin(address string) string {
	if u, err := url.Parse(address); err == nil && address != "" {
		return u.Scheme + "://" + u.Host
	}
	return ""
}
