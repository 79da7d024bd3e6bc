package github

import (
	"fmt"
	"net/http"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// askingForIDToken begins every message about one.
const askingForIDToken = "could not get an id token of this job"

// permission is what a job needs to get id tokens, on one line of YAML. Naming one
// permission takes all others away, and most jobs need to read the repository.
const permission = "permissions: {id-token: write, contents: read}"

func noIDToken(format string, args ...any) *failure.Error {
	return failure.New(failure.CredentialFailed, askingForIDToken+": "+format, args...)
}

// notPermitted tells of a job that the runner gave nothing to ask with.
func notPermitted(variable string) error {
	return noIDToken("%s is not set, so the job does not have the permission id-token: write", variable).
		WithFix("Add to the job in the workflow: %s. A reusable workflow needs that from the job that calls it as well. "+
			"A pull request from a fork does not get id tokens, whatever the workflow says", permission)
}

// refused tells what a status other than 200 means.
func refused(status int, asked, said string, after time.Duration) error {
	what := fmt.Sprintf("%s answered HTTP %d", asked, status)
	if name := http.StatusText(status); name != "" {
		what += " " + name
	}
	if said != "" {
		what += ": " + said
	}
	err := noIDToken("%s", what)
	switch {
	case status == http.StatusTooManyRequests:
		return &temporaryError{err.WithFix("GitHub limits how often id tokens are asked for: run again later, with fewer jobs at a time"), after}
	case status/100 == 5 || status == http.StatusRequestTimeout:
		return &temporaryError{err.WithFix("GitHub's service is not well: see https://www.githubstatus.com, and run again"), after}
	case status == http.StatusUnauthorized:
		return err.WithFix("What the runner gave this job to ask with (%s) is not accepted. It holds for this job alone, and about 6 hours: run the job again", requestToken)
	case status == http.StatusForbidden:
		return err.WithFix("The job may not have one. Check that it has %s, and that no policy of the organization or enterprise forbids it", permission)
	case status == http.StatusNotFound:
		return err.WithFix("There is no service for id tokens at the address that the runner gave (%s). On GitHub Enterprise Server, have an administrator check that Actions is set up for OpenID Connect", requestURL)
	case status/100 == 3:
		return err.WithFix("A redirect is not followed, since that would hand a credential on. Check whether a proxy answers in the place of %s", asked)
	}
	return err.WithFix("Check the audience, and that nothing between this runner and %s changes requests", asked)
}

// notAnswered tells of an answer that is none.
func notAnswered(asked, format string, args ...any) error {
	return noIDToken("%s answered with something %s", asked, fmt.Sprintf(format, args...)).
		WithFix("Check whether a proxy answers in the place of %s", asked)
}

// unanswered tells why there was no answer.
func (h *Host) unanswered(asked string, err error) error {
	cause := network.CauseOf(err)
	text := cause.Text(asked)
	if text == "" {
		text = err.Error()
	}
	// The time that was up is that of a try, which is nobody's deadline: the cause
	// goes no further.
	told := noIDToken("%s", text).WithFix("%s", h.adviceOn(cause, asked))
	if cause.Temporary() {
		return &temporaryError{failure: told}
	}
	return told
}

// adviceOn says what can be done about a connection that could not be had.
func (h *Host) adviceOn(cause network.Cause, asked string) string {
	switch cause.Kind {
	case network.NoSuchHost, network.LookupFailed:
		if cause.Proxy {
			return "Check HTTPS_PROXY, and this runner's name servers"
		}
		return "Check that names on the internet resolve on this runner, or set HTTPS_PROXY where only a proxy gets there"
	case network.ProxyAddress:
		return "Correct HTTPS_PROXY"
	case network.ProxyRefused:
		switch {
		case cause.Status == http.StatusProxyAuthRequired:
			return "HTTPS_PROXY needs a user and password that the proxy accepts"
		case cause.Status/100 == 5:
			return "The proxy (HTTPS_PROXY) cannot reach it: let it, or take it out with NO_PROXY"
		}
		return "Have the proxy (HTTPS_PROXY) allow connections to " + asked + ", or take it out with NO_PROXY"
	case network.ExpiredCertificate:
		return "Check the clock of this runner"
	case network.UntrustedCertificate:
		return "Something on the way may open the connection. If that is your own network's doing, name the file with its CA in SSL_CERT_FILE" + h.issuer(cause)
	case network.WrongHost:
		return "Check HTTPS_PROXY, and whether something on the way answers in the place of " + asked + h.issuer(cause)
	case network.NotTLS, network.HandshakeRefused, network.ClientCertificateRefused, network.TooLarge:
		return "Check HTTPS_PROXY, and whether something on the way answers in the place of " + asked
	}
	if cause.Proxy {
		return "Check that the proxy (HTTPS_PROXY) works and can be reached from this runner"
	}
	return "Check that this runner's network lets it reach " + asked + " on port 443"
}

// issuer tells whose certificate it was that was not taken.
func (h *Host) issuer(cause network.Cause) string {
	issuer := h.brief(cause.Issuer)
	if issuer == "" {
		return ""
	}
	return fmt.Sprintf("; the certificate is from %q", issuer)
}
