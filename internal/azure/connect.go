package azure

import (
	"context"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aks-oneshot/aks-oneshot/internal/kubeconfig"
)

// serverApplication is the application that API servers of AKS are in every
// cloud, unless a kubeconfig says otherwise (AKS docs, "Use kubelogin": the
// server id of the exec plugin).
const serverApplication = "6dae42f8-4368-4678-94ff-3960e28e3630"

func connect(ctx context.Context, o Options) (*Connection, error) {
	l := newLogin(ctx, o)
	server := l.tokensFor(serverApplication)
	if !o.Admin {
		// Most clusters want one. Where a certificate does, it is not waited for.
		server.begin()
	}
	managed, err := l.lookUp(ctx)
	if err != nil {
		return nil, err
	}
	cfg, plugin, err := kubeconfig.ReadManaged(managed.kubeconfig)
	if err != nil {
		return nil, l.unusable(err)
	}
	if err := managed.choose(cfg, o); err != nil {
		return nil, err
	}
	c := &Connection{Config: cfg, AzureRBAC: managed.azureRBAC()}
	if plugin == nil {
		l.tell("%s; its kubeconfig has a credential of its own, so the API server is not asked with a token of Entra", managed)
		return c, nil
	}
	if id := plugin.ServerID(); id != "" && id != serverApplication {
		server = l.tokensFor(id)
	}
	token, err := server.present(ctx)
	if err != nil {
		return nil, err
	}
	c.ObjectID = claimsOf(token).ObjectID
	l.tell("%s; its API server is asked with a token of Entra, as the object %s", managed, c.ObjectID)
	cfg.WrapTransport = func(next http.RoundTripper) http.RoundTripper { return &bearer{tokens: server, next: next} }
	return c, nil
}

// newLogin returns the identity, and asks for the first id tokens: for Azure
// Resource Manager, and for the API server.
func newLogin(ctx context.Context, o Options) *login {
	l := &login{options: o, told: map[string]bool{}}
	l.client = clientOptions(o, l.mask)
	if o.Auth == GitHub {
		first := 2
		if o.Admin {
			first = 1
		}
		l.idTokens = newIDTokens(ctx, first, func(ctx context.Context) (string, error) {
			return o.IDToken(ctx, o.Cloud.Audience)
		})
	}
	return l
}

// tokensFor returns the tokens for an application.
func (l *login) tokensFor(application string) *tokens {
	return &tokens{ask: func(ctx context.Context, another bool) (azcore.AccessToken, error) {
		if another {
			l.forget()
		}
		return l.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{application + "/.default"}})
	}}
}
