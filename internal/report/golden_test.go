package report

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

var update = flag.Bool("update", false, "rewrite the golden files under testdata")

var start = time.Date(2026, 11, 30, 9, 15, 4, 0, time.UTC)

// scenario is one way a run can end. Its name is that of its golden files.
type scenario struct {
	name   string
	report Report
}

func digest(t testing.TB, of string) contract.Digest {
	t.Helper()
	d, err := contract.DigestOf(of)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func execution(t testing.TB, name string) contract.Execution {
	t.Helper()
	return contract.Execution{
		Name:           name,
		Namespace:      "fdai-runtime",
		Purpose:        "inventory",
		Digest:         digest(t, name+" execution"),
		ManifestDigest: digest(t, name+" manifest"),
		ContractDigest: digest(t, name+" contract"),
		TemplateDigest: digest(t, "template"),
		BindingDigest:  digest(t, "binding"),
		TTL:            time.Hour,
	}
}

func facts(t testing.TB) Facts {
	t.Helper()
	return Facts{
		Cluster:          "aks-prod.hcp.westeurope.azmk8s.io",
		Namespace:        "fdai-runtime",
		Template:         "inventory-sync",
		Purpose:          "inventory",
		ServiceAccount:   "inventory-sync",
		Container:        "sync",
		Image:            "registry.example.com/fdai/sync@sha256:" + digest(t, "image").String(),
		Args:             []string{"--mode=full", "--note", "a b", ""},
		EnvironmentNames: []string{"BATCH_SIZE", "REGION"},
		TemplateDigest:   digest(t, "template").String(),
		BindingDigest:    digest(t, "binding").String(),
		Contract:         "fdai/v1",
		CheckpointDir:    "/var/lib/aks-oneshot",
		Stores:           []string{"artifact", "cluster"},
	}
}

func complete() contract.Object {
	return contract.Object{
		"conditions": []any{
			map[string]any{"type": "Complete", "status": "True", "reason": "CompletionsReached"},
			map[string]any{"type": "SuccessCriteriaMet", "status": "True", "reason": "CompletionsReached"},
		},
		"succeeded": 1, "failed": 0, "completion_time": "2026-11-30T09:15:16Z",
	}
}

func backoff() contract.Object {
	return contract.Object{
		"conditions": []any{
			map[string]any{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"},
			map[string]any{"type": "FailureTarget", "status": "True", "reason": "BackoffLimitExceeded"},
		},
		"succeeded": 0, "failed": 3, "completion_time": nil,
	}
}

// events returns events of the given kinds and texts, 400 ms apart.
func events(job string, kindsAndTexts ...string) []oneshot.Event {
	var told []oneshot.Event
	for i := 0; i < len(kindsAndTexts); i += 2 {
		told = append(told, oneshot.Event{
			Kind:      oneshot.EventKind(kindsAndTexts[i]),
			Execution: job,
			Text:      kindsAndTexts[i+1],
			At:        start.Add(time.Duration(i/2+1) * 400 * time.Millisecond),
		})
	}
	return told
}

const (
	jobName   = "fdai-inventory-0f3a9c5512de77b1"
	retryName = "fdai-inventory-retry-1-7bb20c4419e0aa52"
	jobUID    = "5b0c7f0e-8d0c-4e0b-9a53-0f1f6f3f3a11"
	verified  = "CronJob fdai-runtime/inventory-sync and ServiceAccount inventory-sync are as reviewed; the execution is Job " + jobName
)

func scenarios(t testing.TB) []scenario {
	t.Helper()
	first := execution(t, jobName)
	base := func(outcome oneshot.Outcome, err error) Report {
		f := facts(t)
		f.Stored = true
		return Report{
			Facts:   f,
			Result:  oneshot.Result{Outcome: outcome, Execution: first, Duration: 12345 * time.Millisecond},
			Err:     err,
			Started: start,
		}
	}

	succeeded := base(oneshot.Succeeded, nil)
	succeeded.Result.Dispatched, succeeded.Result.JobUID, succeeded.Result.Evidence = true, jobUID, complete()
	succeeded.Events = events(jobName,
		"verified", verified,
		"recorded", "recorded: prepared",
		"recorded", "recorded: dispatch-intent",
		"dispatched", "created Job "+jobName+" (uid "+jobUID+")",
		"recorded", "recorded: dispatched",
		"waiting", "waiting for Job "+jobName+" to end",
		"recorded", "recorded: terminal",
		"terminal", "Job "+jobName+" succeeded: Complete (CompletionsReached)",
	)

	resumed := base(oneshot.Succeeded, nil)
	resumed.Facts.ResumedFrom = "artifact, attempt 1"
	resumed.Result.Resumed, resumed.Result.JobUID, resumed.Result.Evidence = true, jobUID, complete()
	resumed.Events = events(jobName,
		"verified", verified,
		"resumed", "an earlier run left records of "+jobName+": intent at 2026-11-30T09:14:00Z",
		"adopted", "Job "+jobName+" is there",
		"retrying", `get jobs.batch: HTTP 503, "etcdserver: leader changed"; again in 1s`,
		"terminal", "Job "+jobName+" succeeded: Complete (CompletionsReached)",
	)

	replayed := base(oneshot.Succeeded, nil)
	replayed.Result.Resumed, replayed.Result.Replayed, replayed.Result.Evidence = true, true, complete()
	replayed.Result.Duration = 41 * time.Millisecond
	replayed.Facts.ResumedFrom = "work-dir"
	replayed.Events = events(jobName,
		"verified", verified,
		"replayed", "the terminal record says that "+jobName+" succeeded; nothing is dispatched",
	)

	failed := base(oneshot.Failed, failure.New(failure.JobFailed, "Job fdai-runtime/%s failed: Failed (BackoffLimitExceeded)", jobName))
	failed.Result.Dispatched, failed.Result.JobUID, failed.Result.Evidence = true, jobUID, backoff()
	failed.Events = events(jobName, "verified", verified, "dispatched", "created Job "+jobName+" (uid "+jobUID+")", "terminal", "Job "+jobName+" failed: Failed (BackoffLimitExceeded)")

	unstored := failed
	unstored.Facts.Missing = []string{
		"checkpoint store artifact does not have the dispatched record of " + jobName + ": storing the dispatched record of " + jobName + " as an artifact: the results service (results-receiver.actions.githubusercontent.com) answered HTTP 503 (Service Unavailable), at the last of 5 tries. " +
			"A run that finds nothing else knows only that the Job was to be created: it goes on with the Job where that is there, and may send the create again, under the same name, within the TTL window",
		"checkpoint store artifact does not have the terminal record of " + jobName + ": the results service answered HTTP 507: \"over quota | <b>\". A run that finds nothing else reads how the Job ended from the Job, and refuses when that is gone",
	}

	successor := base(oneshot.Succeeded, nil)
	successor.Result.Execution = execution(t, retryName)
	successor.Result.Successor, successor.Result.Dispatched = 1, true
	successor.Result.JobUID, successor.Result.Evidence = "c3a1d7c2-30b5-4a64-8c57-8ab8a1ce0c02", complete()
	successor.Result.Duration = 62*time.Second + 300*time.Millisecond
	successor.Events = append(
		events(jobName, "dispatched", "created Job "+jobName, "terminal", "Job "+jobName+" failed", "successor", jobName+" failed; starting successor 1 of 1"),
		oneshot.Event{Kind: oneshot.EventDispatched, Execution: retryName, Text: "created Job " + retryName, At: start.Add(61 * time.Second)},
		oneshot.Event{Kind: oneshot.EventTerminal, Execution: retryName, Text: "Job " + retryName + " succeeded", At: start.Add(62 * time.Second)},
	)

	drift := base(oneshot.Refused, failure.New(failure.TemplateDrift,
		"CronJob fdai-runtime/inventory-sync has digest %s, pinned is %s", digest(t, "live"), digest(t, "template")).
		At("spec.jobTemplate.spec.template.spec.containers[0].image"))
	drift.Result.Execution, drift.Facts.Stored = contract.Execution{}, false
	drift.Result.Duration = 230 * time.Millisecond

	identity := base(oneshot.Refused, failure.New(failure.IdentityDrift,
		"ServiceAccount fdai-runtime/inventory-sync names another managed identity than the reviewed one").
		At("metadata.annotations[azure.workload.identity/client-id]").
		WithFix("Set it to 11111111-2222-3333-4444-555555555555"))
	identity.Result.Execution, identity.Facts.Stored = contract.Execution{}, false

	ambiguous := base(oneshot.Unknown, failure.New(failure.DispatchAmbiguous,
		"creating Job fdai-runtime/%s: %w", jobName, errors.New("no answer within 30s")))
	ambiguous.Events = events(jobName, "verified", verified, "recorded", "recorded: dispatch-intent", "recorded", "recorded: dispatch-ambiguous")

	vanished := base(oneshot.Unknown, failure.New(failure.JobVanished, "Job fdai-runtime/%s was deleted before it ended; it is not created again", jobName))
	vanished.Result.Dispatched, vanished.Result.JobUID = true, jobUID

	deadline := base(oneshot.Unknown, failure.New(failure.DeadlineExceeded, "Job fdai-runtime/%s had not ended when the time was up; it goes on", jobName))
	deadline.Result.Dispatched, deadline.Result.JobUID = true, jobUID
	deadline.Result.Duration = 3*time.Hour + 5*time.Minute + 9*time.Second

	cancelled := base(oneshot.Cancelled, failure.New(failure.Cancelled, "the run was told to stop while Job %s may be running: interrupt", jobName))
	cancelled.Result.Dispatched, cancelled.Result.JobUID = true, jobUID

	invalid := Report{
		Facts:   Facts{Namespace: "Fdai_Runtime", Template: "inventory-sync", Contract: "fdai/v1"},
		Result:  oneshot.Result{Outcome: oneshot.Invalid, Duration: 3 * time.Millisecond},
		Err:     failure.New(failure.ConfigInvalid, `"Fdai_Runtime" is no DNS label: '_' at position 5`).At("namespace"),
		Started: start,
	}

	return []scenario{
		{"succeeded", succeeded},
		{"resumed", resumed},
		{"replayed", replayed},
		{"job-failed", failed},
		{"records-missing", unstored},
		{"successor-succeeded", successor},
		{"template-drift", drift},
		{"identity-drift", identity},
		{"dispatch-ambiguous", ambiguous},
		{"job-vanished", vanished},
		{"deadline", deadline},
		{"cancelled", cancelled},
		{"config-invalid", invalid},
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios(t) {
		title, message := s.report.Annotation()
		for ext, got := range map[string]string{
			".md":         s.report.Markdown(),
			".txt":        s.report.Plain(),
			".annotation": title + "\n" + message + "\n",
		} {
			t.Run(s.name+ext, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join("testdata", s.name+ext)
				if *update {
					if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatalf("%v (run go test ./internal/report -update to write it)", err)
				}
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("%s differs from what is told now (-want +got):\n%s", path, diff)
				}
			})
		}
	}
}

// A golden file that no scenario writes would go stale unseen.
func TestGoldenFilesAreAllUsed(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, s := range scenarios(t) {
		for _, ext := range []string{".md", ".txt", ".annotation"} {
			used[s.name+ext] = true
		}
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !f.IsDir() && !used[f.Name()] {
			t.Errorf("testdata/%s belongs to no scenario", f.Name())
		}
	}
}
