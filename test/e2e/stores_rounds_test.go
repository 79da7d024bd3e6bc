package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// TestStoresRounds: what a run waits for on its way to the create of its Job. Where
// there may be records is looked at while the template is read, and the artifact is
// reserved while it is looked for a Job: what is left are three answers for an
// artifact, and one for the cluster. The cache has no list: its keys are looked up
// when the execution is known, all at once, which is a fourth one.
func TestStoresRounds(t *testing.T) {
	t.Parallel()
	const results, rest, blobs, kubernetes = "results ", "rest ", "blobs ", "kubernetes "
	upload := [][]string{{blobs + "block"}, {blobs + "blocklist"}, {results + "finalizeartifact"}}
	lookups := slices.Repeat([]string{results + "getcacheentrydownloadurl"}, len(checkpoint.SharedSteps()))
	for name, c := range map[string]struct {
		stores string
		// begins and reads go along with the reading of the template, and of the
		// Job; loads come between them, and intent is what the create waits for.
		begins, reads []string
		loads, intent [][]string
	}{
		"none":     {stores: "none"},
		"artifact": {"artifact", []string{results + "listartifacts", rest + "artifacts"}, []string{results + "createartifact"}, nil, upload},
		"cluster":  {"cluster", []string{kubernetes + "configmaps"}, nil, nil, [][]string{{kubernetes + "configmaps"}}},
		"both": {
			"artifact,cluster", []string{results + "listartifacts", rest + "artifacts", kubernetes + "configmaps"},
			[]string{results + "createartifact"}, nil, append([][]string{{kubernetes + "configmaps"}}, upload...),
		},
		"cache": {"cache", nil, nil, [][]string{lookups}, [][]string{
			{results + "createcacheentry"}, {blobs + "put"}, {results + "finalizecacheentryupload"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := keep(t, harness.Template{}, c.stores)
			if strings.Contains(c.stores, "cache") {
				s.signed()
			}
			h := s.hold(s.behind())
			run := s.start()
			h.round(append([]string{kubernetes + s.Name, kubernetes + s.Name + "-job"}, c.begins...)...)
			job := run.job()
			for _, waits := range c.loads {
				h.round(waits...)
			}
			h.round(append([]string{kubernetes + job}, c.reads...)...)
			for _, waits := range c.intent {
				h.round(waits...)
			}
			h.round(kubernetes + "jobs")
			s.expect(h.rest(run), want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1})
			n := len(c.loads) + len(c.intent)
			if said := documentedAnswers(t)[c.stores]; name != "none" && name != "both" && said != n {
				t.Errorf("%d answers are waited for, and docs/stores.md says %d", n, said)
			}
			figure("delays added before dispatch by "+name, "%d", n)
		})
	}
}

// documentedAnswers is how many answers docs/stores.md says that the create waits for,
// by the store.
func documentedAnswers(t *testing.T) map[string]int {
	t.Helper()
	root, err := harness.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "stores.md"))
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]int{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| [^|]+ \\| (\\d+) \\| [^|]*\\|$").FindAllStringSubmatch(string(page), -1) {
		if answers[row[1]], err = strconv.Atoi(row[2]); err != nil {
			t.Fatal(err)
		}
	}
	return answers
}

// TestStoresRerunOfAllJobs: GitHub's internal list hides the artifacts of earlier
// attempts then. They are found through its REST API, or the records in the
// cluster; and where neither can be asked, the run says so and dispatches nothing.
func TestStoresRerunOfAllJobs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stores  string
		actions standin.Permission
		from    string
	}{
		"through-REST":        {"artifact", standin.ActionsRead, "artifact, attempt 1"},
		"in-the-cluster":      {"artifact,cluster", standin.ActionsNone, "cluster, attempt 1"},
		"in-neither":          {"artifact", standin.ActionsNone, ""},
		"repository-not-seen": {"artifact", standin.ActionsUnseen, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := keep(t, harness.Template{}, c.stores)
			s.args("sleep 1s")
			run := s.start()
			run.until("created Job")
			run.kill()
			s.Stores.Change(func(o *standin.StoresOptions) { o.Actions = c.actions })
			s.rerun(standin.RerunAll)
			w := want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1, resumedFrom: is(c.from), stored: is("true")}
			if c.from == "" {
				w = want{outcome: "refused", reason: "permission-denied", created: 1, says: []string{"actions: read"}}
			}
			s.expect(s.run(), w)
		})
	}
}

// TestStoresNothingWasRecorded: an earlier attempt came to nothing. What is not in the
// artifacts of this attempt may be in those of that one, which cannot be looked at; the
// cluster is sure that there was nothing, since it takes each intent first. The run
// goes on, and says what it could not look at.
func TestStoresNothingWasRecorded(t *testing.T) {
	t.Parallel()
	s := keep(t, harness.Template{}, "artifact,cluster")
	s.rerunAs(anew{how: standin.RerunAll, forbidden: true})
	s.warns = []string{"going on, since another store is sure that"}
	e := s.run()
	s.expect(e, want{outcome: "succeeded", dispatched: true, records: asTerminal, created: 1, resumedFrom: is(""), stored: is("true")})
	if told := strings.Join(e.Annotations("warning"), "\n"); !strings.Contains(told, "actions: read") {
		t.Errorf("the warning does not say what is missing: %q", told)
	}
	// Without the cluster nobody is sure.
	s.warns = nil
	s.Inputs["checkpoint-stores"] = "artifact"
	s.rerunAs(anew{how: standin.RerunAll, forbidden: true})
	s.expect(s.run(), want{outcome: "refused", reason: "permission-denied", created: 1, says: []string{"actions: read"}, resumedFrom: is("")})
}

// TestStoresSignedURLsOfEarlierAttempts: the internal list shows what an earlier attempt
// stored, and the service hands out no URL for it.
func TestStoresSignedURLsOfEarlierAttempts(t *testing.T) {
	t.Parallel()
	s := keep(t, harness.Template{}, "artifact")
	s.Stores.Change(func(o *standin.StoresOptions) { o.UnsignedEarlier = true })
	s.args("sleep 1s")
	run := s.start()
	run.until("created Job")
	run.kill()
	s.rerun(standin.RerunFailed)
	s.expect(s.run(), want{outcome: "succeeded", resumed: true, records: asTerminal, created: 1, resumedFrom: is("artifact, attempt 1"), stored: is("true")})
}
