package main

import (
	"slices"
	"time"
)

// Schema names the form of the JSON.
const Schema = "aks-oneshot.bench/v1"

// Result is everything that was measured, as it is written to BENCH_OUT.
type Result struct {
	Schema      string      `json:"schema"`
	Measured    time.Time   `json:"measured"`
	Environment Environment `json:"environment"`
	Rounds      int         `json:"rounds"`
	WaitSeconds float64     `json:"wait_seconds"`
	Figures     []Figure    `json:"figures"`
	// Met says that every goal is met.
	Met bool `json:"met"`
}

// Figure is one thing that was measured, of each way to run a Job.
type Figure struct {
	// Name is stable: start_to_create, detection, replay, wait_requests,
	// run_requests, peak_memory, binary_size, sign_in, sign_in_delays,
	// sign_in_requests, and stores_WHICH, stores_WHICH_delays, stores_WHICH_requests
	// of artifact, cluster, cache and both.
	Name  string `json:"name"`
	Title string `json:"title"`
	// Unit is ms, MiB, requests, or delays of 100 ms.
	Unit string `json:"unit"`
	// Statistic says what stands for the samples: median or max.
	Statistic string `json:"statistic"`

	Action     Series  `json:"aks_oneshot"`
	Kubectl    *Series `json:"kubectl,omitempty"`
	CreateWait *Series `json:"create_wait,omitempty"`
	// Ratio is the action's value by kubectl's, RatioCreateWait by that of
	// kubectl create job and kubectl wait.
	Ratio           *float64 `json:"ratio,omitempty"`
	RatioCreateWait *float64 `json:"ratio_create_wait,omitempty"`

	Goal *Goal `json:"goal,omitempty"`
}

// Goal is what a figure is to be.
type Goal struct {
	Text string `json:"text"`
	// Of is what is limited: value or ratio.
	Of    string  `json:"of"`
	Limit float64 `json:"limit"`
	// Below says that the limit itself is too much.
	Below bool `json:"below"`
	Met   bool `json:"met"`
}

// Series is what was measured again and again.
type Series struct {
	Value   float64   `json:"value"`
	Min     float64   `json:"min"`
	Max     float64   `json:"max"`
	Samples []float64 `json:"samples"`
}

const (
	median  = "median"
	maximum = "max"
)

// series sums samples up; there must be one.
func series(statistic string, samples []float64) Series {
	sorted := slices.Sorted(slices.Values(samples))
	n := len(sorted)
	s := Series{Min: sorted[0], Max: sorted[n-1], Samples: samples}
	s.Value = (sorted[(n-1)/2] + sorted[n/2]) / 2
	if statistic == maximum {
		s.Value = s.Max
	}
	return s
}

// compare fills in what follows from the figure's series. Without samples of a
// way to run a Job, it has no series.
func (f Figure) compare(action, kubectl, createWait []float64) Figure {
	f.Action = series(f.Statistic, action)
	other := func(samples []float64) (*Series, *float64) {
		if len(samples) == 0 {
			return nil, nil
		}
		s := series(f.Statistic, samples)
		if s.Value == 0 {
			return &s, nil
		}
		ratio := f.Action.Value / s.Value
		return &s, &ratio
	}
	f.Kubectl, f.Ratio = other(kubectl)
	f.CreateWait, f.RatioCreateWait = other(createWait)
	if f.Goal != nil {
		goal := *f.Goal
		f.Goal = &goal
		value := f.Action.Value
		if goal.Of == "ratio" {
			if f.Ratio == nil {
				return f // Nothing to compare with: not met.
			}
			value = *f.Ratio
		}
		f.Goal.Met = value < goal.Limit || !goal.Below && value == goal.Limit
	}
	return f
}

// met reports whether every goal is met.
func met(figures []Figure) bool {
	return !slices.ContainsFunc(figures, func(f Figure) bool { return f.Goal != nil && !f.Goal.Met })
}
