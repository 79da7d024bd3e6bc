package azure

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// claims are what a token says of itself and whom it is for. Nobody has checked
// them: they are for messages, never for decisions.
type claims struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience audience `json:"aud"`
	ObjectID string   `json:"oid"`
	// UPN is the userPrincipalName of a person.
	UPN      string `json:"upn"`
	TenantID string `json:"tid"`
}

// audience is one text or a list of them (RFC 7519, 4.1.3).
type audience string

// UnmarshalJSON implements [json.Unmarshaler].
func (a *audience) UnmarshalJSON(data []byte) error {
	var one string
	if err := json.Unmarshal(data, &one); err == nil {
		*a = audience(one)
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil {
		return err
	}
	*a = audience(strings.Join(many, " "))
	return nil
}

// claimsOf returns the claims of a JSON Web Token, or none when it is no such
// thing.
func claimsOf(token string) claims {
	var c claims
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return c
	}
	if err := json.Unmarshal(payload, &c); err != nil {
		return claims{}
	}
	return c
}

// user is whom an API server of AKS takes the token's owner for: a person of the
// tenant by userPrincipalName, everybody else, guests and applications, by object
// id.
// https://learn.microsoft.com/azure/aks/azure-ad-rbac
func (c claims) user() string {
	if c.UPN != "" && !strings.Contains(c.UPN, "#") {
		return c.UPN
	}
	return c.ObjectID
}
