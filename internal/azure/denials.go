package azure

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// advice is what to do about one of Entra's codes.
type advice struct {
	fix func(l *login, presented claims) string
	// unknownYet says that the code may only mean that a federated credential is
	// so new that not every server knows it.
	unknownYet bool
}

// denials are the codes that people meet
// (https://learn.microsoft.com/entra/identity-platform/reference-error-codes and
// "Workload identity federation: troubleshooting").
var denials = map[int]advice{
	700213:  {noMatch, true},
	7002138: {noMatch, true},
	70021:   {noMatch, true},
	700211:  {noMatch, true},
	700212:  {noMatch, true},
	700024: {fix: func(l *login, _ claims) string {
		if l.options.Auth == WorkloadIdentity {
			return "Check the clock of this machine, and that the kubelet still renews the file that AZURE_FEDERATED_TOKEN_FILE names"
		}
		return "Check the clock of this runner: each request has a fresh id token, which is good for some minutes"
	}},
	700016: {fix: func(l *login, _ claims) string {
		return fmt.Sprintf("Check client-id (%s), which is the client id of a managed identity or app registration and not its object id, and tenant-id (%s), the tenant that it belongs to",
			l.options.client(), l.options.tenant())
	}},
	90002: {fix: func(l *login, _ claims) string {
		return fmt.Sprintf("Check tenant-id (%s), and environment: a tenant is known in its own cloud only", l.options.tenant())
	}},
	500011: {fix: func(l *login, _ claims) string {
		return fmt.Sprintf("Check tenant-id (%s), and environment or resource-manager-endpoint", l.options.tenant())
	}},
	53003: {fix: func(*login, claims) string {
		return "A Conditional Access policy for workload identities blocks this: show the correlation id to whoever administers the tenant"
	}},
}

// noMatch tells what the id token says of the job, and the command that makes
// Entra take it.
// https://learn.microsoft.com/cli/azure/identity/federated-credential
func noMatch(l *login, c claims) string {
	const plainly = "Add a federated credential whose issuer, subject and audience are those of the id token"
	if c.Subject == "" || c.Issuer == "" {
		return plainly
	}
	issuer, subject, audience := l.line(c.Issuer, maxText), l.line(c.Subject, maxText), l.line(string(c.Audience), maxText)
	parameters, err := json.Marshal(federatedCredential{"aks-oneshot", issuer, subject, []string{audience}})
	if err != nil {
		return plainly // Never: it holds texts alone.
	}
	fix := fmt.Sprintf("The id token has issuer %s, subject %s, audience %s, and client %s needs a federated credential with exactly these. "+
		"For a managed identity: az identity federated-credential create --resource-group GROUP --identity-name IDENTITY --name aks-oneshot --issuer %s --subject %s --audiences %s; "+
		"for an app registration: az ad app federated-credential create --id %s --parameters %s",
		issuer, subject, audience, l.options.client(),
		shell(issuer), shell(subject), shell(audience),
		shell(l.options.client()), shell(string(parameters)))
	if immutable.MatchString(c.Subject) {
		fix += " (the subject holds the ids of owner and repository, as GitHub has it for repositories created, renamed or transferred since 15 July 2026: a credential for the names alone does not match)"
	}
	return fix
}

// immutable recognizes GitHub's subjects with ids: repo:OWNER@ID/REPOSITORY@ID:…
var immutable = regexp.MustCompile(`^repo:[^/@:]+@[0-9]+/[^/@:]+@[0-9]+:`)

// federatedCredential is what az ad app federated-credential create takes.
type federatedCredential struct {
	Name      string   `json:"name"`
	Issuer    string   `json:"issuer"`
	Subject   string   `json:"subject"`
	Audiences []string `json:"audiences"`
}
