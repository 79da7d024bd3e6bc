package azure

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// tokenError is a token that could not be had.
type tokenError struct {
	failure *failure.Error
	// temporary says that the same request may succeed later.
	temporary bool
	// spoilt says that a network or a busy server spoiled the request, which
	// nobody has repeated yet, and after what pause the server asks for.
	spoilt bool
	after  time.Duration
	// unknownYet says that Entra may come to know the federated credential, and
	// code is what it said.
	unknownYet bool
	code       int
	// also is what to tell beside it, once it is known to last.
	also string
}

func (e *tokenError) Error() string { return e.failure.Error() }

func (e *tokenError) Unwrap() error { return e.failure }

// Temporary reports whether the same request may succeed later.
func (e *tokenError) Temporary() bool { return e.temporary }

// NonRetriable tells the SDK, which repeats requests, that this was repeated.
func (*tokenError) NonRetriable() {}

// explainToken tells why a token could not be had, from what was seen on the way.
// The SDK's own text may hold a part of an answer, so it is told only where there
// was none.
func (l *login) explainToken(s seen, err error) error {
	if coded, ok := errors.AsType[*failure.Error](err); ok {
		return &tokenError{failure: coded}
	}
	e := l.tokenFailure(s, err)
	if !l.sdkRepeats() && s.spoilt() {
		e.spoilt, e.after = true, network.RetryAfter(s.answer.header, 24*time.Hour)
	}
	return e
}

func (l *login) tokenFailure(s seen, err error) *tokenError {
	doing := l.asking()
	switch {
	case s.cause != nil:
		return l.noIDToken(s.cause)
	case s.err != nil:
		return l.unanswered(doing, s)
	case s.answer.status == 0:
		return l.unasked(doing, err)
	case l.atPipelines(s.answer.host):
		return l.pipelinesRefused(s.answer)
	case l.options.Auth == ManagedIdentity:
		return l.identityRefused(doing, s.answer)
	}
	return l.denied(doing, s)
}

// asking is what is being done.
func (l *login) asking() string {
	o := l.options
	switch o.Auth {
	case GitHub:
		return fmt.Sprintf("exchanging the job's id token for a token of Entra, as client %s in tenant %s", o.ClientID, o.TenantID)
	case Pipelines:
		return fmt.Sprintf("exchanging the id token of service connection %s for a token of Entra, as client %s in tenant %s", o.ServiceConnection, o.ClientID, o.TenantID)
	case WorkloadIdentity:
		return fmt.Sprintf("exchanging the ServiceAccount's token for a token of Entra, as client %s in tenant %s", o.ClientID, o.TenantID)
	case ManagedIdentity:
		return "asking for a token of Entra for this machine's managed identity"
	case CLI:
		return "asking az for a token of Entra"
	}
	return "asking for a token of Entra"
}

// denial is Entra's answer to a request for a token that it does not grant
// (RFC 6749, 5.2, with Entra's additions: "Authentication and authorization error
// codes").
type denial struct {
	Error         string `json:"error"`
	Description   string `json:"error_description"`
	Codes         []int  `json:"error_codes"`
	CorrelationID string `json:"correlation_id"`
}

// noAssertion is Entra's answer to a request without an id token.
const noAssertion = 7000218

const fixEntra = "Check authority-host and environment, and whether a proxy answers in the place of Entra"

