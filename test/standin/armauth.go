package standin

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// authenticate checks the token of a request, and answers when it is not good.
func (a *ARM) authenticate(w http.ResponseWriter, r *http.Request) (Access, bool) {
	token := bearer(r)
	if token == "" {
		a.challenge(w, "AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing.")
		return Access{}, false
	}
	access, err := a.entra.Verify(token, a.Tenant, a.Audiences()...)
	switch {
	case err == nil:
		return access, true
	case errors.Is(err, ErrExpired):
		const layout = "1/2/2006 3:04:05 PM"
		a.challenge(w, "ExpiredAuthenticationToken", fmt.Sprintf("The access token expiry UTC time '%s' is earlier than current UTC time '%s'.",
			access.Expires.UTC().Format(layout), time.Now().UTC().Format(layout)))
	case errors.Is(err, ErrAudience):
		a.challenge(w, "InvalidAuthenticationTokenAudience", fmt.Sprintf("The access token has been obtained for wrong audience or resource '%s'. It should exactly match with one of the allowed audiences '%s'.",
			access.Audience, strings.Join(a.Audiences(), "','")))
	case errors.Is(err, ErrTenant):
		a.challenge(w, "InvalidAuthenticationTokenTenant", fmt.Sprintf("The access token is from the wrong issuer '%s'. It must match the tenant '%s' associated with this subscription. Please use the authority (URL) '%s' to get the token. Note, if the subscription is transferred to another tenant there is no impact to the services, but information about new tenant could take time to propagate (up to an hour). If you just transferred your subscription and see this error message, please try back later.",
			a.entra.AccessTokenIssuer(access.Tenant), a.entra.AccessTokenIssuer(a.Tenant), a.entra.URL+"/"+a.Tenant))
	default:
		a.challenge(w, "InvalidAuthenticationToken", "The access token is invalid.")
	}
	return Access{}, false
}

// challenge answers 401 as ARM does.
func (a *ARM) challenge(w http.ResponseWriter, code, message string) {
	w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer authorization_uri="%s/%s", error="invalid_token", error_description="%s"`, a.entra.URL, a.Tenant, code))
	armError(w, http.StatusUnauthorized, code, message)
}

// ARMError answers with an error in the shape of ARM's. The header are names and
// values in turn, as "Retry-After", "1".
// https://learn.microsoft.com/en-us/azure/azure-resource-manager/troubleshooting/common-deployment-errors
func ARMError(status int, code, message string, header ...string) Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		armError(w, status, code, message)
	}
}

func armError(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("X-Ms-Failure-Cause", "gateway")
	writeJSON(w, status, map[string]any{"error": map[string]any{"code": code, "message": message}})
}
