package artifact

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

const (
	fixRunner = "The runner sets it: run this as an action of a workflow on GitHub, or use checkpoint-stores: cluster"
	fixStatus = "See https://www.githubstatus.com, and run again; it resumes"
	fixLost   = "Run again. If it stays so, find out in the cluster whether the Job of this execution ran: what the artifact says of it is lost, unless another checkpoint store has it"
	grant     = "Give the job `permissions: actions: read` and leave github-token at its default"
	fixWarned = grant + ": a run that is run again keeps the permissions that it began with"
	// A re-run takes the workflow as it was, so that nothing mends this one.
	fixGrant = grant + ", and begin a new run: one that is run again keeps the permissions that it began with. " +
		"A new run does not see these artifacts: before, make sure by the logs of the earlier attempts, and in the cluster, that they dispatched nothing"
)

func missing(variable, what string) error {
	return storeFailed("the results service cannot be asked: there is no %s, which says %s", variable, what).WithFix(fixRunner)
}

// errNoToken is why the REST API is not asked.
var errNoToken = errors.New("there is no github-token to ask the REST API with")

// full reports whether it was refused because there is no room for artifacts left.
func (t *trouble) full() bool {
	said := strings.ToLower(t.said)
	return strings.Contains(said, "storage quota") || strings.Contains(said, "insufficient usage")
}

// denied reports whether a permission is what is missing. Of a repository that the
// token may not see the REST API says that there is none.
func (t *trouble) denied() bool {
	switch t.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return t.err == nil && !t.limited && !t.full()
	}
	return false
}

// failure tells the trouble to people.
func (t *trouble) failure() *failure.Error {
	f := storeFailed("%s: %s", t.doing, t.text())
	f.Err = t.err
	return f.WithFix("%s", t.fix())
}

// text says what came back, as the part of a sentence.
func (t *trouble) text() string {
	if t.err != nil {
		return t.noAnswer()
	}
	text := fmt.Sprintf("%s (%s) answered HTTP %d", t.service.name, t.host, t.status)
	if name := http.StatusText(t.status); name != "" {
		text += " (" + name + ")"
	}
	for _, said := range []string{t.code, t.said} {
		if said != "" {
			text += ": " + said
		}
	}
	if t.tries > 1 {
		text += fmt.Sprintf(", at the last of %d tries", t.tries)
	}
	if t.after > 0 {
		text += fmt.Sprintf(", and asks for a pause of %v", t.after)
	}
	return text
}

func (t *trouble) noAnswer() string {
	if errors.Is(t.err, errAnswer) {
		return fmt.Sprintf("what %s (%s) answered cannot be used: %s", t.service.name, t.host, strings.TrimPrefix(t.err.Error(), errAnswer.Error()+": "))
	}
	text := network.CauseOf(t.err).Text(t.host)
	if text == "" {
		text = t.service.clean(t.err.Error())
	}
	if t.tries > 1 {
		text += fmt.Sprintf(", at the last of %d tries", t.tries)
	}
	return text
}

// fix says what people can do.
func (t *trouble) fix() string {
	switch {
	case t.full():
		return "Delete artifacts that nobody needs, or wait: what is used is counted again every 6 to 12 hours; or use checkpoint-stores: cluster"
	case errors.Is(t.err, errAnswer):
		return "Check whether a proxy answers in the place of " + t.service.name
	case t.err != nil:
		return t.fixNetwork()
	case t.limited || t.status == http.StatusTooManyRequests:
		return "Too much was asked in a short time: run again later; it resumes. That a job has at most 500 artifacts is a limit too"
	case t.status/100 == 5:
		return fixStatus
	case t.service.name == restName && t.denied():
		return fixGrant
	case t.status == http.StatusGone:
		return fixLost
	case t.status == http.StatusUnauthorized:
		return "The token of this job (ACTIONS_RUNTIME_TOKEN) is not accepted, or no longer: it ends with the job. Run again"
	case t.status == http.StatusForbidden:
		return "The token of this job may not do that: artifacts may be switched off, or the run may be one that must not store any. Use checkpoint-stores: cluster"
	case t.status == http.StatusNotFound && t.service.name == resultsName && !strings.Contains(t.code, "not_found"):
		return "There is no artifact service of version 4 there: GitHub Enterprise Server has none. Use checkpoint-stores: cluster"
	}
	return fixStatus
}

// fixNetwork says it of a connection that could not be had.
func (t *trouble) fixNetwork() string {
	cause := network.CauseOf(t.err)
	if cause.Kind == network.AddressRefused {
		return fixRunner
	}
	return cause.Advice(t.host) + ". Run again then; it resumes"
}

const (
	resultsName = "the results service"
	restName    = "the REST API"
	storageName = "the storage"
)

// failureOf returns an error as it is told to others: coded, unless it is what ended
// ctx.
func failureOf(err error) error {
	switch e := err.(type) { //nolint:errorlint // what wraps one has a text of its own
	case *trouble:
		return e.failure()
	case *unreadableError:
		f := storeFailed("%s", e.text).WithFix("%s", fixLost)
		f.Err = e
		return f
	}
	return err
}

// textOf returns an error without its code, and that of a service without what can be
// done.
func textOf(err error) string {
	switch e := err.(type) { //nolint:errorlint // what wraps one has a text of its own
	case *trouble:
		return e.doing + ": " + e.text()
	case *failure.Error:
		return e.Text()
	}
	return err.Error()
}

// unreadable says why a copy has no content.
func unreadable(r row, err error) error {
	fix := fixLost
	if t, ok := errors.AsType[*trouble](err); ok {
		fix = t.fix()
	}
	f := storeFailed("the %s cannot be read: %s", r.where(), textOf(err)).WithFix("%s", fix)
	f.Err = err
	return f
}

// warn tells once, in the first attempt, that a later one may not find what is stored
// now.
func (s *Store) warn(err error) {
	t, ok := errors.AsType[*trouble](err)
	if !errors.Is(err, errNoToken) && (!ok || !t.denied()) {
		return
	}
	text := errNoToken.Error()
	if ok {
		text = t.text()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.warned {
		s.warned = true
		s.options.Notify("a later attempt of this run may not be able to look for the artifacts that this one stores, and will not go on then: " + text + ". " + fixWarned)
	}
}

// blind says what the REST API would have shown, and how it could.
func (s *Store) blind(err error) error {
	const lost = "records that earlier attempts of this run stored as artifacts may be there and cannot be looked for: "
	t, ok := errors.AsType[*trouble](err)
	switch {
	case errors.Is(err, errNoToken):
		return failure.New(failure.PermissionDenied, lost+"%w", err).WithFix(fixGrant)
	case ok && t.denied():
		f := failure.New(failure.PermissionDenied, "%s%s", lost, t.text()).WithFix(fixGrant)
		f.Err = t
		return f
	case ok:
		f := t.failure()
		f.Message = lost + f.Message
		return f
	}
	if f, ok := errors.AsType[*failure.Error](err); ok {
		g := *f
		g.Message = lost + f.Message
		return &g
	}
	return storeFailed(lost+"%w", err)
}
