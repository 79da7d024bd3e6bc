package azure

import (
	"context"
	"errors"
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
	// secrets are all that was masked.
	secrets secret.Set

	mu sync.Mutex
	// credential is the SDK's, with a cache of tokens of its own.
	credential azcore.TokenCredential
	// told are the things that people were told of already.
	told map[string]bool
}

var _ azcore.TokenCredential = (*login)(nil)

// unknownYet are the pauses after Entra said that it does not know a federated
// credential: one that was just made takes a while to be known everywhere.
var unknownYet = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// GetToken implements [azcore.TokenCredential]. The error tells what to do, and
// is a *tokenError.
func (l *login) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	for try := 0; ; try++ {
		token, err := l.once(ctx, options)
		var failed *tokenError
		if !errors.As(err, &failed) || !failed.unknownYet || try == len(unknownYet) {
			return token, err
		}
		l.tell("Entra does not know a federated credential for this id token (AADSTS%d); one that was just made takes a while, so it is asked again", failed.code)
		select {
		case <-time.After(unknownYet[try]):
		case <-ctx.Done():
			return token, err
		}
	}
}

// once asks for a token once; the SDK repeats what a network or a busy server
// spoils.
func (l *login) once(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	credential, err := l.current()
	if err != nil {
		return azcore.AccessToken{}, l.explainToken(&trail{}, err)
	}
	ctx, trail := withTrail(ctx)
	token, err := credential.GetToken(ctx, options)
	if err != nil {
		return azcore.AccessToken{}, l.explainToken(trail, err)
	}
	l.mask(token.Token)
	return token, nil
}

func (l *login) current() (azcore.TokenCredential, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.credential == nil {
		credential, err := l.newCredential()
		if err != nil {
			return nil, err
		}
		l.credential = credential
	}
	return l.credential, nil
}

// forget makes sure that the next token is not one that was had before.
func (l *login) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.credential = nil
}
