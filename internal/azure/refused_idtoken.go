package azure

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// noIDToken tells of an id token that the host of the job could not give.
func (l *login) noIDToken(cause error) *tokenError {
	var temporary interface{ Temporary() bool }
	passes := errors.As(cause, &temporary) && temporary.Temporary()
	if coded, ok := errors.AsType[*failure.Error](cause); ok {
		return &tokenError{failure: coded, temporary: passes}
	}
	f := failure.New(failure.CredentialFailed, "%s", l.clean(cause.Error(), maxText))
	return &tokenError{failure: f.WithFix("Check that this runner's network lets it reach the service for id tokens, and run again"), temporary: passes}
}

// atPipelines reports whether a host is that of Azure Pipelines, as opposed to
// Entra's.
func (l *login) atPipelines(host string) bool {
	return l.options.Auth == Pipelines && host == hostOf(l.options.Getenv("SYSTEM_OIDCREQUESTURI"))
}

func (l *login) askingPipelines() string {
	return fmt.Sprintf("asking Azure Pipelines for an id token of service connection %s", l.options.ServiceConnection)
}

// unnamed recognizes Azure Pipelines' refusal of an id token to a job that does
// not name the service connection. Its status is not documented.
// https://github.com/dotnet/docker-tools/issues/2012
var unnamed = regexp.MustCompile(`(?i)no explicit reference to service connection`)

const fixUnnamed = "Run this in a task that names the service connection, such as AzureCLI with azureSubscription: docs/federation.md has a pipeline"

// pipelinesRefused tells of an answer of Azure Pipelines that is no id token.
func (l *login) pipelinesRefused(a answer) *tokenError {
	if unnamed.Match(a.body) {
		f := failure.New(failure.CredentialFailed, "%s: %s answered HTTP %d: the job does not name the service connection", l.askingPipelines(), a.host, a.status)
		return &tokenError{failure: f.WithFix(fixUnnamed)}
	}
	if a.status/100 == 2 {
		f := failure.New(failure.CredentialFailed, "%s: there is none in the answer of %s (HTTP %d)", l.askingPipelines(), a.host, a.status)
		return &tokenError{failure: f.WithFix("Check SYSTEM_OIDCREQUESTURI, and whether a proxy answers in the place of Azure Pipelines")}
	}
	f := failure.New(failure.CredentialFailed, "%s: %s answered HTTP %d%s", l.askingPipelines(), a.host, a.status, l.saying(a.body))
	switch {
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
		f = f.WithFix("Check that SYSTEM_ACCESSTOKEN is mapped from $(System.AccessToken), and that the pipeline may use the service connection")
	case busy(a.status):
		f = f.WithFix("%s", a.later())
	default:
		f = f.WithFix("Check service-connection: the id (a GUID, resourceId in its address) of an Azure Resource Manager service connection with workload identity federation")
	}
	return &tokenError{failure: f, temporary: busy(a.status)}
}
