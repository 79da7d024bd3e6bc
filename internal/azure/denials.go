package azure

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/escape"
)

// advice is what to do about one of Entra's codes.
type advice struct {
	fix func(l *login, presented claims) string
	// also is what to tell beside the failure, where it is too long to be in it.
	also func(l *login, presented claims) string
	// unknownYet says that the code may only mean that a federated credential is
	// so new that not every server knows it.
	unknownYet bool
}

// denials are the codes that people meet
// (https://learn.microsoft.com/entra/identity-platform/reference-error-codes and
// "Workload identity federation: troubleshooting").
var denials = map[int]advice{
	700213: {noSubject, forApplication, true},
	7002138: {func(l *login, c claims) string {
		if l.ofPullRequest(c) {
			return fixPullRequest
		}
		return "One that is there has the subject in other capitals: correct those of environment in the workflow, or of the credential. " + noMatch(l, c)
	}, forApplication, true},
	70021:  {noSubject, forApplication, true},
	700211: {noMatch, forApplication, true},
	700212: {noAudience, nil, true},
	700024: {fix: func(l *login, _ claims) string {
		if l.options.Auth == WorkloadIdentity {
			return "Check the clock of this machine, and that the kubelet still renews the file that AZURE_FEDERATED_TOKEN_FILE names"
		}
		return "Check the clock of this runner: each request has a fresh id token, which is good for some minutes"
	}},
	700016: {fix: func(l *login, _ claims) string {
		return fmt.Sprintf("Check client-id (%s), which is the client id of a managed identity or app registration and not its object id, and tenant-id (%s), the tenant that it belongs to",
			l.options.ClientID, l.options.TenantID)
	}},
	90002: {fix: func(l *login, _ claims) string {
		return fmt.Sprintf("Check tenant-id (%s), and environment: a tenant is known in its own cloud only", l.options.TenantID)
	}},
	500011: {fix: func(l *login, _ claims) string {
		return fmt.Sprintf("Check tenant-id (%s), and environment or resource-manager-endpoint", l.options.TenantID)
	}},
	53003: {fix: func(*login, claims) string {
		return "A Conditional Access policy for workload identities blocks this: show the correlation id to whoever administers the tenant"
	}},
}

// pullRequest is the subject of a pull request's job, and reference that of a job
// that names no environment.
// https://docs.github.com/en/actions/reference/security/oidc
var (
	pullRequest = regexp.MustCompile(`^repo:[^:]+:pull_request$`)
	reference   = regexp.MustCompile(`^repo:[^:]+:(ref:refs/.+)$`)
)

const fixPullRequest = "This is a pull request's job. Do not trust its subject: everybody who can open one would sign in. Run this in a job with an environment, which the federated credential is for"

// ofPullRequest reports whether to trust an id token is to trust everybody who can
// open a pull request. None of the commands is told for such a one.
func (l *login) ofPullRequest(c claims) bool {
	return l.options.Auth == GitHub && pullRequest.MatchString(c.Subject)
}

// noSubject looks at what kind of subject there is: to trust whatever a job shows is
// not always what is wanted.
func noSubject(l *login, c claims) string {
	if l.options.Auth == GitHub {
		if m := reference.FindStringSubmatch(c.Subject); m != nil {
			return fmt.Sprintf("The job names no environment, so its subject ends in %s. Where the federated credential is for an environment, add environment to the job. To trust everybody who can push there instead, make one for that. %s",
				l.line(m[1], maxText), noMatch(l, c))
		}
	}
	return noMatch(l, c)
}

// noAudience tells how to change the audience of the federated credential that is
// there: there cannot be two for the same issuer and subject. It names the input that
// the audience is from, where it is none that Entra is known by.
// https://learn.microsoft.com/entra/workload-id/workload-identity-federation-considerations
func noAudience(l *login, c claims) string {
	if l.ofPullRequest(c) {
		return fixPullRequest
	}
	usual := []string{}
	for _, name := range []string{PublicCloud, GovernmentCloud, ChinaCloud} {
		cloud, _ := CloudNamed(name)
		usual = append(usual, cloud.Audience)
	}
	if l.options.Auth != GitHub || slices.Contains(usual, l.options.Cloud.Audience) {
		return otherAudience(l, c)
	}
	return fmt.Sprintf("The input audience is %s: leave it out, where the federated credential has the usual one. %s", l.line(l.options.Cloud.Audience, maxText), otherAudience(l, c))
}

