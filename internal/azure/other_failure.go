package azure

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/aks-oneshot/aks-oneshot/internal/escape"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

const (
	// maxText bounds a text that Azure wrote, in characters, and maxForeign one
	// that somebody else did.
	maxText    = 1024
	maxForeign = 200
)

// clean makes one short line of a text that others wrote. What is secret is taken
// out first: a part of it would not be known for it.
func (l *login) clean(text string, limit int) string {
	return escape.Line(l.secrets.Hide(text), limit)
}

// saying is the text of an answer that has not the form that it should, at the
// end of a sentence.
func (l *login) saying(body string) string {
	text := escape.Line(escape.Page(l.secrets.Hide(body)), maxForeign)
	if text == "" {
		return ""
	}
	return ": " + text
}

// withoutAnswer tells of an error that no answer came with. The SDK's text may
// hold a part of an answer, so only texts are told that cannot.
func (l *login) withoutAnswer(doing string, t *trail, err error) error {
	fail := func(what, fix string, args ...any) error {
		return &tokenError{failure: failure.New(failure.CredentialFailed, "%s: %s", doing, what).WithFix(fix, args...)}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, errLimit):
		f := failure.New(failure.CredentialFailed, "%s: no token in time", doing)
		return &tokenError{failure: f.WithFix("Run again"), temporary: true}
	case l.options.Auth == CLI:
		return fail(l.clean(err.Error(), maxText), "Log in with az login --tenant %s, or choose another auth", l.options.TenantID)
	case l.options.Auth == ManagedIdentity && t.status == 0:
		return fail(l.clean(err.Error(), maxText), "Run this on a machine in Azure that has a managed identity, or choose another auth")
	case l.options.Auth == WorkloadIdentity && t.status == 0:
		return fail(l.clean(err.Error(), maxText), "Run this in a pod with workload identity, which sets AZURE_FEDERATED_TOKEN_FILE, AZURE_TENANT_ID and AZURE_CLIENT_ID, or choose another auth")
	case t.status == 0:
		return fail(l.clean(err.Error(), maxText), "Check the inputs tenant-id and client-id, and authority-host")
	}
	return fail("the answer of "+t.host+" is not one of Entra", "Check authority-host and environment, and whether a proxy answers in the place of Entra")
}

// withoutIDToken tells of an answer of Azure Pipelines that is no id token.
func (l *login) withoutIDToken(resp *http.Response, body []byte) error {
	f := failure.New(failure.CredentialFailed, "asking Azure Pipelines for an id token of service connection %s: %s answered HTTP %d%s",
		l.options.ServiceConnection, resp.Request.URL.Host, resp.StatusCode, l.saying(string(body)))
	fix := "Check service-connection: the id of an Azure Resource Manager service connection with workload identity federation, which this pipeline may use"
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		fix = "Check that SYSTEM_ACCESSTOKEN is mapped from $(System.AccessToken), and that the pipeline may use the service connection"
	case temporary(resp.StatusCode):
		fix = fixStatus(resp)
	}
	return &tokenError{failure: f.WithFix("%s", fix), temporary: temporary(resp.StatusCode)}
}

// unusable tells of a kubeconfig that Azure handed out and that is not taken.
func (l *login) unusable(err error) error {
	c := l.options.Cluster
	return failure.New(failure.CredentialFailed, "using the kubeconfig that Azure Resource Manager handed out for AKS cluster %s in resource group %s: %s",
		c.Name, c.ResourceGroup, l.clean(told(err), maxText)).
		WithFix("Compare it with what az aks get-credentials --file - shows; give a kubeconfig of your own if it is right")
}

// told is an error without its code.
func told(err error) string {
	var f *failure.Error
	if errors.As(err, &f) {
		return f.Text()
	}
	return err.Error()
}

// authorityHost is who grants tokens.
func (l *login) authorityHost() string {
	u, err := url.Parse(l.options.Cloud.Authority)
	if err != nil {
		return ""
	}
	return u.Host
}
