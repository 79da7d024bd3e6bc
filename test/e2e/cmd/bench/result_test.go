package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSeries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		statistic string
		samples   []float64
		want      float64
	}{
		{median, []float64{3}, 3}, {median, []float64{9, 1, 2}, 2}, {median, []float64{4, 1, 2, 9}, 3},
		{maximum, []float64{4, 1, 9, 2}, 9},
	} {
		s := series(c.statistic, c.samples)
		if s.Value != c.want || s.Min > s.Value || s.Max < s.Value || len(s.Samples) != len(c.samples) {
			t.Errorf("%s of %v is %+v, want %v", c.statistic, c.samples, s, c.want)
		}
	}
	samples := []float64{3, 1, 2}
	if series(median, samples); samples[0] != 3 {
		t.Errorf("the samples were sorted: %v", samples)
	}
}

func TestGoals(t *testing.T) {
	t.Parallel()
	value, quarter := Goal{Of: "value", Limit: 60, Below: true}, Goal{Of: "ratio", Limit: 0.25}
	for name, c := range map[string]struct {
		goal            Goal
		action, kubectl []float64
		met             bool
	}{
		"less":                       {value, []float64{59}, nil, true},
		"the limit of below":         {value, []float64{60}, nil, false},
		"more":                       {value, []float64{61}, nil, false},
		"the limit of at most":       {Goal{Of: "value", Limit: 2}, []float64{2}, nil, true},
		"a quarter":                  {quarter, []float64{100}, []float64{400}, true},
		"more than a quarter":        {quarter, []float64{101}, []float64{400}, false},
		"nothing to compare with":    {quarter, []float64{1}, nil, false},
		"by nothing at all":          {quarter, []float64{1}, []float64{0}, false},
		"the median counts":          {value, []float64{1, 1000, 59}, nil, true},
		"the ratio is of the values": {quarter, []float64{1, 100, 900}, []float64{400, 401, 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			goal := c.goal
			f := Figure{Statistic: median, Goal: &goal}.compare(c.action, c.kubectl, nil)
			if f.Goal.Met != c.met || met([]Figure{f, {}}) != c.met {
				t.Errorf("met is %v, want %v: %+v", f.Goal.Met, c.met, f)
			}
			if goal.Met {
				t.Error("the goal that was given was changed")
			}
		})
	}
}

func TestResult(t *testing.T) {
	t.Parallel()
	r := Result{
		Schema: Schema, Rounds: 3, Environment: Environment{CPUs: 2, LoadBefore: 0.5, LoadAfter: 1.5, Kubectl: "v1"},
		Figures: []Figure{
			Figure{Name: "start_to_create", Title: "start to created Job", Unit: "ms", Statistic: median, Goal: &Goal{Text: "at most 1/4", Of: "ratio", Limit: 0.25}}.
				compare([]float64{70, 80, 90}, []float64{400, 300, 500}, []float64{160}),
			Figure{Name: "peak_memory", Title: "peak memory", Unit: "MiB", Statistic: maximum, Goal: &Goal{Text: "under 45 MiB", Of: "value", Limit: 45, Below: true}}.
				compare([]float64{20, 50.04}, nil, nil),
		},
	}
	r.Met = met(r.Figures)
	table := r.Table()
	for _, want := range []string{
		"start to created Job [ms]  80 (70-90)        400 (300-500)  0.20   160          0.50   at most 1/4   yes\n",
		"peak memory [MiB]          50.0 (20.0-50.0)  -              -      -            -      under 45 MiB  NO\n",
		"memory: the largest of 2", "load 0.5 before, 1.5 after", "Not all goals are met.",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table has no %q:\n%s", want, table)
		}
	}
	if strings.Contains(table, "other work") {
		t.Errorf("the machine counts as busy:\n%s", table)
	}
	r.Environment.LoadBefore = 1.1
	if !strings.Contains(r.Table(), "The machine had other work to do") {
		t.Error("the machine does not count as busy")
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"schema":"aks-oneshot.bench/v1"`, `"name":"start_to_create"`, `"aks_oneshot":{"value":80,"min":70,"max":90,"samples":[70,80,90]}`,
		`"ratio":0.2,`, `"of":"ratio","limit":0.25,"below":false,"met":true`, `"met":false}`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the JSON has no %s:\n%s", want, b)
		}
	}
}