func otherAudience(l *login, c claims) string {
	f, ok := l.credentialFor(c)
	if !ok {
		return fmt.Sprintf("The federated credential for this issuer and subject has another audience: correct it to that of the id token, %q", l.line(string(c.Audience), maxText))
	}
	return fmt.Sprintf("The one for this issuer and subject has another audience. See its name: az identity federated-credential list --resource-group GROUP --identity-name IDENTITY --output table; "+
		"then az identity federated-credential update --resource-group GROUP --identity-name IDENTITY --name NAME --issuer %s --subject %s --audiences %s%s",
		escape.Shell(f.Issuer), escape.Shell(f.Subject), escape.Shell(f.Audiences[0]), l.whichIdentity())
}

// whichIdentity ends a text with how to find what its commands leave open.
func (l *login) whichIdentity() string {
	return fmt.Sprintf("; GROUP and IDENTITY are what az identity list --query \"[?clientId=='%s'].{group:resourceGroup,name:name}\" --output table prints", l.options.ClientID)
}

// noMatch has the command that makes Entra take the id token. It is the only place
// in which what the token says of the job stands.
// https://learn.microsoft.com/cli/azure/identity/federated-credential
func noMatch(l *login, c claims) string {
	if l.ofPullRequest(c) {
		return fixPullRequest
	}
	f, ok := l.credentialFor(c)
	if !ok {
		return fmt.Sprintf("Add a federated credential whose issuer, subject and audience are those of the id token: %q, %q, %q",
			l.line(c.Issuer, maxText), l.line(c.Subject, maxText), l.line(string(c.Audience), maxText))
	}
	ids := ""
	if immutable.MatchString(c.Subject) {
		ids = " (with the ids of owner and repository: one for the names alone does not match)"
	}
	return fmt.Sprintf("Client %s needs a federated credential for exactly this id token%s: "+
		"az identity federated-credential create --resource-group GROUP --identity-name IDENTITY --name %s --issuer %s --subject %s --audiences %s%s",
		l.options.ClientID, ids, f.Name, escape.Shell(f.Issuer), escape.Shell(f.Subject), escape.Shell(f.Audiences[0]), l.whichIdentity())
}

// forApplication is the same for an app registration: az has another command for
// those.
// https://learn.microsoft.com/cli/azure/ad/app/federated-credential
func forApplication(l *login, c claims) string {
	f, ok := l.credentialFor(c)
	if !ok || l.ofPullRequest(c) {
		return ""
	}
	parameters, err := json.Marshal(f)
	if err != nil {
		return "" // Never: it holds texts alone.
	}
	return fmt.Sprintf("If client %s is an app registration and no managed identity, the federated credential is made by: az ad app federated-credential create --id %s --parameters %s",
		l.options.ClientID, escape.Shell(l.options.ClientID), escape.Shell(string(parameters)))
}

// special reports whether az would take a value for something else: for the name of
// a file whose content is meant, or for an option.
func special(value string) bool {
	return strings.HasPrefix(value, "@") || strings.HasPrefix(value, "-")
}

// credentialFor is the federated credential that an id token needs, if the token
// says whose it is.
func (l *login) credentialFor(c claims) (f federatedCredential, ok bool) {
	if c.Subject == "" || c.Issuer == "" || slices.ContainsFunc([]string{c.Issuer, c.Subject, string(c.Audience)}, special) {
		return federatedCredential{}, false
	}
	subject := l.line(c.Subject, maxText)
	return federatedCredential{
		Name: credentialName(subject), Issuer: l.line(c.Issuer, maxText),
		Subject: subject, Audiences: []string{l.line(string(c.Audience), maxText)},
	}, true
}

// credentialName names a federated credential after what it is for. To create one
// under a name that is there replaces it, and with it the access of whoever goes
// by it, so no two subjects share a name. Names are of 3 to 120 letters, digits,
// hyphens and underscores.
// https://learn.microsoft.com/rest/api/managedidentity/federated-identity-credentials/create-or-update
func credentialName(subject string) string {
	sum := sha256.Sum256([]byte(subject))
	readable := strings.Trim(unnameable.ReplaceAllString(subject, "-"), "-_")
	if len(readable) > maxReadable {
		readable = strings.TrimRight(readable[:maxReadable], "-_")
	}
	return strings.TrimPrefix(fmt.Sprintf("%s-%x", readable, sum[:4]), "-")
}

// maxReadable leaves room for what makes a name one of its own.
const maxReadable = 60

var unnameable = regexp.MustCompile(`[^0-9A-Za-z_]+`)

// immutable recognizes GitHub's subjects with ids: repo:OWNER@ID/REPOSITORY@ID:…
var immutable = regexp.MustCompile(`^repo:[^/@:]+@[0-9]+/[^/@:]+@[0-9]+:`)

// federatedCredential is what az ad app federated-credential create takes.
type federatedCredential struct {
	Name      string   `json:"name"`
	Issuer    string   `json:"issuer"`
	Subject   string   `json:"subject"`
	Audiences []string `json:"audiences"`
}
