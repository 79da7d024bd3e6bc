package standin

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"math/big"
	"net/http"
	"sync"

	"github.com/golang-jwt/jwt/v5"
)

// signer signs tokens with RS256.
type signer struct {
	id  string
	key *rsa.PrivateKey
}

// A key takes a while to make, so each kind of stand-in has one for the life of
// the process. Two kinds never share one.
var (
	githubKey    = sync.OnceValues(newSigner)
	resultsKey   = sync.OnceValues(newSigner)
	pipelinesKey = sync.OnceValues(newSigner)
	entraKey     = sync.OnceValues(newSigner)
	strangerKey  = sync.OnceValues(newSigner)
)

func newSigner() (*signer, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(key.N.Bytes())
	return &signer{id: hex.EncodeToString(sum[:20]), key: key}, nil
}

// sign returns the claims as a token.
func (s *signer) sign(claims jwt.MapClaims) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	token.Header["kid"], token.Header["x5t"] = s.id, s.id
	return token.SignedString(s.key)
}

// Forge returns a token with the same claims and the same header as another, but
// signed with a key that nobody published.
func Forge(token string) (string, error) {
	stranger, err := strangerKey()
	if err != nil {
		return "", err
	}
	claims := jwt.MapClaims{}
	parsed, _, err := jwt.NewParser().ParseUnverified(token, claims)
	if err != nil {
		return "", err
	}
	forged := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	forged.Header = parsed.Header
	return forged.SignedString(stranger.key)
}

// jsonKey is a public key, RFC 7517 and RFC 7518 section 6.3.1.
type jsonKey struct {
	Type      string `json:"kty"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
	ID        string `json:"kid"`
	N         string `json:"n"`
	E         string `json:"e"`
}

type keySet struct {
	Keys []jsonKey `json:"keys"`
}

func (s *signer) keySet() keySet {
	return keySet{[]jsonKey{{
		Type: "RSA", Use: "sig", Algorithm: "RS256", ID: s.id,
		N: base64.RawURLEncoding.EncodeToString(s.key.N.Bytes()),
		E: base64.RawURLEncoding.EncodeToString(big.NewInt(int64(s.key.E)).Bytes()),
	}}}
}

// serveKeys answers with the key set.
func (s *signer) serveKeys(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.keySet())
}

// publicKey is the opposite of keySet.
func (k jsonKey) publicKey() (*rsa.PublicKey, bool) {
	n, errN := base64.RawURLEncoding.DecodeString(k.N)
	e, errE := base64.RawURLEncoding.DecodeString(k.E)
	if k.Type != "RSA" || errN != nil || errE != nil || len(n) < 256 || len(e) == 0 || len(e) > 4 {
		return nil, false
	}
	return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}, true
}

// discovery is an issuer's own document, OpenID Connect Discovery 1.0.
func discovery(issuer, keys string) map[string]any {
	return map[string]any{
		"issuer":                                issuer,
		"jwks_uri":                              keys,
		"subject_types_supported":               []string{"public", "pairwise"},
		"response_types_supported":              []string{"id_token"},
		"id_token_signing_alg_values_supported": []string{"RS256"},
		"scopes_supported":                      []string{"openid"},
		"claims_supported":                      []string{"sub", "aud", "exp", "iat", "iss", "jti", "nbf"},
	}
}
