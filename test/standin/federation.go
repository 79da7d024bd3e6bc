package standin

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// skew is by how much clocks may differ.
const skew = 5 * time.Minute

// judge checks the application, the assertion, and the resource, in the order in
// which Entra complains.
func (e *Entra) judge(r *http.Request, asked refusal, assertion string) refusal {
	refuse := func(code int, detail string) refusal {
		asked.code, asked.detail = code, detail
		return asked
	}
	credentials, known, notYet := e.credentials(asked)
	if !known {
		return refuse(700016, "")
	}
	if asked.issuer == "" {
		return refuse(50027, "")
	}
	if notYet {
		return refuse(700213, "")
	}
	if code := match(credentials, asked); code != 0 {
		return refuse(code, "")
	}
	now := time.Now()
	if asked.until.Before(now) || asked.from.After(now.Add(skew)) {
		return refuse(700024, "")
	}
	switch err := e.verify(r.Context(), asked.issuer, assertion); {
	case errors.Is(err, errIssuer):
		return refuse(50166, err.Error())
	case err != nil:
		return refuse(700027, err.Error())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.options.knows(resource(asked.scope)) {
		asked.code = 500011
	}
	return asked
}

// credentials returns those of the application, and counts a request that comes
// before they are known everywhere.
func (e *Entra) credentials(asked refusal) (credentials []FederatedCredential, known, notYet bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	app := e.app(asked.tenant, asked.client)
	if app == nil {
		return nil, false, false
	}
	if notYet = app.NotYet > 0; notYet {
		app.NotYet--
	}
	return slices.Clone(app.Credentials), true, notYet
}

// match compares issuer, audience and subject with the credentials, and returns
// the code for the first one that none has, 0 when one has all.
func match(credentials []FederatedCredential, asked refusal) int {
	left := keep(credentials, func(c FederatedCredential) bool { return c.Issuer == asked.issuer })
	if len(left) == 0 {
		return 700211
	}
	left = keep(left, func(c FederatedCredential) bool { return c.Audience == asked.audience })
	if len(left) == 0 {
		return 700212
	}
	if len(keep(left, func(c FederatedCredential) bool { return c.Subject == asked.subject })) > 0 {
		return 0
	}
	if len(keep(left, func(c FederatedCredential) bool { return strings.EqualFold(c.Subject, asked.subject) })) > 0 {
		return 7002138
	}
	return 700213
}

func keep(credentials []FederatedCredential, good func(FederatedCredential) bool) []FederatedCredential {
	return slices.DeleteFunc(slices.Clone(credentials), func(c FederatedCredential) bool { return !good(c) })
}

var errIssuer = errors.New("the issuer's keys could not be had")

// verify checks the signature with the keys that the issuer publishes.
func (e *Entra) verify(ctx context.Context, issuer, assertion string) error {
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"RS256"}), jwt.WithoutClaimsValidation())
	_, err := parser.Parse(assertion, func(token *jwt.Token) (any, error) {
		id, _ := token.Header["kid"].(string)
		return e.keyOf(ctx, issuer, id)
	})
	return err
}

// keyOf returns a key of an issuer. The key sets are kept, and fetched again for
// a key that is new.
func (e *Entra) keyOf(ctx context.Context, issuer, id string) (*rsa.PublicKey, error) {
	find := func(set keySet) *rsa.PublicKey {
		for _, key := range set.Keys {
			if public, ok := key.publicKey(); ok && key.ID == id {
				return public
			}
		}
		return nil
	}
	e.mu.Lock()
	key := find(e.keys[issuer])
	e.mu.Unlock()
	if key != nil {
		return key, nil
	}
	set, err := e.fetchKeys(ctx, issuer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errIssuer, err)
	}
	e.mu.Lock()
	e.keys[issuer] = set
	e.mu.Unlock()
	if key = find(set); key == nil {
		return nil, errors.New("the issuer has no key of this id")
	}
	return key, nil
}

// fetchKeys reads the discovery document, which has to be about the issuer, and
// the keys that it names.
func (e *Entra) fetchKeys(ctx context.Context, issuer string) (keySet, error) {
	if u, err := url.Parse(issuer); err != nil || u.Scheme != "https" {
		return keySet{}, errors.New("the issuer is no https address")
	}
	var document struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := e.fetch(ctx, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration", &document); err != nil {
		return keySet{}, err
	}
	if document.Issuer != issuer {
		return keySet{}, fmt.Errorf("the document is about %q", document.Issuer)
	}
	var set keySet
	err := e.fetch(ctx, document.Keys, &set)
	return set, err
}

func (e *Entra) fetch(ctx context.Context, address string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("User-Agent", internal)
	response, err := e.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", address, response.Status)
	}
	return json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(into)
}
