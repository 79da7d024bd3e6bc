package azure

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/escape"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// checkTenant makes sure that az is not logged in to the subscription in another
// tenant than the one that was given. Other ways ask for a token in that tenant.
func (l *login) checkTenant(token string) *failure.Error {
	given, there := l.options.TenantID, claimsOf(token).TenantID
	if l.options.Auth != CLI || !identifier.MatchString(given) || !identifier.MatchString(there) || strings.EqualFold(given, there) {
		return nil
	}
	return failure.New(failure.ConfigInvalid, "is %s, and az has subscription %s in tenant %s", given, l.options.Cluster.Subscription, there).
		At("tenant-id").WithFix("Correct tenant-id, which is the tenant_id of the context where the input is not given; or see which subscriptions az has there: az account list --query \"[?tenantId=='%s']\" --output table", given)
}

// azFailed tells of az, which is a program and not an answer.
func (l *login) azFailed(doing, what string, err error) *tokenError {
	_, odd := errors.AsType[*json.SyntaxError](err)
	absent := strings.Contains(what, "not found on path")
	switch {
	case odd:
		what = "what az printed is no token"
	case absent:
		what = "there is no az on the PATH"
	}
	f := failure.New(failure.CredentialFailed, "%s: %s", doing, what)
	login := "az login"
	if l.options.TenantID != "" {
		login += " --tenant " + escape.Shell(l.options.TenantID)
	}
	switch {
	case errors.Is(err, errSlow):
		return &tokenError{failure: f.WithFix("Run again, and see how long az account get-access-token takes"), temporary: true}
	case odd:
		return &tokenError{failure: f.WithFix("See whether az account get-access-token prints JSON, as it should")}
	case absent && l.options.IDToken != nil:
		return &tokenError{failure: f.WithFix("Leave auth out, and the workflow's id token is used: the container of the action has no az, and needs none")}
	case absent:
		return &tokenError{failure: f.WithFix("Install az (https://aka.ms/azure-cli), or choose another auth")}
	}
	return &tokenError{failure: f.WithFix("Log in with %s, or choose another auth", login)}
}
