package standin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"sigs.k8s.io/yaml"
)

// What can be wrong with an access token.
var (
	ErrExpired  = errors.New("the token has ended")
	ErrAudience = errors.New("the token is for somebody else")
	ErrTenant   = errors.New("the token is of another tenant")
	ErrInvalid  = errors.New("the token is not one of Entra's")
)

// Access is what an access token says of who has it.
type Access struct {
	ID, Audience, Tenant, ClientID, ObjectID string
	// UPN is the userPrincipalName of a person, empty for everybody else.
	UPN     string
	Groups  []string
	Expires time.Time
}

// Verify checks an access token as a service does: signature, issuer, times, and
// that it is for one of the audiences, whose slash at the end does not matter. The
// error is one of those above; what the token says is returned with it as far as
// the signature is right.
func (e *Entra) Verify(token, tenant string, audiences ...string) (Access, error) {
	var claims struct {
		jwt.RegisteredClaims
		Tenant   string   `json:"tid"`
		ClientID string   `json:"appid"`
		ObjectID string   `json:"oid"`
		UPN      string   `json:"upn"`
		Groups   []string `json:"groups"`
	}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"RS256"}), jwt.WithoutClaimsValidation())
	if _, err := parser.ParseWithClaims(token, &claims, func(t *jwt.Token) (any, error) {
		if t.Header["kid"] != e.signer.id {
			return nil, errors.New("no such key")
		}
		return e.signer.key.Public(), nil
	}); err != nil || claims.ExpiresAt == nil || len(claims.Audience) != 1 {
		return Access{}, ErrInvalid
	}
	access := Access{
		ID: claims.ID, Audience: claims.Audience[0], Tenant: claims.Tenant, ClientID: claims.ClientID, ObjectID: claims.ObjectID,
		UPN: claims.UPN, Groups: claims.Groups, Expires: claims.ExpiresAt.Time,
	}
	switch {
	case claims.ID == "" || !strings.HasPrefix(claims.Issuer, e.tokenIssuer()+"/"):
		return Access{}, ErrInvalid
	case !slices.ContainsFunc(audiences, func(a string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(access.Audience, "/") }):
		return access, ErrAudience
	case claims.Issuer != e.AccessTokenIssuer(tenant):
		return access, ErrTenant
	case !time.Now().Before(access.Expires):
		return access, ErrExpired
	}
	return access, nil
}

// AuthenticationConfiguration renders the configuration with which a
// kube-apiserver (--authentication-config) trusts the access tokens of a tenant
// for the audiences, such as [AKSServerID], as one of AKS does: a person of the
// tenant is the userPrincipalName, everybody else the object id, and groups are
// theirs.
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration
func (e *Entra) AuthenticationConfiguration(authority *Authority, tenant string, audiences ...string) ([]byte, error) {
	if len(audiences) == 0 {
		return nil, errors.New("an API server needs an audience")
	}
	issuer := map[string]any{
		"url": e.AccessTokenIssuer(tenant), "certificateAuthority": string(authority.PEM), "audiences": audiences,
	}
	if e.tokenIssuer() != e.URL {
		issuer["discoveryURL"] = e.URL + "/" + strings.ToLower(tenant) + "/.well-known/openid-configuration"
	}
	if len(audiences) > 1 {
		issuer["audienceMatchPolicy"] = "MatchAny"
	}
	b, err := yaml.Marshal(map[string]any{
		"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration",
		"jwt": []any{map[string]any{
			"issuer": issuer,
			"claimMappings": map[string]any{
				"username": map[string]any{"expression": "has(claims.upn) ? claims.upn : claims.oid"},
				"groups":   map[string]any{"claim": "groups", "prefix": ""},
				"uid":      map[string]any{"claim": "oid"},
			},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("rendering the authentication configuration: %w", err)
	}
	return b, nil
}
