package main

import (
	"fmt"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/host/terminal"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
	"github.com/aks-oneshot/aks-oneshot/internal/report"
)

// event shows one event as it happens, with the seconds since the start.
func (s *session) event(e oneshot.Event) {
	s.know(func(r *report.Report) { r.Events = append(r.Events, e) })
	s.host.Log(fmt.Sprintf("%8.3fs  %-10s  %s", e.At.Sub(s.report.Started).Seconds(), e.Kind, e.Text))
}

// tell hands over the outputs and tells people what became of the run. What
// cannot be told is a warning and no more: it changes nothing about the Job.
func (s *session) tell(r report.Report) {
	if needsRole(r.Err) {
		r.Err = pointedToRole(r.Err, s.grantee() != "")
	}
	for _, output := range report.Outputs(r.Result, r.Err, r.Facts) {
		if err := s.host.Output(output.Name, output.Value); err != nil {
			s.host.Warning("", err.Error())
		}
	}
	if needsRole(r.Err) {
		s.tellRole()
	}
	title, message := r.Annotation()
	switch r.Result.Outcome {
	case oneshot.Succeeded:
		s.host.Log(r.Status())
	case oneshot.Cancelled:
		s.host.Warning(title, message)
	default:
		s.host.Error(title, message)
	}
	if len(r.Facts.Missing) > 0 {
		s.host.Warning("checkpoints-stored: false", strings.Join(r.Facts.Missing, "\n"))
	}
	if err := s.host.Summary(r); err != nil {
		s.host.Warning("", err.Error())
	}
}

// tellRole shows the Role to apply, in a group of its own in the log of a job. A
// terminal indents what is in a group, and YAML that is indented has no documents
// any more: there it is shown as it is to be pasted.
func (s *session) tellRole() {
	const title = "The Role that this run needs, to be bound to its identity"
	text := strings.TrimSuffix(grant(s.grantee()), "\n")
	if _, ok := s.host.(*terminal.Host); ok {
		s.host.Log(title + ":\n" + text)
		return
	}
	end := s.host.Group(title)
	s.host.Log(text)
	end()
}
