package standin

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

// refusal is an error of Entra's with what its text speaks of; code 0 is none.
type refusal struct {
	code                  int
	tenant, client, scope string
	// Of the assertion, as it says of itself.
	id, issuer, subject, audience string
	from, until                   time.Time
	detail                        string
}

// aadsts says what the errors look like: the OAuth error, the status, and the
// text after the code. The texts are those that people see.
// https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes
var aadsts = map[int]struct {
	kind   string
	status int
	text   func(r refusal) string
}{
	70021: {"invalid_request", 400, func(r refusal) string {
		return fmt.Sprintf("No matching federated identity record found for presented assertion. Assertion Issuer: '%s'. Assertion Subject: '%s'. Assertion Audience: '%s'. https://learn.microsoft.com/entra/workload-id/workload-identity-federation", r.issuer, r.subject, r.audience)
	}},
	700211: {"invalid_client", 401, func(r refusal) string { return noMatch("issuer", r.issuer) }},
	700212: {"invalid_client", 401, func(r refusal) string { return noMatch("audience", r.audience) }},
	700213: {"invalid_client", 401, func(r refusal) string { return noMatch("subject", r.subject) }},
	7002138: {"invalid_client", 401, func(r refusal) string {
		return fmt.Sprintf("No matching federated identity record found for presented assertion subject '%s'. The subject matches with case-insensitive comparison, but not with case-sensitive comparison. Check your federated identity credential Subject, Audience and Issuer against the presented assertion. https://learn.microsoft.com/entra/workload-id/workload-identity-federation", r.subject)
	}},
	700024: {"invalid_client", 401, func(r refusal) string {
		const layout = "2006-01-02T15:04:05.0000000Z"
		return fmt.Sprintf("Client assertion is not within its valid time range. Current time: %s, assertion valid from %s, expiry time of assertion %s. Review the documentation at https://learn.microsoft.com/entra/identity-platform/certificate-credentials .",
			time.Now().UTC().Format(layout), r.from.UTC().Format(layout), r.until.UTC().Format(layout))
	}},
	700027: {"invalid_client", 401, func(r refusal) string {
		return "The client assertion failed signature validation. " + r.detail
	}},
	50166: {"invalid_client", 401, func(r refusal) string {
		return "Request to External OIDC endpoint failed. " + r.detail
	}},
	50027: {"invalid_client", 401, func(refusal) string { return "JWT token is invalid or malformed." }},
	700016: {"unauthorized_client", 400, func(r refusal) string {
		return fmt.Sprintf("Application with identifier '%s' was not found in the directory '%s'. This can happen if the application has not been installed by the administrator of the tenant or consented to by any user in the tenant. You may have sent your authentication request to the wrong tenant.", r.client, r.tenant)
	}},
	7000229: {"unauthorized_client", 401, func(r refusal) string {
		return fmt.Sprintf("The client application %s is missing service principal in the tenant %s. See instructions here: https://go.microsoft.com/fwlink/?linkid=2225119", r.client, r.tenant)
	}},
	7000112: {"unauthorized_client", 400, func(r refusal) string {
		return fmt.Sprintf("Application '%s' is disabled.", r.client)
	}},
	7000215: {"invalid_client", 401, func(r refusal) string {
		return fmt.Sprintf("Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID, for a secret added to app '%s'.", r.client)
	}},
	90002: {"invalid_tenant", 400, func(r refusal) string {
		return fmt.Sprintf("Tenant '%s' not found. Check to make sure you have the correct tenant ID and are signing into the correct cloud. Check with your subscription administrator, this may happen if there are no active subscriptions for the tenant.", r.tenant)
	}},
	500011: {"invalid_resource", 400, func(r refusal) string {
		return fmt.Sprintf("The resource principal named %s was not found in the tenant named %s. This can happen if the application has not been installed by the administrator of the tenant or consented to by any user in the tenant. You might have sent your authentication request to the wrong tenant.", resource(r.scope), r.tenant)
	}},
	53003: {"invalid_grant", 400, func(refusal) string {
		return "Access has been blocked by Conditional Access policies. The access policy does not allow token issuance."
	}},
	900144: {"invalid_request", 400, func(r refusal) string {
		return fmt.Sprintf("The request body must contain the following parameter: '%s'.", r.detail)
	}},
	70003: {"unsupported_grant_type", 400, func(r refusal) string {
		return fmt.Sprintf("The app requested an unsupported grant type '%s'.", r.detail)
	}},
	7000218: {"invalid_client", 401, func(refusal) string {
		return "The request body must contain the following parameter: 'client_assertion' or 'client_secret'."
	}},
	7000216: {"invalid_client", 401, func(r refusal) string {
		return "'client_assertion', 'client_secret' or 'request' is required for the 'client_credentials' grant type. " + r.detail
	}},
	1002012: {"invalid_scope", 400, func(r refusal) string {
		return fmt.Sprintf("The provided value for scope %s is not valid. Client credential flows must have a scope value with /.default suffixed to the resource identifier (application ID URI).", r.scope)
	}},
	90100: {"invalid_request", 400, func(r refusal) string {
		return fmt.Sprintf("%s parameter is empty or not valid.", r.detail)
	}},
	90033: {"temporarily_unavailable", 503, func(refusal) string {
		return "A transient error has occurred. Please try again."
	}},
	90055: {"temporarily_unavailable", 429, func(refusal) string {
		return "The server has terminated the request because there are too many requests from this tenant. Please try again later."
	}},
}

