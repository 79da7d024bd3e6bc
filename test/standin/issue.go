package standin

import (
	"maps"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

// AzureCLIClientID is the public client that az is.
const AzureCLIClientID = "04b07795-8ddb-461a-bbee-02f9e1bf7b46"

// Person is somebody who is signed in at a terminal, as with az.
type Person struct {
	// UPN is the userPrincipalName, ada@example.com. A guest's token has none: it
	// is empty.
	UPN      string
	ObjectID string
	// Groups are in the token when there are any, by their object ids.
	Groups []string
}

// issue makes an access token for an application.
func (e *Entra) issue(tenant string, app App, audience string, lifetime time.Duration) (string, AccessToken, error) {
	return e.sign(tenant, AccessToken{Audience: audience, ClientID: app.ClientID, ObjectID: app.ObjectID}, lifetime, app.Groups, jwt.MapClaims{
		"appidacr": "2", "idp": e.AccessTokenIssuer(tenant), "idtyp": "app", "sub": app.ObjectID,
	})
}

// PersonToken makes an access token for a person who is signed in to a tenant with
// az: it speaks of a user, who has a scope in place of roles. It goes into the
// ledger and is among [Entra.Issued] as all others.
// https://learn.microsoft.com/en-us/entra/identity-platform/access-token-claims-reference
func (e *Entra) PersonToken(tenant, audience string, p Person) (string, AccessToken, error) {
	e.mu.Lock()
	lifetime := e.options.lifetime()
	e.mu.Unlock()
	made := AccessToken{Audience: audience, ClientID: AzureCLIClientID, ObjectID: p.ObjectID, UPN: p.UPN}
	claims := jwt.MapClaims{
		"appidacr": "0", "idtyp": "user", "scp": "user_impersonation", "sub": "pairwise-" + p.ObjectID, "amr": []string{"pwd", "mfa"},
		"name": "A Person", "ipaddr": "203.0.113.7",
	}
	if p.UPN == "" {
		claims["idp"], claims["unique_name"] = "live.com", "live.com#guest@example.net"
	} else {
		claims["upn"], claims["unique_name"] = p.UPN, p.UPN
	}
	return e.sign(strings.ToLower(tenant), made, lifetime, p.Groups, claims)
}

// sign signs what every access token has and the claims beside it.
func (e *Entra) sign(tenant string, made AccessToken, lifetime time.Duration, groups []string, more jwt.MapClaims) (string, AccessToken, error) {
	now := time.Now()
	made.ID, made.Time, made.Expires = uuid.NewString(), now, now.Truncate(time.Second).Add(lifetime)
	from := now.Add(-5 * time.Minute).Unix()
	claims := jwt.MapClaims{
		"aud": made.Audience, "iss": e.AccessTokenIssuer(tenant), "iat": from, "nbf": from, "exp": made.Expires.Unix(),
		"aio": uuid.NewString(), "appid": made.ClientID, "oid": made.ObjectID, "tid": tenant,
		"uti": made.ID[:8], "jti": made.ID, "ver": "1.0", "xms_tcdt": "1600000000",
	}
	if len(groups) > 0 {
		claims["groups"] = groups
	}
	maps.Copy(claims, more)
	token, err := e.signer.sign(claims)
	if err != nil {
		return "", AccessToken{}, err
	}
	e.ledger.AddToken("an access token for "+made.Audience, token)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.issued = append(e.issued, made)
	return token, made, nil
}
