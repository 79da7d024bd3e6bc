package azure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aks-oneshot/aks-oneshot/internal/secret"
)

// login is one identity on its way to tokens.
type login struct {
	options  Options
	client   policy.ClientOptions
	idTokens *idTokens
	// objectID is whom Azure Resource Manager is asked as, by the word of the
	// token; "" before there is one.
	objectID string

	masking sync.Mutex
	// secrets are all that was masked.
	secrets secret.Set

	mu sync.Mutex
	// told are the things that people were told of already.
	told map[string]bool
}

// newLogin returns the identity, and asks for the first id tokens: for Azure
// Resource Manager, and for the API server.
func newLogin(ctx context.Context, o Options) *login {
	l := &login{options: o, told: map[string]bool{}}
	l.client = clientOptions(o, l.mask)
	if o.Auth == GitHub && o.IDToken != nil {
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

// tokensFor returns the tokens for an audience.
func (l *login) tokensFor(audience string) *tokens {
	t := &tokens{ask: func(ctx context.Context) (azcore.AccessToken, error) {
		return l.ask(ctx, policy.TokenRequestOptions{Scopes: []string{audience + "/.default"}})
	}}
	if audience != l.options.Cloud.ResourceManagerAudience {
		t.notify = l.report // The other ones are not for the run.
	}
	return t
}

// ask asks for a token that nobody had before. The error tells what to do, and is
// a *tokenError.
//
// Each time that is by a credential of its own. The SDK's credentials ask for one
// token after the other, and here two are needed at once; and they keep tokens,
// one that a server has rejected too, which [tokens] does better. The price is a
// look at Entra's addresses for each.
//
// What a network or a busy server spoils is asked for again here and not by the
// SDK, which would show the same id token: Entra may have taken it.
func (l *login) ask(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	begin := time.Now()
	for unknown, spoilt := 0, 0; ; {
		token, err := l.once(ctx, options)
		failed, ok := errors.AsType[*tokenError](err)
		if !ok || ctx.Err() != nil {
			return token, err
		}
		var pause time.Duration
		pauses := l.options.pace.unknownYet
		switch {
		case failed.unknownYet && unknown < len(pauses):
			l.tell("Entra does not know a federated credential for this id token (AADSTS%d); one that was just made takes a while, so it is asked again", failed.code)
			pause = pauses[unknown]
			unknown++
		case failed.spoilt:
			if pause, ok = l.options.pace.pause(spoilt, time.Since(begin), failed.after); !ok {
				return token, err
			}
			spoilt++
		default:
			if failed.also != "" {
				l.tell("%s", failed.also)
			}
			return token, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return token, err
		}
	}
}

// once asks for a token once, with an id token of its own.
func (l *login) once(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	credential, err := l.newCredential()
	if err != nil {
		return azcore.AccessToken{}, l.explainToken(seen{}, err)
	}
	ctx, trail := withTrail(ctx)
	if l.options.Auth == CLI {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.options.pace.az)
		defer cancel()
	}
	token, err := credential.GetToken(ctx, options)
	if err == nil && token.Token == "" {
		err = errors.New("the token is empty")
	}
	if err != nil && l.options.Auth == CLI && ctx.Err() != nil {
		err = errSlow // The SDK tells how az ended, and not why.
	}
	if err != nil {
		return azcore.AccessToken{}, l.explainToken(trail.end(), err)
	}
	l.mask(token.Token)
	if err := l.checkTenant(token.Token); err != nil {
		return azcore.AccessToken{}, &tokenError{failure: err}
	}
	return token, nil
}

var errSlow = errors.New("it did not answer in time")

// manager is the credential of calls to Azure Resource Manager.
type manager struct {
	login  *login
	tokens *tokens
}

var _ azcore.TokenCredential = manager{}

// GetToken implements [azcore.TokenCredential]. Claims are what a service wants a
// token to be made for that it did not take (continuous access evaluation).
func (m manager) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	if options.Claims != "" {
		return m.login.ask(ctx, options)
	}
	token, _, err := m.tokens.present(ctx)
	return token, err
}

// guarded is f, and turns a panic into an error: people are told of a bug by
// those who wait for f, and a process that a goroutine ends tells nothing.
func guarded[T any](what string, f func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a bug in %s (panic: %v)", what, p)
		}
	}()
	return f()
}
