package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// accessToken is what Entra answered.
type accessToken struct {
	Access  string
	Expires int64 // seconds since 1970
}

// token has an access token from Entra as anybody has one who holds an id token
// (RFC 7523): for a step that is given the token, not the id token.
func (a *Azure) token(ctx context.Context, resource string) (accessToken, error) {
	assertion, err := a.GitHub.Token(standin.TokenAudience)
	if err != nil {
		return accessToken{}, err
	}
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {standin.ClientID}, "scope": {resource + "/.default"},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}, "client_assertion": {assertion},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Entra.AuthorityHost()+TenantID+"/oauth2/v2.0/token", strings.NewReader(form.Encode()))
	if err != nil {
		return accessToken{}, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	transport := a.Authority.Transport()
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return accessToken{}, err
	}
	defer resp.Body.Close()
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
		Description string `json:"error_description"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return accessToken{}, err
	}
	if answer.AccessToken == "" {
		return accessToken{}, fmt.Errorf("no token of Entra: %s", answer.Description)
	}
	return accessToken{answer.AccessToken, time.Now().Unix() + answer.ExpiresIn}, nil
}
