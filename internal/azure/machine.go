package azure

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// What fails where a machine or a program on it is asked, and not Entra itself.

const fixMachine = "Run this on a machine in Azure that has a managed identity, or choose another auth"

// noIdentity tells of the endpoint of a machine's identity that does not answer.
func (l *login) noIdentity(doing string, s seen) error {
	f := failure.New(failure.CredentialFailed, "%s: %s", doing, l.noAnswer(s))
	if network.CauseOf(s.err).Dialing {
		return &tokenError{failure: f.WithFix(fixMachine)}
	}
	return &tokenError{failure: f.WithFix("Run again; if it lasts, look at the metadata service of this machine"), temporary: network.CauseOf(s.err).Temporary()}
}

// identityRefused tells of an answer of that endpoint which is no token.
func (l *login) identityRefused(doing string, a answer) error {
	if a.status/100 == 2 {
		f := failure.New(failure.CredentialFailed, "%s: there is none in the answer of %s (HTTP %d)", doing, a.host, a.status)
		return &tokenError{failure: f.WithFix(fixMachine)}
	}
	f := failure.New(failure.CredentialFailed, "%s: %s answered HTTP %d%s", doing, a.host, a.status, l.saying(a.body))
	switch {
	case busy(a.status):
		return &tokenError{failure: f.WithFix("%s", a.later()), temporary: true}
	case a.status == http.StatusBadRequest && l.options.ClientID != "":
		return &tokenError{failure: f.WithFix("Check client-id (%s): the client id of a managed identity that this machine has", l.options.ClientID)}
	case a.status == http.StatusBadRequest:
		return &tokenError{failure: f.WithFix("Give the machine a managed identity; if it has several, say which by client-id")}
	}
	return &tokenError{failure: f.WithFix(fixMachine)}
}

// maxTokenFile bounds a ServiceAccount's token, in bytes: they are of 1 to 2 KiB.
const maxTokenFile = 64 << 10

// checkTokenFile makes sure that the file of a pod can be read, which the SDK
// tells in a text of its own, if at all.
func (l *login) checkTokenFile() error {
	name := l.options.Getenv("AZURE_FEDERATED_TOKEN_FILE")
	var what string
	info, err := os.Stat(name)
	switch {
	case err != nil:
		what = "is not to be had: " + l.clean(withoutPath(err), maxForeign)
	case !info.Mode().IsRegular():
		what = "is no regular file"
	case info.Size() == 0:
		what = "is empty"
	case info.Size() > maxTokenFile:
		what = "is too large to be a token"
	default:
		return nil
	}
	return failure.New(failure.CredentialFailed, "%s: the file that AZURE_FEDERATED_TOKEN_FILE names %s", l.asking(), what).
		WithFix("%s", fixPod)
}

func withoutPath(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error()
	}
	return err.Error()
}

const fixPod = "The webhook of workload identity sets it in pods with the label azure.workload.identity/use: \"true\"; run this in one, or choose another auth"

// checkTenant makes sure that az is not logged in to the subscription in another
// tenant than the one that was given. Other ways ask for a token in that tenant.
func (l *login) checkTenant(token string) *failure.Error {
	given, there := l.options.TenantID, claimsOf(token).TenantID
	if l.options.Auth != CLI || !identifier.MatchString(given) || !identifier.MatchString(there) || strings.EqualFold(given, there) {
		return nil
	}
	return failure.New(failure.ConfigInvalid, "is %s, and az has subscription %s in tenant %s", given, l.options.Cluster.Subscription, there).
		At("tenant-id").WithFix("Correct tenant-id or leave it out")
}

// azFailed tells of az, which is a program and not an answer.
func (l *login) azFailed(doing, what string, err error) error {
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
		login += " --tenant " + shell(l.options.TenantID)
	}
	switch {
	case errors.Is(err, errSlow):
		return &tokenError{failure: f.WithFix("Run again, and see how long az account get-access-token takes"), temporary: true}
	case odd:
		return &tokenError{failure: f.WithFix("See whether az account get-access-token prints JSON, as it should")}
	case absent:
		return &tokenError{failure: f.WithFix("Install az (https://aka.ms/azure-cli), or choose another auth")}
	}
	return &tokenError{failure: f.WithFix("Log in with %s, or choose another auth", login)}
}
