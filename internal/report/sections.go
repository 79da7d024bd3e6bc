package report

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

const (
	// maxRows is the most steps that are listed; of more, the first and the
	// last ones.
	maxRows = 100
	// maxItems is the most args or names that are listed.
	maxItems = 24
)

// document puts the sections together. A section that has nothing to tell is
// left out.
func (r Report) document() document {
	d := document{r.heading(), paragraph(r.status())}
	for _, section := range []func() []block{r.why, r.missing, r.facts, r.steps, r.evidence, r.digests} {
		d = append(d, section()...)
	}
	return d
}

// why tells the failure in full.
func (r Report) why() []block {
	if r.Err == nil {
		return nil
	}
	means, do := r.advice()
	rows := pairs{}
	rows.add("Reason", value(string(failure.CodeOf(r.Err))))
	rows.add("It means", words(means))
	if e := r.failure(); e != nil {
		rows.add("At", value(e.Field))
	}
	rows.add("What to do", piece{text: do, limit: maxAdvice, sentence: true})
	return []block{heading("Why"), rows.table(), verbatim(r.message())}
}

// facts tells what was run, and where.
func (r Report) facts() []block {
	f, e := r.Facts, r.Result.Execution
	rows := pairs{}
	rows.add("Cluster", value(f.Cluster))
	rows.add("Namespace", value(f.Namespace))
	rows.add("Template", value(f.Template))
	rows.add("Purpose", value(f.Purpose))
	rows.add("Job", value(e.Name))
	rows.add("Job UID", value(r.Result.JobUID))
	rows.add("ServiceAccount", value(f.ServiceAccount))
	rows.add("Container", value(f.Container))
	rows.add("Image", value(f.Image))
	rows.add("Args", list(f.Args)...)
	rows.add("Environment overrides", list(f.EnvironmentNames)...)
	if e.Name != "" {
		rows.add("Created by this run", words(r.created()))
		rows.add("Resumed", words(yes(r.Result.Resumed)))
	}
	rows.add("Resumed from", piece{text: f.ResumedFrom, limit: maxName, sentence: true})
	if r.Result.Successor > 0 {
		rows.add("Successor", value(count(r.Result.Successor)))
	}
	rows.add("Contract", value(f.Contract))
	rows.add("Work folder", value(f.CheckpointDir))
	rows.add("Checkpoint stores", brief(strings.Join(f.Stores, ", ")))
	if len(f.Stores) > 0 && e.Name != "" {
		rows.add("All records stored", words(yes(f.stored())))
	}
	if !r.Started.IsZero() {
		rows.add("Started", words(r.Started.UTC().Format(time.RFC3339)))
	}
	if r.Result.Duration > 0 {
		rows.add("Took", words(span(r.Result.Duration)))
	}
	return []block{heading("Facts"), rows.table()}
}

// steps tells what happened when. The Job has a column where there are several.
func (r Report) steps() []block {
	if len(r.Events) == 0 {
		return nil
	}
	start := r.Started
	if start.IsZero() {
		start = r.Events[0].At
	}
	several := severalJobs(r.Events)
	t := table{header: []string{"Time (UTC)", "After", "Step", "What happened"}}
	if several {
		t.header = append(t.header, "Job")
	}
	for i, e := range r.Events {
		if left := len(r.Events) - maxRows; left > 0 && i >= maxRows/2 && i < maxRows/2+left {
			if i == maxRows/2 {
				t.rows = append(t.rows, []line{{}, {}, {}, {words(count(left) + " more steps")}})
			}
			continue
		}
		row := []line{
			{words(e.At.UTC().Format(time.TimeOnly))},
			{words(span(max(0, e.At.Sub(start))))},
			{{text: string(e.Kind), limit: maxName, sentence: true}},
			{loose(e.Text)},
		}
		if several {
			row = append(row, line{brief(e.Execution)})
		}
		t.rows = append(t.rows, row)
	}
	return []block{heading("Steps"), t}
}

