package standin_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// answer is what a server answered.
type answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// object is the body as JSON.
func (a answer) object(t *testing.T) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(a.Body, &object); err != nil {
		t.Fatalf("%d: %v: %s", a.Status, err, a.Body)
	}
	return object
}

// do sends a request and reads the answer; header are names and values in turn.
func do(t *testing.T, c *http.Client, method, address, body string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{Status: response.StatusCode, Header: response.Header, Body: b}
}

// claimsOf are a token's claims, not checked.
func claimsOf(t *testing.T, token string) jwt.MapClaims {
	t.Helper()
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(token, claims); err != nil {
		t.Fatal(err)
	}
	return claims
}

// idToken is a token of GitHub's for Entra.
func idToken(t *testing.T, a *standin.Azure) string {
	t.Helper()
	token, err := a.GitHub.Token(standin.TokenAudience)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// tokenForm is a good token request.
func tokenForm(assertion string) url.Values {
	return url.Values{
		"grant_type": {"client_credentials"}, "client_id": {standin.ClientID}, "client_info": {"1"},
		"scope":                 {standin.AKSServerID + "/.default openid offline_access profile"},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}, "client_assertion": {assertion},
	}
}

// askToken sends a token request to a tenant.
func askToken(t *testing.T, a *standin.Azure, tenant string, form url.Values) answer {
	t.Helper()
	return do(t, client(t, a), http.MethodPost, a.Entra.AuthorityHost()+tenant+"/oauth2/v2.0/token", form.Encode(),
		"Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
}

// accessToken is one for a resource.
func accessToken(t *testing.T, a *standin.Azure, resource string) string {
	t.Helper()
	form := tokenForm(idToken(t, a))
	form.Set("scope", resource+"/.default")
	got := askToken(t, a, standin.TenantID, form)
	token, ok := got.object(t)["access_token"].(string)
	if !ok {
		t.Fatalf("%d: %s", got.Status, got.Body)
	}
	return token
}
