package azure

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// tokenError is a token that could not be had.
type tokenError struct {
	failure *failure.Error
	// temporary says that the same request may succeed later.
	temporary bool
	// unknownYet says that Entra may come to know the federated credential, and
	// code is what it said.
	unknownYet bool
	code       int
}

func (e *tokenError) Error() string { return e.failure.Error() }

func (e *tokenError) Unwrap() error { return e.failure }

// Temporary reports whether the same request may succeed later.
func (e *tokenError) Temporary() bool { return e.temporary }

// NonRetriable tells the SDK, which repeats requests, that this was repeated.
func (*tokenError) NonRetriable() {}

// denial is Entra's answer to a request for a token that it does not grant
// (RFC 6749, 5.2, with Entra's additions: "Authentication and authorization error
// codes").
type denial struct {
	Error         string `json:"error"`
	Description   string `json:"error_description"`
	Codes         []int  `json:"error_codes"`
	CorrelationID string `json:"correlation_id"`
	TraceID       string `json:"trace_id"`
}

// explainToken tells why a token could not be had.
func (l *login) explainToken(t *trail, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	doing := l.asking()
	var coded *failure.Error
	if errors.As(t.cause, &coded) || errors.As(err, &coded) {
		return &tokenError{failure: coded}
	}
	if t.err != nil {
		return l.unanswered(doing, t)
	}
	var failed *azidentity.AuthenticationFailedError
	if errors.As(err, &failed) && failed.RawResponse != nil {
		return l.denied(doing, t, failed.RawResponse)
	}
	return l.withoutAnswer(doing, t, err)
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
		return "exchanging the ServiceAccount's token for a token of Entra"
	case ManagedIdentity:
		return "asking the machine's managed identity for a token of Entra"
	case CLI:
		return "asking az for a token of Entra"
	}
	return "asking for a token of Entra"
}

// denied tells of an answer that is no token.
func (l *login) denied(doing string, t *trail, resp *http.Response) error {
	body, err := runtime.Payload(resp)
	if err != nil {
		body = nil
	}
	if l.options.Auth == Pipelines && resp.Request != nil && resp.Request.URL.Host != l.authorityHost() {
		return l.withoutIDToken(resp, body)
	}
	var d denial
	code := 0
	if json.Unmarshal(body, &d) == nil {
		code = d.code()
	}
	if code == 0 {
		f := failure.New(failure.CredentialFailed, "%s: %s answered HTTP %d%s", doing, t.host, resp.StatusCode, l.saying(string(body)))
		return &tokenError{failure: f.WithFix("%s", fixStatus(resp)), temporary: temporary(resp.StatusCode)}
	}
	f := failure.New(failure.CredentialFailed, "%s: %s%s", doing, l.clean(d.text(), maxText), d.trace())
	e := &tokenError{failure: f, temporary: temporary(resp.StatusCode), code: code}
	if advice, known := denials[code]; known {
		e.failure = f.WithFix("%s", advice.fix(l, t.claims))
		e.unknownYet = advice.unknownYet
	} else {
		e.failure = f.WithFix("Look the code up at https://login.microsoftonline.com/error?code=%d", code)
	}
	return e
}

var aadsts = regexp.MustCompile(`\bAADSTS([0-9]{4,8})\b`)

// code is the number that Entra gives the failure, 0 when it gives none.
func (d denial) code() int {
	if m := aadsts.FindStringSubmatch(d.Description); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return n
		}
	}
	if len(d.Codes) > 0 {
		return d.Codes[0]
	}
	return 0
}

// tail is what Entra adds to each description; it has fields of its own.
var tail = regexp.MustCompile(`\s*(?:Trace ID|Correlation ID|Timestamp): .*`)

// text is what Entra says, on one line, its number first.
func (d denial) text() string {
	text := strings.Join(strings.Fields(strings.ReplaceAll(d.Description, "\r", " ")), " ")
	if text = tail.ReplaceAllString(text, ""); text == "" {
		text = fmt.Sprintf("AADSTS%d", d.code())
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

var identifier = regexp.MustCompile(`^[0-9A-Fa-f-]{8,64}$`)

func temporary(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status/100 == 5
}

func fixStatus(resp *http.Response) string {
	if temporary(resp.StatusCode) {
		if after := resp.Header.Get("Retry-After"); seconds.MatchString(after) {
			return "Run again in " + after + " s"
		}
		return "Run again in a few minutes"
	}
	return "Check authority-host and environment, and whether a proxy answers in the place of Entra"
}

var seconds = regexp.MustCompile(`^[0-9]{1,6}$`)