func severalJobs(events []oneshot.Event) bool {
	first := ""
	for _, e := range events {
		if first == "" {
			first = e.Execution
		}
		if e.Execution != first && e.Execution != "" {
			return true
		}
	}
	return false
}

// evidence tells what was seen of the Job's status at its end.
func (r Report) evidence() []block {
	if r.Result.Evidence == nil {
		return nil
	}
	t := table{header: []string{"Condition", "Status", "Reason"}}
	for _, c := range r.conditions() {
		t.rows = append(t.rows, []line{{brief(c.kind)}, {brief(c.status)}, {brief(c.reason)}})
	}
	rows := pairs{}
	rows.add("Pods succeeded", value(scalar(r.Result.Evidence["succeeded"])))
	rows.add("Pods failed", value(scalar(r.Result.Evidence["failed"])))
	rows.add("Completed", value(scalar(r.Result.Evidence["completion_time"])))
	blocks := []block{heading("How the Job ended")}
	if len(t.rows) > 0 {
		blocks = append(blocks, t)
	}
	return append(blocks, rows.table())
}

type condition struct{ kind, status, reason string }

// conditions reads the evidence's conditions, at most [maxItems].
func (r Report) conditions() []condition {
	items, _ := r.Result.Evidence["conditions"].([]any)
	var conditions []condition
	for _, item := range items[:min(len(items), maxItems)] {
		c, _ := item.(map[string]any)
		conditions = append(conditions, condition{scalar(c["type"]), scalar(c["status"]), scalar(c["reason"])})
	}
	return conditions
}

// digests tells what was pinned and what it came to, folded away.
func (r Report) digests() []block {
	e := r.Result.Execution
	rows := pairs{}
	for _, d := range []struct {
		is     string
		digest contract.Digest
	}{
		{"Execution", e.Digest}, {"Manifest", e.ManifestDigest}, {"Job contract", e.ContractDigest},
	} {
		if !d.digest.IsZero() {
			rows.add(d.is, value(d.digest.String()))
		}
	}
	rows.add("Template, as pinned", value(r.Facts.TemplateDigest))
	rows.add("Identity binding, as pinned", value(r.Facts.BindingDigest))
	if len(rows) == 0 {
		return nil
	}
	return []block{fold{"Digests", rows.table()}}
}

// pairs are the rows of a table of names and values.
type pairs [][]line

// add appends a row, unless there is no value.
func (p *pairs) add(name string, v ...piece) {
	if len(v) == 0 || len(v) == 1 && v[0].text == "" && !v[0].item {
		return
	}
	*p = append(*p, []line{{words(name)}, v})
}

func (p pairs) table() table { return table{rows: p} }

// list returns the items as values, at most [maxItems] of them.
func list(items []string) line {
	var l line
	for i, item := range items {
		if i == maxItems {
			return append(l, words(" and "+count(len(items)-i)+" more"))
		}
		if i > 0 {
			l = append(l, words(" "))
		}
		l = append(l, piece{text: item, limit: maxValue, item: true})
	}
	return l
}

// scalar shows a JSON value that is no container; anything else is "".
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case int, int64, float64, bool:
		return fmt.Sprint(v)
	}
	return ""
}

// created says whether this run created the Job. A create without an answer may
// have had its effect.
func (r Report) created() string {
	outcome := r.outcome()
	if !r.Result.Dispatched && r.Result.JobUID == "" && (outcome == oneshot.Unknown || outcome == oneshot.Cancelled) {
		return "not known"
	}
	return yes(r.Result.Dispatched)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func count(n int) string { return strconv.Itoa(n) }

// span shows a duration as people say it.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return count(int(d/time.Millisecond)) + " ms"
	case d < time.Minute:
		return fmt.Sprintf("%d.%d s", d/time.Second, d%time.Second/(100*time.Millisecond))
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d h %02d min", d/time.Hour, d%time.Hour/time.Minute)
}
