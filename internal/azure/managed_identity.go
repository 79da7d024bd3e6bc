package azure

import (
	"net/http"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

const fixMachine = "Run this on a machine in Azure that has a managed identity, or choose another auth"

// noIdentity tells of the endpoint of a machine's identity that does not answer.
func (l *login) noIdentity(doing string, s seen) *tokenError {
	f := failure.New(failure.CredentialFailed, "%s: %s", doing, l.noAnswer(s))
	if network.CauseOf(s.err).Dialing {
		return &tokenError{failure: f.WithFix(fixMachine)}
	}
	return &tokenError{failure: f.WithFix("Run again; if it lasts, look at the metadata service of this machine"), temporary: network.CauseOf(s.err).Temporary()}
}

// identityRefused tells of an answer of that endpoint which is no token.
func (l *login) identityRefused(doing string, a answer) *tokenError {
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
