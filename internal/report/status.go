package report

import (
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// heading is the one line to read when there is time for one.
func (r Report) heading() title {
	what, mark, said := r.Facts.Template, "❓", ": the outcome is not known"
	if what == "" {
		what = "aks-oneshot"
	}
	switch r.outcome() {
	case oneshot.Succeeded:
		mark, said = "✅", " succeeded"
	case oneshot.Failed:
		mark, said = "❌", " failed"
	case oneshot.Invalid:
		mark, said = "⛔", ": the input is not usable"
	case oneshot.Refused:
		mark, said = "⛔", " was refused"
	case oneshot.Cancelled:
		mark, said = "⏹️", " was cancelled"
	case oneshot.Unknown:
	}
	return title{mark, line{value(what), words(said)}}
}

// status says what happened in a sentence or two. It claims of the cluster only
// what the result says was seen.
func (r Report) status() line {
	switch r.outcome() {
	case oneshot.Succeeded, oneshot.Failed:
		return r.ended()
	case oneshot.Invalid:
		return line{words("The input was not usable, so nothing was dispatched.")}
	case oneshot.Refused:
		said := append(line{words("Refused")}, r.because()...)
		if !r.Result.Dispatched {
			said = append(said, words(" This run created no Job."))
		}
		return said
	case oneshot.Cancelled:
		switch {
		case r.Result.JobUID != "":
			return append(append(line{words("Cancelled. ")}, r.job()...), words(" goes on; run again to resume."))
		case r.Result.Execution.Name != "":
			return append(append(line{words("Cancelled before ")}, r.job()...), words(" was seen; run again to resume."))
		}
		return line{words("Cancelled before there was a Job; run again.")}
	case oneshot.Unknown:
	}
	said := line{words("How the run ended is not known")}
	if r.Result.Execution.Name != "" {
		said = append(append(line{words("How ")}, r.job()...), words(" ended is not known"))
	}
	return append(said, r.because()...)
}

// because names the failure's code and what it means.
func (r Report) because() line {
	means, _ := r.advice()
	if means == "" {
		return line{words(".")}
	}
	return line{words(" ("), value(string(failure.CodeOf(r.Err))), words("): "), words(means)}
}

// ended tells how a Job ended, and what this run had to do with it.
func (r Report) ended() line {
	said := r.job()
	if r.Result.Successor > 0 {
		said = append(said, words(", successor "), value(count(r.Result.Successor)), words(","))
	}
	said = append(said, words(" "+string(r.outcome())))
	if reason := r.reason(); r.outcome() == oneshot.Failed && reason != "" {
		said = append(said, words(" ("), value(reason), words(")"))
	}
	if r.Result.Successor > 0 {
		said = append(said, words(" after its predecessor had failed"))
	}
	switch {
	case r.Result.Replayed && !r.Result.Dispatched && r.Result.JobUID == "":
		said = append(said, words(" in an earlier run. That is what the records say; this run neither read nor created the Job."))
	case r.Result.Dispatched && r.Result.Resumed:
		said = append(said, words(". This run resumed from the records of an earlier one and created a Job."))
	case r.Result.Dispatched:
		said = append(said, words(". This run created it."))
	case r.Result.Resumed:
		said = append(said, words(". This run resumed from the records of an earlier one and created no Job."))
	default:
		said = append(said, words(". This run found it and created no Job."))
	}
	return said
}

// job names the Job.
func (r Report) job() line {
	e := r.Result.Execution
	said := line{words("Job "), value(e.Name)}
	if e.Namespace != "" {
		said = append(said, words(" in namespace "), value(e.Namespace))
	}
	return said
}

// reason returns the machine-readable reason of the Failed condition, or "".
func (r Report) reason() string {
	for _, c := range r.conditions() {
		if c.kind == "Failed" && c.status == "True" {
			return c.reason
		}
	}
	return ""
}