// denied tells of an answer of Entra's that is no token.
func (l *login) denied(doing string, s seen) *tokenError {
	a := s.answer
	if a.status/100 == 2 {
		// Nothing of it is told: there may be a token in it.
		f := failure.New(failure.CredentialFailed, "%s: the answer of %s (HTTP %d) is not one of Entra", doing, a.host, a.status)
		return &tokenError{failure: f.WithFix(fixEntra)}
	}
	d, code := denialIn(a.body)
	if code == 0 {
		f := failure.New(failure.CredentialFailed, "%s: %s answered HTTP %d%s", doing, a.host, a.status, l.saying(a.body))
		if busy(a.status) {
			return &tokenError{failure: f.WithFix("%s", a.later()), temporary: true}
		}
		return &tokenError{failure: f.WithFix(fixEntra)}
	}
	if code == noAssertion && l.options.Auth == Pipelines {
		// The SDK takes an answer without an id token for one with an empty one.
		f := failure.New(failure.CredentialFailed, "%s: there is none in its answer", l.askingPipelines())
		return &tokenError{failure: f.WithFix("%s; and check SYSTEM_OIDCREQUESTURI", fixUnnamed)}
	}
	advice, known := denials[code]
	said := d.text()
	if known {
		said = counsel.ReplaceAllString(presented.ReplaceAllString(said, "$1"), "")
	}
	f := failure.New(failure.CredentialFailed, "%s: %s%s", doing, l.clean(said, maxText), d.trace())
	e := &tokenError{failure: f, temporary: busy(a.status), code: code}
	switch {
	case known:
		e.failure, e.unknownYet = f.WithFix("%s", advice.fix(l, s.claims)), advice.unknownYet
		if advice.also != nil {
			e.also = advice.also(l, s.claims)
		}
	case e.temporary:
		e.failure = f.WithFix("%s", a.later())
	default:
		e.failure = f.WithFix("Look the code up at https://login.microsoftonline.com/error?code=%d", code)
	}
	return e
}

// denialIn reads a denial; a code of 0 says that it is none.
func denialIn(body []byte) (d denial, code int) {
	if json.Unmarshal(body, &d) != nil {
		return denial{}, 0
	}
	return d, d.code()
}

var aadsts = regexp.MustCompile(`\bAADSTS([0-9]{4,8})\b`)

// code is the number that Entra gives the failure, 0 when it gives none.
func (d denial) code() int {
	if m := aadsts.FindStringSubmatch(d.Description); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return n
		}
	}
	if len(d.Codes) > 0 && d.Codes[0] > 0 {
		return d.Codes[0]
	}
	return 0
}

var (
	// tail is what Entra adds to each description; it has fields of its own.
	tail = regexp.MustCompile(`\s*(?:Trace ID|Correlation ID|Timestamp): .*`)
	// presented is what Entra repeats of the id token: the advice has it too.
	presented = regexp.MustCompile(`(presented assertion(?: issuer| subject| audience)?)(?: '|\. Assertion Issuer: ').*`)
	// counsel is Entra's own advice, in place of which there is a better one for
	// the codes that are known.
	counsel = regexp.MustCompile(`\s*(?:Check your federated|Check to make sure|This can happen if|Review the documentation|https://learn\.microsoft\.com/).*`)
)

// text is what Entra says, on one line, its number first.
func (d denial) text() string {
	text := tail.ReplaceAllString(strings.Join(strings.Fields(d.Description), " "), "")
	if text == "" {
		text = fmt.Sprintf("Entra answered AADSTS%d", d.code())
	}
	return text
}

// trace is what Microsoft's support asks for.
func (d denial) trace() string {
	if !identifier.MatchString(d.CorrelationID) {
		return ""
	}
	return " (correlation id " + d.CorrelationID + ")"
}

// unasked tells of an error that came before anything was asked. The texts are
// the SDK's, or az's.
func (l *login) unasked(doing string, err error) *tokenError {
	what := l.clean(plainly(err), maxText)
	fix := "Check tenant-id, client-id and authority-host"
	switch l.options.Auth {
	case CLI:
		return l.azFailed(doing, what, err)
	case ManagedIdentity:
		fix = fixMachine
	case GitHub, Pipelines, WorkloadIdentity:
	}
	return &tokenError{failure: failure.New(failure.CredentialFailed, "%s: %s", doing, what).WithFix("%s", fix)}
}

// plainly is an error of the SDK's without the name of the type that it is from,
// and without the link after it.
func plainly(err error) string {
	text := sdkName.ReplaceAllString(err.Error(), "")
	text, _, _ = strings.Cut(text, " To troubleshoot, visit ")
	return text
}

var sdkName = regexp.MustCompile(`^(?:[A-Za-z]+Credential: )+`)
