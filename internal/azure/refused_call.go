package azure

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/escape"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// action is a call to Azure Resource Manager, and the built-in role that allows
// it.
// https://learn.microsoft.com/azure/role-based-access-control/built-in-roles/containers
type action struct{ doing, role string }

var (
	readCluster = action{"reading", "Azure Kubernetes Service Cluster User Role"}
	getUser     = action{"getting the user credential of", "Azure Kubernetes Service Cluster User Role"}
	getAdmin    = action{"getting the administrator credential of", "Azure Kubernetes Service Cluster Admin Role"}
)

func (l *login) credentialAction() action {
	if l.options.Admin {
		return getAdmin
	}
	return getUser
}

// explainCall tells why a call to Azure Resource Manager failed, from what was
// seen of it, or returns nil when it did not.
func (l *login) explainCall(s seen, a action, err error) error {
	if err == nil {
		return nil
	}
	if token, ok := errors.AsType[*tokenError](err); ok {
		return token
	}
	doing := fmt.Sprintf("%s AKS cluster %s", a.doing, l.options.Cluster)
	switch {
	case s.err != nil:
		return l.unansweredCall(doing, s)
	case s.answer.status == 0:
		return failure.New(failure.ClusterUnreachable, "%s: nothing was asked: %s", doing, l.clean(err.Error(), maxForeign)).WithFix("Report this as a bug")
	case s.answer.status/100 == 2:
		// Nothing of it is told: there may be a credential in it.
		return failure.New(failure.ClusterUnreachable, "%s: the answer of %s (HTTP %d) is not one of Azure Resource Manager", doing, s.answer.host, s.answer.status).
			WithFix("%s", fixEndpoint)
	}
	return l.refused(doing, a, s.answer)
}

const fixEndpoint = "Check environment and resource-manager-endpoint, and whether a proxy answers in the place of Azure Resource Manager"

// refused tells of an answer that is no success.
func (l *login) refused(doing string, a action, ans answer) error {
	c, o := l.options.Cluster, l.options
	refusal := refusalIn(ans)
	message := fmt.Sprintf("%s: %s answered HTTP %d%s", doing, ans.host, ans.status, l.saidARM(refusal, ans))
	fail := func(code failure.Code, fix string, args ...any) error {
		return failure.New(code, "%s", message).WithFix(fix, args...)
	}
	switch {
	case ans.status == http.StatusUnauthorized && strings.HasPrefix(refusal.Code, "InvalidAuthenticationTokenTenant"):
		return fail(failure.CredentialFailed, "Subscription %s belongs to another tenant than %s: az account show --subscription %s --query tenantId",
			c.Subscription, o.TenantID, escape.Shell(c.Subscription))
	case ans.status == http.StatusUnauthorized:
		return fail(failure.CredentialFailed, "The token is for %s: check environment, authority-host and resource-manager-endpoint, and the clock of this runner",
			o.Cloud.ResourceManagerAudience)
	case ans.status == http.StatusForbidden && refusal.Code == "AuthorizationFailed":
		return fail(failure.PermissionDenied, "Check cluster-name (%s), resource-group (%s) and subscription-id (%s): a cluster that this identity may not see is answered the same. "+
			"If they are right, give the role, and some minutes for it to count: az role assignment create %s --role %s --scope %s",
			c.Name, c.ResourceGroup, c.Subscription, l.assignee(refusal.Message), escape.Shell(a.role), escape.Shell(c.ID()))
	case ans.status == http.StatusForbidden:
		return fail(failure.PermissionDenied, "Ask whoever administers the subscription; what is needed is the role %s on %s", a.role, c.ID())
	case ans.status == http.StatusNotFound:
		return fail(failure.ClusterUnreachable, "%s", notFound(refusal, c))
	case staticCredential.MatchString(refusal.Message):
		return failure.New(failure.CredentialFailed, "%s", message).At("admin").WithFix(fixAdmin)
	case busy(ans.status):
		return fail(failure.ClusterUnreachable, "%s", ans.later())
	case strings.HasPrefix(refusal.Code, "MissingSubscriptionRegistration"):
		return fail(failure.ClusterUnreachable, "Check subscription-id; if it is right, nobody has used AKS in it: az provider register --namespace Microsoft.ContainerService --subscription %s", escape.Shell(c.Subscription))
	}
	return fail(failure.ClusterUnreachable, "%s", refusal.fix(c))
}

func notFound(r refusal, c Cluster) string {
	list := "az aks list --subscription " + escape.Shell(c.Subscription) + " --output table"
	switch r.Code {
	case "SubscriptionNotFound", "InvalidSubscriptionId":
		return fmt.Sprintf("Check subscription-id (%s), and that it belongs to the tenant of tenant-id", c.Subscription)
	case "ResourceGroupNotFound":
		return "Check resource-group, which is the cluster's own and not that of its nodes (MC_…): " + list
	case "ResourceNotFound", "NotFound":
		return "Check cluster-name, resource-group and subscription-id: " + list
	}
	return r.fix(c)
}

// staticCredential recognizes the refusal of a cluster without local accounts.
var staticCredential = regexp.MustCompile(`(?i)static credential is not allowed|disable local accounts`)

const fixAdmin = "Leave admin out: the API server then knows this run by Entra, which needs a Role in the namespace"

// assignee is whom Azure Resource Manager refuses, as az role assignment create
// takes it. With the type, az does not look the object up, which another one may
// not.
func (l *login) assignee(message string) string {
	id := "OBJECT-ID"
	if identifier.MatchString(l.objectID) {
		id = l.objectID
	}
	if m := objectID.FindStringSubmatch(message); m != nil {
		id = m[1]
	}
	if l.options.Auth == CLI {
		return "--assignee " + id
	}
	return "--assignee-object-id " + id + " --assignee-principal-type ServicePrincipal"
}

var objectID = regexp.MustCompile(`with object id '([0-9A-Fa-f-]{36})'`)

// refusal is what Azure Resource Manager says in an answer that is no success.
// https://github.com/microsoft/api-guidelines/blob/vNext/azure/Guidelines.md#handling-errors
type refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// fix is what to do about a refusal that nothing is known of.
func (r refusal) fix(c Cluster) string {
	if r.Code == "" {
		return fixEndpoint
	}
	return "These are Azure Resource Manager's own words; see what it has of the cluster: az aks show " + c.flags()
}

func refusalIn(a answer) refusal {
	var body struct {
		Error   refusal `json:"error"`
		refusal         // Some providers leave the object around it out.
	}
	if json.Unmarshal(a.body, &body) != nil {
		return refusal{}
	}
	if body.Error != (refusal{}) {
		return body.Error
	}
	return body.refusal
}

func (l *login) saidARM(r refusal, a answer) string {
	if r.Code == "" || r.Message == "" {
		return l.saying(a.body)
	}
	message := counselARM.ReplaceAllString(r.Message, "")
	if m := scoped.FindStringSubmatch(message); m != nil && strings.EqualFold(m[1], l.options.Cluster.ID()) {
		message = strings.Replace(message, m[0], "over this cluster's scope", 1) // The command has it in full.
	}
	return " " + l.clean(r.Code, 100) + ": " + l.clean(message, maxText)
}

var scoped = regexp.MustCompile(`over scope '([^']*)'`)

// counselARM is Azure Resource Manager's own advice, in place of which there is a
// better one.
var counselARM = regexp.MustCompile(`\s*(?:If access was recently granted|Please use the authority).*`)
