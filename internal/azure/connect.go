package azure

import (
	"context"
	"net/http"
	"regexp"

	"github.com/aks-oneshot/aks-oneshot/internal/kubeconfig"
)

// serverApplication is the application that API servers of AKS are in every
// cloud, unless a kubeconfig says otherwise (AKS docs, "Use kubelogin": the
// server id of the exec plugin).
const serverApplication = "6dae42f8-4368-4678-94ff-3960e28e3630"

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
