package azure

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

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

// explainCall tells why a call to Azure Resource Manager failed, or returns nil
// when it did not.
func (l *login) explainCall(t *trail, a action, err error) error {
	if err == nil {
		return nil
	}
	var (
		token    *tokenError
		answered *azcore.ResponseError
	)
	if errors.As(err, &token) {
		return token
	}
	c := l.options.Cluster
	doing := fmt.Sprintf("%s AKS cluster %s in resource group %s of subscription %s", a.doing, c.Name, c.ResourceGroup, c.Subscription)
	if errors.As(err, &answered) && answered.RawResponse != nil {
		return l.refused(doing, a, answered)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		return failure.New(failure.ClusterUnreachable, "%s: Azure Resource Manager's answer could not be read", doing).
			WithFix("%s", fixEndpoint)
	}
	return l.unansweredCall(doing, t)
}

const fixEndpoint = "Check environment and resource-manager-endpoint, and whether a proxy answers in the place of Azure Resource Manager"

// refused tells of an answer that is no success.
func (l *login) refused(doing string, a action, e *azcore.ResponseError) error {
	c, o := l.options.Cluster, l.options
	said := l.saidARM(e)
	message := fmt.Sprintf("%s: Azure Resource Manager answered HTTP %d%s", doing, e.StatusCode, said)
	fail := func(code failure.Code, fix string, args ...any) error {
		return failure.New(code, "%s", message).WithFix(fix, args...)
	}
	switch {
	case e.StatusCode == http.StatusUnauthorized && e.ErrorCode == "InvalidAuthenticationTokenTenant":
		return fail(failure.CredentialFailed, "Subscription %s belongs to another tenant than tenant-id (%s): az account show --subscription %s --query tenantId",
			c.Subscription, o.TenantID, c.Subscription)
	case e.StatusCode == http.StatusUnauthorized:
		return fail(failure.CredentialFailed, "The token was asked for as %s and is not taken: check environment, authority-host and resource-manager-endpoint, and the clock of this runner",
			o.Cloud.ResourceManagerAudience)
	case e.StatusCode == http.StatusForbidden && e.ErrorCode == "AuthorizationFailed":
		return fail(failure.PermissionDenied, "Give it the role: az role assignment create --assignee-object-id %s --assignee-principal-type ServicePrincipal --role %s --scope %s; an assignment takes some minutes to count",
			l.principal(said), shell(a.role), shell(c.ID()))
	case e.StatusCode == http.StatusForbidden:
		return fail(failure.PermissionDenied, "Ask who administers the subscription; what is needed is the role %s on %s", a.role, c.ID())
	case e.StatusCode == http.StatusNotFound:
		return fail(failure.ClusterUnreachable, "%s", notFound(e.ErrorCode, c))
	case e.StatusCode == http.StatusTooManyRequests:
		return fail(failure.ClusterUnreachable, "%s", fixStatus(e.RawResponse))
	case staticCredential.MatchString(said):
		return fail(failure.CredentialFailed, "%s", fixAdmin)
	case temporary(e.StatusCode):
		return fail(failure.ClusterUnreachable, "It was asked %d times; run again later, and see https://azure.status.microsoft if it lasts", retries.MaxRetries+1)
	}
	return fail(failure.ClusterUnreachable, "%s", fixEndpoint)
}

func notFound(code string, c Cluster) string {
	switch code {
	case "SubscriptionNotFound", "InvalidSubscriptionId":
		return fmt.Sprintf("Check subscription-id (%s), and that it belongs to the tenant of tenant-id", c.Subscription)
	case "ResourceGroupNotFound":
		return fmt.Sprintf("Check resource-group: it is the cluster's own, not the one of its nodes (MC_…): az aks list --subscription %s --output table", c.Subscription)
	case "ResourceNotFound":
		return fmt.Sprintf("Check cluster-name, resource-group and subscription-id: az aks list --subscription %s --output table", c.Subscription)
	}
	return fixEndpoint
}

// staticCredential recognizes the refusal of a cluster without local accounts.
var staticCredential = regexp.MustCompile(`(?i)static credential is not allowed|disable local accounts`)

const fixAdmin = "Leave admin out: the action is known to the API server by Entra, and needs a Role in the namespace (README)"

// principal is whom Azure Resource Manager refuses, by object id.
func (l *login) principal(said string) string {
	if m := objectID.FindStringSubmatch(said); m != nil {
		return m[1]
	}
	return "OBJECT-ID"
}

var objectID = regexp.MustCompile(`with object id '([0-9A-Fa-f-]{36})'`)

// saidARM is what the answer says.
func (l *login) saidARM(e *azcore.ResponseError) string {
	body, err := runtime.Payload(e.RawResponse)
	if err != nil {
		return ""
	}
	var answer struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
		// Some providers leave the object around them out.
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return l.saying(string(body))
	}
	code, message := answer.Error.Code, answer.Error.Message
	if code == "" && message == "" {
		code, message = answer.Code, answer.Message
	}
	if code == "" && message == "" {
		return ""
	}
	return ", " + l.clean(code, 100) + ": " + l.clean(message, maxText)
}
