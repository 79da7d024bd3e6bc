package standin

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

// serveToken answers a token request.
func (e *Entra) serveToken(w http.ResponseWriter, r *http.Request, tenant string) {
	asked, assertion := readForm(r, tenant)
	why := asked
	if why.code == 0 {
		why = e.judge(r, asked, assertion)
	}
	e.note(r, why)
	if why.code != 0 {
		e.refuse(w, r, why)
		return
	}
	e.mu.Lock()
	app, options := *e.app(tenant, asked.client), e.options
	e.mu.Unlock()
	token, _, err := e.issue(tenant, app, resource(asked.scope), options.lifetime())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	// A second less than the token lives, as the real one says.
	seconds := int(options.lifetime().Seconds()) - 1
	answer := map[string]any{"token_type": "Bearer", "expires_in": seconds, "ext_expires_in": seconds, "access_token": token}
	if options.RefreshIn > 0 {
		answer["refresh_in"] = int(options.RefreshIn.Seconds())
	}
	writeJSON(w, http.StatusOK, answer)
}

func (o EntraOptions) lifetime() time.Duration {
	if o.Lifetime == 0 {
		return time.Hour
	}
	return o.Lifetime
}

// readForm reads the form strictly: what a token request has to have, once each.
func readForm(r *http.Request, tenant string) (asked refusal, assertion string) {
	asked = refusal{tenant: tenant}
	refuse := func(code int, detail string) (refusal, string) {
		asked.code, asked.detail = code, detail
		return asked, ""
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return refuse(900144, "grant_type")
	}
	if err := r.ParseForm(); err != nil || r.URL.RawQuery != "" {
		return refuse(90100, "request")
	}
	for name, values := range r.PostForm {
		if len(values) != 1 {
			return refuse(90100, name)
		}
	}
	get := r.PostForm.Get
	assertion = get("client_assertion")
	asked.client, asked.scope = get("client_id"), get("scope")
	asked.describe(assertion)
	switch {
	case get("grant_type") == "":
		return refuse(900144, "grant_type")
	case get("grant_type") != "client_credentials":
		return refuse(70003, get("grant_type"))
	case asked.client == "":
		return refuse(900144, "client_id")
	case asked.scope == "":
		return refuse(900144, "scope")
	case get("client_secret") != "":
		return refuse(7000215, "")
	case assertion == "":
		return refuse(7000218, "")
	case get("client_assertion_type") == "":
		return refuse(900144, "client_assertion_type")
	case get("client_assertion_type") != assertionType:
		return refuse(7000216, fmt.Sprintf("The client_assertion_type '%s' is not supported.", get("client_assertion_type")))
	case !oneResource(asked.scope):
		return refuse(1002012, "")
	}
	return asked, assertion
}

// oneResource reports whether a scope names the permissions of one resource, with
// or without the scopes that MSAL adds to every request.
func oneResource(scope string) bool {
	names := slices.DeleteFunc(strings.Fields(scope), func(name string) bool {
		return name == "openid" || name == "profile" || name == "offline_access"
	})
	return len(names) == 1 && strings.HasSuffix(names[0], "/.default") && names[0] != "/.default"
}

// describe takes from an assertion what it says, believed or not.
func (r *refusal) describe(assertion string) {
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(assertion, claims); err != nil {
		return
	}
	r.id, _ = claims["jti"].(string)
	r.issuer, _ = claims.GetIssuer()
	r.subject, _ = claims.GetSubject()
	if audience, err := claims.GetAudience(); err == nil && len(audience) > 0 {
		r.audience = audience[0]
	}
	if from, err := claims.GetNotBefore(); err == nil && from != nil {
		r.from = from.Time
	}
	if until, err := claims.GetExpirationTime(); err == nil && until != nil {
		r.until = until.Time
	}
}

// app returns an application, nil when it is not there. The caller holds the
// lock.
func (e *Entra) app(tenant, client string) *App {
	return e.tenants[strings.ToLower(tenant)][strings.ToLower(client)]
}

type shownKey struct{}

// shown keeps the assertion of a token request that has just come, before
// anything is made of it: whoever shows it once more does so whatever came of it.
func (e *Entra) shown(r *http.Request) *http.Request {
	if r.Method != http.MethodPost || r.ParseForm() != nil {
		return r
	}
	get := r.PostForm.Get
	var asked refusal
	if asked.describe(get("client_assertion")); asked.id == "" {
		return r
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.assertions = append(e.assertions, Assertion{
		ID: asked.id, Issuer: asked.issuer, Subject: asked.subject, Audience: asked.audience,
		ClientID: get("client_id"), Scope: resource(get("scope")), Time: time.Now(), Code: Spoilt,
	})
	return r.WithContext(context.WithValue(r.Context(), shownKey{}, len(e.assertions)-1))
}

// note keeps what came of a request's assertion.
func (e *Entra) note(r *http.Request, why refusal) {
	at, ok := r.Context().Value(shownKey{}).(int)
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.assertions[at].Code = why.code
}

// knows reports whether a resource is there.
func (o EntraOptions) knows(name string) bool {
	return slices.ContainsFunc(o.Resources, func(known string) bool {
		return strings.EqualFold(strings.TrimSuffix(known, "/"), strings.TrimSuffix(strings.TrimPrefix(name, "api://"), "/"))
	})
}
