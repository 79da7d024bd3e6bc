package main

import (
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/cluster"
	"github.com/aks-oneshot/aks-oneshot/test/e2e/harness"
)

const mebibyte = 1 << 20

// figures sums up what was measured; events is the audit log.
func (b *bench) figures(spans []span, w waits, events []cluster.AuditEvent) ([]Figure, error) {
	created := creations(events)
	users := [ways]string{
		byAction:     b.plain.User,
		byKubectl:    serviceAccount("sequence"),
		byCreateWait: serviceAccount("create-wait"),
	}
	var toCreate, detection, again, requests, waiting [ways][]float64
	for _, s := range spans {
		at, ok := created[s.job]
		if !ok {
			return nil, fmt.Errorf("the audit log has no create of Job %s", s.job)
		}
		toCreate[s.way] = append(toCreate[s.way], milliseconds(at.Sub(s.began)))
		detection[s.way] = append(detection[s.way], milliseconds(s.ended.Sub(s.terminal)))
		requests[s.way] = append(requests[s.way], float64(count(events, users[s.way], s.began, s.ended)))
		if s.again > 0 {
			again[s.way] = append(again[s.way], milliseconds(s.again))
		}
	}
	for way, job := range w.jobs {
		at, ok := created[job]
		if !ok {
			return nil, fmt.Errorf("the audit log has no create of Job %q", job)
		}
		// The create's own event is not after itself.
		waiting[way] = []float64{float64(count(events, users[way], at, at.Add(b.wait)))}
	}
	actionSize, err := size(b.stage.Program)
	if err != nil {
		return nil, err
	}
	kubectlSize, err := size(b.sequence.path)
	if err != nil {
		return nil, err
	}
	return []Figure{
		Figure{
			Name: "start_to_create", Title: "start to created Job", Unit: "ms", Statistic: median,
			Goal: &Goal{Text: "at most 1/4 of kubectl's", Of: "ratio", Limit: 0.25},
		}.compare(toCreate[byAction], toCreate[byKubectl], toCreate[byCreateWait]),
		Figure{
			Name: "detection", Title: "end of the Job to exit", Unit: "ms", Statistic: median,
			Goal: &Goal{Text: "under 200 ms", Of: "value", Limit: 200, Below: true},
		}.compare(detection[byAction], detection[byKubectl], detection[byCreateWait]),
		Figure{
			Name: "replay", Title: "re-run of what has ended", Unit: "ms", Statistic: median,
			Goal: &Goal{Text: "under 60 ms", Of: "value", Limit: 60, Below: true},
		}.compare(again[byAction], again[byKubectl], nil),
		Figure{
			Name: "wait_requests", Title: fmt.Sprintf("requests while waiting %s", b.wait), Unit: "requests", Statistic: median,
			Goal: &Goal{Text: "at most 2 a minute", Of: "value", Limit: 2 * max(1, b.wait.Minutes())},
		}.compare(waiting[byAction], waiting[byKubectl], waiting[byCreateWait]),
		Figure{
			Name: "run_requests", Title: "requests of a whole run", Unit: "requests", Statistic: median,
		}.compare(requests[byAction], requests[byKubectl], requests[byCreateWait]),
		Figure{
			Name: "peak_memory", Title: "peak memory", Unit: "MiB", Statistic: maximum,
			Goal: &Goal{Text: "under 45 MiB", Of: "value", Limit: 45, Below: true},
		}.compare(mebibytes(w.peaks[byAction]), mebibytes(w.peaks[byKubectl]), mebibytes(w.peaks[byCreateWait])),
		Figure{
			Name: "binary_size", Title: "size of the stripped binary", Unit: "MiB", Statistic: maximum,
			Goal: &Goal{Text: "under 20 MiB", Of: "value", Limit: 20, Below: true},
		}.compare(actionSize, kubectlSize, kubectlSize),
	}, nil
}

// creations returns when the API server had created each Job and said so.
func creations(events []cluster.AuditEvent) map[string]time.Time {
	created := map[string]time.Time{}
	for _, e := range events {
		if e.Verb == "create" && e.Resource == "jobs" && e.Subresource == "" && e.Code == http.StatusCreated {
			created[e.Name] = e.Time
		}
	}
	return created
}

// count returns how many requests of a user came after one time and not after
// another. A watch counts when it begins.
func count(events []cluster.AuditEvent, user string, after, until time.Time) int {
	n := 0
	for _, e := range events {
		if e.User != user || !e.Time.After(after) || e.Time.After(until) {
			continue
		}
		if e.Verb == "watch" && e.Stage != "ResponseStarted" || e.Verb != "watch" && e.Stage == "ResponseStarted" {
			continue
		}
		n++
	}
	return n
}

func serviceAccount(name string) string {
	return "system:serviceaccount:" + harness.RunnersNamespace + ":" + name
}

func size(path string) ([]float64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return mebibytes([]float64{float64(info.Size())}), nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func mebibytes(bytes []float64) []float64 {
	var m []float64
	for _, b := range bytes {
		m = append(m, b/mebibyte)
	}
	return m
}
