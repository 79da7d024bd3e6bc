package cache

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
	"github.com/aks-oneshot/aks-oneshot/internal/escape"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

const (
	fixRunner   = "The runner sets it: do not set it in the workflow, and pass it on where the action is started by something else"
	fixOther    = "Take cache out of checkpoint-stores, and keep the records in an artifact or in the cluster"
	fixReadOnly = "GitHub gives that to runs which others can start, as those of pull requests from forks. " + fixOther
	fixTaken    = "Run again when it is free: GitHub holds a key for up to 24 hours when a save does not end"
	fixStatus   = "GitHub's service is not well: see https://www.githubstatus.com, and run again, or take cache out of checkpoint-stores"
)

func fixProxy(host string) string {
	return "Check whether a proxy answers in the place of " + host
}

func notOpened(format string, args ...any) *failure.Error {
	return failure.New(failure.CheckpointStoreFailed, "could not use the cache for records: "+format, args...)
}

// badToken tells of a runtime token that the library does not take. What it says of
// one that it could not read may have parts of it, so its words are not repeated.
func badToken(err error) error {
	what, fix := "it is no JWT", fixRunner
	text := err.Error()
	switch {
	case strings.Contains(text, "token expired"):
		what, fix = "it has expired", "It holds for about 6 hours: run the job again, and check the clock of this runner"
	case strings.Contains(text, "future issue time"):
		what, fix = "it is not valid yet", "Check the clock of this runner"
	case strings.Contains(text, "access controls"):
		what, fix = "it does not say what this job may do with the cache", fixOther
	case strings.Contains(text, "expiration time"):
		what, fix = "it does not say for how long it holds", fixOther
	}
	return notOpened("ACTIONS_RUNTIME_TOKEN is no token for it: %s", what).WithFix("%s", fix)
}

// problem is why a service did not do what was asked. It has no code yet: who asked
// knows what could not be done because of it.
type problem struct {
	what, fix string
	// temporary says that the same may be answered later, after how long the service
	// asks to wait.
	temporary bool
	after     time.Duration
	// taken says that the key is reserved, or has an entry.
	taken bool
}

// Error tells what came back.
func (p *problem) Error() string { return p.what }

// unknown is what the library returned for no reason that is known. Its own words are
// not repeated: addresses are in them, signed ones too.
func unknown() *problem {
	return &problem{what: "the client of the cache failed in an unknown way", fix: fixStatus}
}

// tried returns the problem as it is told when there was more than one try.
func (p *problem) tried(times int) *problem {
	c := *p
	if times > 1 {
		c.fix = fmt.Sprintf("It was tried %d times. %s", times, p.fix)
	}
	return &c
}

// failed is the failure that a problem makes of what was being done.
func failed(err error, format string, args ...any) error {
	doing := fmt.Sprintf(format, args...)
	p, ok := errors.AsType[*problem](err)
	if !ok {
		p = unknown()
	}
	if fault, ok := errors.AsType[*checkpoint.PanicError](err); ok {
		p = &problem{what: fault.Error(), fix: "That is a fault of this program: report it with this line. " + fixOther}
	}
	return failure.New(failure.CheckpointStoreFailed, "%s: %s", doing, p.what).WithFix("%s", p.fix)
}

// maxSaid bounds a text that others wrote, in characters.
const maxSaid = 200

// said makes one short line of what a service said.
func (s *service) said(text string) string { return escape.Foreign(text, s.hidden.Hide, maxSaid) }

// refused tells what a status that is none of success means.
func (s *service) refused(c call, host string, resp *http.Response, body []byte) *problem {
	status := resp.StatusCode
	code, said := errorOf(body)
	said = s.said(said)
	p := &problem{what: fmt.Sprintf("%s answered HTTP %d", host, status)}
	if name := http.StatusText(status); name != "" {
		p.what += " " + name
	}
	switch {
	case said != "":
		p.what += ": " + said
	case code != "":
		p.what += ": " + s.said(code)
	}
	switch {
	case isDenial(said):
		p.fix = fixReadOnly
	case c == reserve && isTaken(status, code, said):
		p.taken, p.fix = true, fixTaken
	case status == http.StatusTooManyRequests:
		p.temporary, p.after = true, network.RetryAfter(resp.Header, s.most)
		p.fix = "GitHub takes 200 uploads to the cache a minute from a repository: run again later, with fewer jobs at a time"
	case status/100 == 5 || status == http.StatusRequestTimeout:
		p.temporary, p.after = true, network.RetryAfter(resp.Header, s.most)
		p.fix = fixStatus
	case c == fetch:
		p.fix = "The entry is gone, or its address does not hold any more: run again"
	case status == http.StatusUnauthorized:
		p.fix = "The runtime token is not accepted. It holds for this job alone, and about 6 hours: run the job again"
	case status == http.StatusForbidden:
		p.fix = fixReadOnly
	case status/100 == 3:
		p.fix = "A redirect is not followed, since that would hand a credential on. " + fixProxy(host)
	default:
		p.fix = fixProxy(host) + ". " + fixOther
	}
	return p
}

// notOK tells of an answer that says that it was not done.
func (s *service) notOK(c call, host, said string) *problem {
	p := &problem{what: host + " answered that it is not done", fix: fixStatus}
	if said != "" {
		p.what += ": " + said
	}
	switch {
	case isDenial(said):
		p.fix = fixReadOnly
	case c == reserve:
		// The service has no other word for a key that somebody else is storing.
		p.taken, p.fix = true, fixTaken
	}
	return p
}

// notUnderstood tells of an answer that is none. Nothing of it is repeated: it may be
// a signed address.
func (s *service) notUnderstood(host, what string) *problem {
	return &problem{what: host + " answered with something " + what, fix: fixProxy(host)}
}

// unanswered tells why there was no answer.
func (s *service) unanswered(host string, err error) *problem {
	cause := network.CauseOf(err)
	p := &problem{what: cause.Text(host), temporary: cause.Temporary(), fix: adviceOn(cause, host)}
	if p.what == "" {
		// Only its host is in an error of network.Client; still, it goes the way of
		// everything that others wrote.
		p.what = s.said(err.Error())
	}
	return p
}

// adviceOn says what can be done about a connection that could not be had.
func adviceOn(cause network.Cause, asked string) string {
	switch cause.Kind {
	case network.AddressRefused:
		return fixRunner
	case network.TooLarge:
		return "No record is that large: " + fixProxy(asked)
	}
	return cause.Advice(asked)
}
