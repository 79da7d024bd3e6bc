package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/report"
	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

// scene is a scenario in a test. What holds of every run is checked of each one
// when it ends (ended), and of all of them together when the test does (over).
type scene struct {
	*harness.Scenario
	t    *testing.T
	jobs *harness.JobLog

	mu      sync.Mutex
	secrets []string
	ends    []harness.Ended
	// created is how many Jobs the last expectation counted.
	created int
	checked bool
	// inCluster says that records may be kept in the cluster.
	inCluster bool
	// warns are texts of which each run has one in a warning of its own, beside
	// those that say how it ended.
	warns []string
}

// set makes a scenario of its own for a test, in the shared world. The
// template's name is the test's.
func set(t *testing.T, template harness.Template) *scene {
	t.Helper()
	return setIn(t, world, worldJobs, template)
}

func setIn(t *testing.T, w *harness.World, jobs *harness.JobLog, template harness.Template) *scene {
	t.Helper()
	if template.Name == "" {
		template.Name = label(t.Name())
	}
	template.Name += again(template.Name)
	s, err := w.Scenario(t.Context(), template)
	if err != nil {
		t.Fatal(err)
	}
	sc := &scene{Scenario: s, t: t, jobs: jobs, secrets: []string{s.Token}}
	t.Cleanup(sc.over)
	return sc
}

var (
	usedMu sync.Mutex
	used   = map[string]int{}
)

// again tells scenarios of the same name apart, as with -count.
func again(name string) string {
	usedMu.Lock()
	defer usedMu.Unlock()
	used[name]++
	if used[name] == 1 {
		return ""
	}
	return fmt.Sprintf("-%d", used[name])
}

