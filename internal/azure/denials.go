package azure

import (
	"fmt"
	"regexp"
	"strings"
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
	700024: {fix: func(*login, claims) string {
		return "The id token was too old, or not valid yet, when Entra looked at it: check the clock of this runner; each request gets a fresh id token"
	}},
	700016: {fix: func(l *login, _ claims) string {
		return fmt.Sprintf("Check client-id (%s): it is the client id of the managed identity or app registration, not its object id; and tenant-id (%s): the tenant that it belongs to",
			l.options.ClientID, l.options.TenantID)
	}},
	90002: {fix: func(l *login, _ claims) string {
		return fmt.Sprintf("Check tenant-id (%s), and environment: a tenant is known in its own cloud only", l.options.TenantID)
	}},
	500011: {fix: func(l *login, _ claims) string {
		return fmt.Sprintf("Tenant %s does not know what the token is for: check tenant-id, and resource-manager-endpoint or environment", l.options.TenantID)
	}},
	53003: {fix: func(*login, claims) string {
		return "A Conditional Access policy for workload identities blocks this: ask who administers the tenant, with the correlation id"
	}},
}

// noMatch tells what the id token says of the job, and the command that makes
// Entra take it.
func noMatch(l *login, c claims) string {
	if c.Subject == "" {
		return "Add a federated credential whose issuer, subject and audience are the id token's"
	}
	issuer, subject, audience := l.clean(c.Issuer, maxText), l.clean(c.Subject, maxText), l.clean(string(c.Audience), maxText)
	fix := fmt.Sprintf("The id token has issuer %s, subject %s, audience %s; a federated credential of client %s has to have the same. "+
		"For a managed identity: az identity federated-credential create --resource-group GROUP --identity-name IDENTITY --name NAME --issuer %s --subject %s --audiences %s; "+
		"for an app registration: az ad app federated-credential create --id %s --parameters %s",
		issuer, subject, audience, l.options.ClientID,
		shell(issuer), shell(subject), shell(audience),
		l.options.ClientID, shell(fmt.Sprintf(`{"name":"NAME","issuer":%q,"subject":%q,"audiences":[%q]}`, issuer, subject, audience)))
	if immutable.MatchString(c.Subject) {
		fix += ". The subject has the ids of owner and repository, as GitHub gives it to repositories created, renamed or transferred since 15 July 2026; a credential made for the names alone does not match it"
	}
	return fix
}

// immutable recognizes GitHub's subjects with ids: repo:OWNER@ID/REPOSITORY@ID:…
var immutable = regexp.MustCompile(`^repo:[^/@:]+@[0-9]+/[^/@:]+@[0-9]+:`)

// shell quotes a text for a POSIX shell.
func shell(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