func noMatch(what, value string) string {
	return fmt.Sprintf("No matching federated identity record found for presented assertion %s '%s'. Check your federated identity credential Subject, Audience and Issuer against the presented assertion. https://learn.microsoft.com/entra/workload-id/workload-identity-federation", what, value)
}

// resource is a scope without the suffix.
func resource(scope string) string {
	for name := range strings.FieldsSeq(scope) {
		if r, ok := strings.CutSuffix(name, "/.default"); ok {
			return r
		}
	}
	return scope
}

// refuse answers with an error as Entra does.
func (e *Entra) refuse(w http.ResponseWriter, r *http.Request, why refusal) {
	shape, ok := aadsts[why.code]
	if !ok {
		panic(fmt.Sprintf("AADSTS%d has no text here", why.code))
	}
	trace, correlation := uuid.NewString(), r.Header.Get("Client-Request-Id")
	if correlation == "" {
		correlation = uuid.NewString()
	}
	now := time.Now().UTC().Format("2006-01-02 15:04:05Z")
	w.Header().Set("X-Ms-Request-Id", trace)
	body := map[string]any{
		"error": shape.kind,
		"error_description": fmt.Sprintf("AADSTS%d: %s Trace ID: %s Correlation ID: %s Timestamp: %s",
			why.code, shape.text(why), trace, correlation, now),
		"error_codes": []int{why.code}, "timestamp": now, "trace_id": trace, "correlation_id": correlation,
		"error_uri": fmt.Sprintf("%s/error?code=%d", e.URL, why.code),
	}
	if why.code == 53003 {
		body["suberror"] = "message_only"
	}
	writeJSON(w, shape.status, body)
}

// Error answers with one of Entra's errors, with what the request says in its
// text. The header are names and values in turn, as "Retry-After", "1". A code
// that has no text here panics; there are:
//
//	70021    no federated credential, as it was said in earlier years
//	700211   no federated credential of the issuer
//	700212   no federated credential of the audience
//	700213   no federated credential of the subject
//	7002138  one of the subject, but for the case of its letters
//	700024   the assertion has ended, or is not good yet
//	700027   the assertion's signature is wrong
//	50166    the issuer's keys cannot be had
//	50027    the assertion is no JWT
//	700016   no such application in the tenant
//	7000229  the application has no service principal in the tenant
//	7000112  the application is disabled
//	7000215  a secret, and a wrong one
//	90002    no such tenant
//	500011   no such resource
//	53003    conditional access refuses
//	900144, 90100, 70003, 7000216, 7000218, 1002012   the form is wrong
//	90033    a transient error: 503
//	90055    too many requests: 429
func (e *Entra) Error(code int, header ...string) Answer {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		tenant, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		why := refusal{code: code, tenant: tenant}
		if r.Method == http.MethodPost && r.ParseForm() == nil {
			why, _ = readForm(r, tenant)
			why.code = code
		}
		e.note(r, why)
		e.refuse(w, r, why)
	}
}