// label makes a DNS label of a test's name.
func label(name string) string {
	name = strings.TrimPrefix(name, "Test")
	var b strings.Builder
	for _, r := range name {
		switch {
		case 'A' <= r && r <= 'Z':
			if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
				b.WriteByte('-')
			}
			b.WriteRune(r + 'a' - 'A')
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	const most = 30 // a Job's name has fdai-, a number, -retry-2 and 17 characters of digest too
	out := b.String()
	if len(out) > most {
		out = out[:most/2-1] + "-" + out[len(out)-most/2:]
	}
	return strings.Trim(out, "-")
}

// args says what the workload does, one step a string.
func (s *scene) args(steps ...string) {
	s.Inputs["args"] = strings.Join(strings.Fields(strings.Join(steps, " -- ")), "\n")
}

// ended checks what holds of every run, however it ended.
func (s *scene) ended(e harness.Ended) harness.Ended {
	s.t.Helper()
	s.mu.Lock()
	s.ends = append(s.ends, e)
	s.mu.Unlock()
	if e.Signal != 0 {
		return e
	}
	if e.System != harness.GitHub {
		return s.endedElsewhere(e)
	}
	s.expectOutputs(e)
	if !strings.HasPrefix(e.Summary, "## ") {
		s.t.Errorf("the summary is %q", e.Summary)
	}
	reason := e.Outputs["reason"]
	annotations := map[string]int{"error": 1}
	switch e.Outputs["outcome"] {
	case "succeeded":
		annotations = map[string]int{}
	case "cancelled":
		annotations = map[string]int{"warning": 1}
	}
	for _, kind := range []string{"error", "warning"} {
		have := s.expectUnstored(kind, e)
		if len(have) != annotations[kind] {
			s.t.Errorf("%d %s annotations, want %d: %q", len(have), kind, annotations[kind], have)
		}
		for _, a := range have {
			title, message, _ := strings.Cut(a, "\n")
			if !strings.HasPrefix(title, reason+": ") || !strings.HasPrefix(message, reason+": ") {
				s.t.Errorf("the annotation does not begin with its code %s: %q", reason, a)
			}
		}
	}
	if (reason == "") != (e.Status == 0) || reason != "" && !strings.Contains(e.Summary, reason) {
		s.t.Errorf("status %d, reason %q, summary:\n%s", e.Status, reason, e.Summary)
	}
	if s.t.Failed() {
		s.t.Logf("the action's log:\n%s", e.Log())
	}
	return e
}

// endedElsewhere checks what holds of every run that no runner of GitHub started:
// what is said goes to standard error, and the outputs alone to standard output.
func (s *scene) endedElsewhere(e harness.Ended) harness.Ended {
	s.t.Helper()
	s.expectOutputs(e)
	log := "\n" + e.Stderr
	said := strings.Count(log, "\nerror: ") + strings.Count(log, "\nwarning: "+e.Outputs["reason"]+": ")
	if e.Status == 0 && said != 0 || e.Status != 0 && said != 1 {
		s.t.Errorf("%d messages say why the status is %d", said, e.Status)
	}
	if e.OutputFile+e.Summary+e.State != "" {
		s.t.Errorf("files of GitHub were written: %q %q %q", e.OutputFile, e.Summary, e.State)
	}
	if s.t.Failed() {
		s.t.Logf("the action's log:\n%s", e.Log())
	}
	return e
}

// expectOutputs checks that there are the outputs that are documented, and that
// the exit status is the outcome's.
func (s *scene) expectOutputs(e harness.Ended) {
	s.t.Helper()
	names := slices.Sorted(maps.Keys(e.Outputs))
	var want []string
	for _, doc := range report.OutputDocs() {
		want = append(want, doc.Name)
	}
	slices.Sort(want)
	if !slices.Equal(names, want) {
		s.t.Errorf("the outputs are %q, want %q", names, want)
	}
	if status, ok := statuses[e.Outputs["outcome"]]; !ok || status != e.Status {
		s.t.Errorf("the exit status is %d with the outcome %q", e.Status, e.Outputs["outcome"])
	}
}

// statuses are the exit statuses as they are documented.
var statuses = map[string]int{"succeeded": 0, "failed": 1, "invalid": 2, "refused": 3, "unknown": 4, "cancelled": 130}

// want is what is expected of a run, beside what holds of every one.
type want struct {
	outcome, reason     string
	dispatched, resumed bool
	successor           string // "0" by default
	// records are those of the last Job in the work folder, by step.
	records []string
	// created is how many Jobs were created in the scenario so far, by anybody.
	created int
	// says are texts in the run's one annotation, or for a run that succeeded
	// in its log.
	says []string
	// resumedFrom and stored are the outputs of those names, where they matter.
	resumedFrom, stored *string
}

// The records of a Job as its steps leave them.
var (
	asPrepared   = []string{"", "prepared"}
	asIntended   = []string{"", "dispatch-intent", "prepared"}
	asAmbiguous  = []string{"", "dispatch-ambiguous", "dispatch-intent", "prepared"}
	asDispatched = []string{"", "dispatch-intent", "dispatched", "prepared"}
	asTerminal   = []string{"", "dispatch-intent", "dispatched", "prepared", "terminal"}
)

// expect holds a run against what is wanted.
func (s *scene) expect(e harness.Ended, w want) {
	s.t.Helper()
	if w.successor == "" {
		w.successor = "0"
	}
	for name, value := range map[string]string{
		"outcome": w.outcome, "reason": w.reason, "dispatched": fmt.Sprint(w.dispatched), "resumed": fmt.Sprint(w.resumed),
		"successor": w.successor, "checkpoint-dir": s.Inputs["work-dir"],
	} {
		if have := e.Outputs[name]; have != value {
			s.t.Errorf("output %s is %q, want %q", name, have, value)
		}
	}
	said := e.Log()
	if w.outcome != "succeeded" && e.System == harness.GitHub {
		said = strings.Join(append(e.Annotations("error"), e.Annotations("warning")...), "\n")
	}
	for _, text := range w.says {
		if !strings.Contains(said, text) {
			s.t.Errorf("%q is not in %q", text, said)
		}
	}
	for name, value := range map[string]*string{"resumed-from": w.resumedFrom, "checkpoints-stored": w.stored} {
		if have := e.Outputs[name]; value != nil && have != *value {
			s.t.Errorf("output %s is %q, want %q", name, have, *value)
		}
	}
	s.expectRecords(e.Outputs["job-name"], w.records)
	s.expectCreated(w.created)
	if s.t.Failed() {
		s.t.Fatalf("the action's log:\n%s", e.Log())
	}
}

// expectRecords compares the work folder's records of one Job.
func (s *scene) expectRecords(job string, want []string) {
	s.t.Helper()
	records, err := s.Records()
	if err != nil {
		s.t.Fatal(err)
	}
	var have []string
	for name := range records {
		rest, ok := strings.CutPrefix(name, job)
		if job == "" || !ok {
			continue
		}
		have = append(have, strings.Trim(strings.TrimSuffix(rest, ".json"), "."))
	}
	slices.Sort(have)
	if !slices.Equal(have, want) {
		s.t.Errorf("the records of %s are %q, want %q", job, have, want)
	}
}

// expectCreated counts the Jobs that were created, as the API server showed it.
func (s *scene) expectCreated(want int) {
	s.t.Helper()
	s.created, s.checked = want, true
	if have := s.countCreated(s.t.Context()); len(have) != want {
		s.t.Errorf("%d Jobs were created, want %d: %v", len(have), want, have)
	}
}

// countCreated returns the Jobs that were created, by uid. The audit log may
// know fewer of them: those whose creator was killed, or that a controller made.
func (s *scene) countCreated(ctx context.Context) map[string]string {
	s.t.Helper()
	created, err := s.jobs.Created(ctx, s.Scenario)
	if err != nil {
		s.t.Fatal(err)
	}
	audited, err := s.Creates(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(audited) > len(created) {
		s.t.Errorf("the audit log has %d creates, the watch %d: %+v", len(audited), len(created), audited)
	}
	return created
}

// over checks what holds of all runs together, and clears up.
func (s *scene) over() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	switch created := s.countCreated(ctx); {
	case !s.checked && !s.t.Failed():
		s.t.Error("the test did not say how many Jobs it expects")
	case s.checked && len(created) != s.created:
		s.t.Errorf("in the end %d Jobs had been created, expected were %d: %v", len(created), s.created, created)
	}
	requests, err := s.Requests(ctx)
	if err != nil {
		s.t.Error(err)
	}
	for _, r := range requests {
		asked := r.Verb + " " + r.Resource
		may := slices.Contains(allowed, asked) || s.inCluster && slices.Contains(inCluster, asked)
		if !may || r.Subresource != "" {
			s.t.Errorf("the action sent %s %s %s: it never changes what it created", r.Verb, r.Resource, r.Subresource)
		}
	}
	s.expectNoSecrets()
	s.expectNothingIssued()
	jobs, err := s.Jobs(ctx)
	if err != nil {
		s.t.Error(err)
	}
	for _, job := range jobs {
		if err := s.World.API.Delete(ctx, harness.JobPath(harness.JobName(job)), "Background"); err != nil && !harness.IsStatus(err, http.StatusNotFound) {
			s.t.Error(err)
		}
	}
}

// allowed is all that the action ever asks for, and inCluster what it asks for
// where records are kept in the cluster.
var (
	allowed   = []string{"get cronjobs", "get serviceaccounts", "get jobs", "list jobs", "watch jobs", "create jobs"}
	inCluster = []string{"get configmaps", "list configmaps", "create configmaps", "update configmaps", "delete configmaps"}
)
