package azure

import (
	"context"
	"fmt"
	"net/http"
	"regexp"

	"github.com/aks-oneshot/aks-oneshot/internal/kubeconfig"
)

// serverApplication is the application that API servers of AKS are in every
// cloud, unless a kubeconfig says otherwise (AKS docs, "Use kubelogin": the
// server id of the exec plugin).
const serverApplication = "6dae42f8-4368-4678-94ff-3960e28e3630"

// services are applications that are no API server's: a token for one of them is
// not to be sent to whoever a kubeconfig calls its server.
var services = map[string]string{
	"00000002-0000-0000-c000-000000000000": "Azure AD Graph",
	"00000003-0000-0000-c000-000000000000": "Microsoft Graph",
	"022907d3-0f1b-48f7-badc-1ba6abab6d66": "Azure SQL Database",
	"499b84ac-1321-427f-aa17-267ca6975798": "Azure DevOps",
	"797f4846-ba00-4fd7-ba43-dac1f8f63013": "Azure Resource Manager",
	"cfa8b339-82a2-471a-a3c9-0fc0be7a4093": "Azure Key Vault",
	"e406a681-f3d4-42a8-90b6-c2b029497af1": "Azure Storage",
}

func connect(ctx context.Context, o Options) (*Connection, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	l := newLogin(ctx, o)
	l.tellRegion()
	arm := l.tokensFor(o.Cloud.ResourceManagerAudience)
	first := arm.begin(ctx)
	server := l.tokensFor(serverApplication)
	var asked *request
	if !o.Admin {
		// Most clusters want one. Where a certificate does, it is not waited for.
		asked = server.begin(ctx)
	}
	known, err := first.last(ctx)
	if err != nil {
		return nil, err
	}
	l.objectID = claimsOf(known.Token).ObjectID
	m, err := l.lookUp(ctx, manager{l, arm})
	if err != nil {
		return nil, err
	}
	cfg, plugin, err := kubeconfig.ReadManaged(m.kubeconfig)
	if err != nil {
		return nil, l.unusable(err)
	}
	if err := m.choose(cfg, o); err != nil {
		return nil, err
	}
	c := &Connection{Config: cfg, AzureRBAC: m.azureRBAC()}
	if plugin == nil {
		l.tell("%s; its kubeconfig has a credential of its own, so the API server is not asked with a token of Entra", m)
		return c, nil
	}
	if service := services[plugin.ServerID()]; service != "" {
		return nil, l.unusable(fmt.Errorf("it has the API server take tokens for %s", service))
	}
	if other := plugin.ServerID(); other != "" && other != serverApplication {
		server, asked = l.tokensFor(other), nil
	}
	if asked == nil {
		asked = server.begin(ctx)
	}
	token, err := asked.last(ctx)
	if err != nil {
		return nil, err
	}
	c.User = claimsOf(token.Token).user()
	as := ""
	if userName.MatchString(c.User) {
		as = ", as the user " + c.User
	}
	l.tell("%s; its API server is asked with a token of Entra%s", m, as)
	cfg.WrapTransport = func(next http.RoundTripper) http.RoundTripper { return &bearer{tokens: server, next: next} }
	return c, nil
}

// userName is the name of a user that can be repeated as it is: an object id or
// a userPrincipalName.
var userName = regexp.MustCompile(`^[0-9A-Za-z._+-]{1,120}(?:@[0-9A-Za-z.-]{1,120})?$`)
