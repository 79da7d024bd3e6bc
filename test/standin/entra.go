package standin

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Entra plays Microsoft Entra: the discovery document and key set of its tenants,
// and the token endpoint for applications that show an id token of another
// issuer in place of a secret.
// https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-client-creds-grant-flow#third-case-access-token-request-with-a-federated-credential
type Entra struct {
	*Server

	ledger     *Ledger
	signer     *signer
	client     *http.Client
	transport  *http.Transport
	identities identities

	mu         sync.Mutex
	options    EntraOptions
	tenants    map[string]map[string]*App // applications by tenant and client id
	keys       map[string]keySet          // of issuers
	issued     []AccessToken
	assertions []Assertion
}

// EntraOptions say how it issues.
type EntraOptions struct {
	// Lifetime is how long an access token is good from its issue, an hour when
	// zero; whole seconds. RefreshIn is told to the client when not zero.
	Lifetime, RefreshIn time.Duration
	// TokenIssuer is what the issuer of access tokens begins with, its own address
	// when empty. Several that share one, as https://sts.windows.net, are one Entra
	// to whoever checks their tokens.
	TokenIssuer string
	// Resources are the audiences that it knows. One without a scheme is an
	// application's id. A slash at the end does not matter.
	Resources []string
}

// App is an application, and its service principal in the tenant.
type App struct {
	// ClientID is the application's, ObjectID the service principal's.
	ClientID, ObjectID string
	Credentials        []FederatedCredential
	// NotYet is how many token requests are answered AADSTS700213 before the
	// credentials count, as just after they were created.
	NotYet int
	// Groups are in the token when there are any, by their object ids.
	Groups []string
}

// FederatedCredential is what an id token has to say to stand for an application.
type FederatedCredential struct{ Issuer, Subject, Audience string }

// AccessToken is a token that was issued.
type AccessToken struct {
	ID, Audience, ClientID, ObjectID string
	// UPN is the userPrincipalName of a person, empty for everybody else.
	UPN           string
	Time, Expires time.Time
}

// Assertion is an id token that was shown, with what came of it. It is there
// whatever the request met, and from when it was read.
type Assertion struct {
	ID, Issuer, Subject, Audience, ClientID, Scope string
	Time                                           time.Time
	// Code is the error that was answered, 0 when a token was, and [Spoilt] when
	// the request met something else.
	Code int
}

// Spoilt is the code of an assertion that Entra itself did not judge.
const Spoilt = -1

// Resources that are there in every tenant.
const (
	// AKSServerID is the application of the API servers of AKS clusters.
	AKSServerID = "6dae42f8-4368-4678-94ff-3960e28e3630"
	// AKSClientID is the public client of kubelogin.
	AKSClientID = "80faf920-1908-4b52-b5ef-a8e7bedfc67a"
)

var managementAudiences = []string{
	"https://management.azure.com", "https://management.core.windows.net",
	"https://management.usgovcloudapi.net", "https://management.core.usgovcloudapi.net",
	"https://management.chinacloudapi.cn", "https://management.core.chinacloudapi.cn",
}

// NewEntra starts it without tenants. It trusts the authority when it fetches an
// issuer's keys.
func NewEntra(authority *Authority, ledger *Ledger) (*Entra, error) {
	key, err := entraKey()
	if err != nil {
		return nil, err
	}
	e := &Entra{
		ledger: ledger, signer: key, transport: authority.Transport(),
		options: EntraOptions{Resources: append([]string{AKSServerID}, managementAudiences...)},
		tenants: map[string]map[string]*App{}, keys: map[string]keySet{},
	}
	e.client = &http.Client{Transport: e.transport, Timeout: 10 * time.Second}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{tenant}/v2.0/.well-known/openid-configuration", e.ofTenant(e.serveDiscovery))
	mux.HandleFunc("GET /{tenant}/.well-known/openid-configuration", e.ofTenant(e.serveDiscovery))
	mux.HandleFunc("GET /{tenant}/discovery/v2.0/keys", e.ofTenant(func(w http.ResponseWriter, r *http.Request, _ string) { key.serveKeys(w, r) }))
	mux.HandleFunc("POST /{tenant}/oauth2/v2.0/token", e.ofTenant(e.serveToken))
	mux.HandleFunc("GET /msi/token", e.serveIdentity)
	if e.Server, err = NewServer("entra", authority, mux); err != nil {
		return nil, err
	}
	e.Server.before(e.shown)
	return e, nil
}

// Close ends the server and its connections to issuers.
func (e *Entra) Close() error {
	e.transport.CloseIdleConnections()
	return e.Server.Close()
}

// AuthorityHost is what the input authority-host is: its address with a slash.
func (e *Entra) AuthorityHost() string { return e.URL + "/" }

// AddTenant makes a tenant.
func (e *Entra) AddTenant(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tenants[strings.ToLower(id)] = map[string]*App{}
}

// AddApp registers an application in a tenant that is there, or registers it
// again.
func (e *Entra) AddApp(tenant string, app App) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tenants[strings.ToLower(tenant)][strings.ToLower(app.ClientID)] = &app
}

// ChangeApp changes an application that is there.
func (e *Entra) ChangeApp(tenant, clientID string, change func(*App)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(e.tenants[strings.ToLower(tenant)][strings.ToLower(clientID)])
}

// Change changes how it issues.
func (e *Entra) Change(change func(*EntraOptions)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(&e.options)
}

// Issuer is the issuer of a tenant in the documents of version 2.0, which MSAL
// reads, and of id tokens.
func (e *Entra) Issuer(tenant string) string { return e.URL + "/" + strings.ToLower(tenant) + "/v2.0" }

// AccessTokenIssuer is the issuer of access tokens, which are of version 1.0 as
// those for ARM and AKS are; the real one is https://sts.windows.net/{tenant}/.
func (e *Entra) AccessTokenIssuer(tenant string) string {
	return e.tokenIssuer() + "/" + strings.ToLower(tenant) + "/"
}

func (e *Entra) tokenIssuer() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return orElse(e.options.TokenIssuer, e.URL)
}

// Issued returns the access tokens that were issued, the first one first.
func (e *Entra) Issued() []AccessToken {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.issued)
}

// IssuedFor counts the access tokens by audience.
func (e *Entra) IssuedFor() map[string]int {
	counts := map[string]int{}
	for _, token := range e.Issued() {
		counts[token.Audience]++
	}
	return counts
}

// Assertions returns the id tokens that were shown, the first one first.
func (e *Entra) Assertions() []Assertion {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.assertions)
}

// Repeated returns the jti of every id token that was shown more than once.
func (e *Entra) Repeated() []string {
	var repeated []string
	counts := map[string]int{}
	for _, shown := range e.Assertions() {
		if counts[shown.ID]++; counts[shown.ID] == 2 {
			repeated = append(repeated, shown.ID)
		}
	}
	return repeated
}

// ofTenant serves for tenants that are there.
func (e *Entra) ofTenant(serve func(http.ResponseWriter, *http.Request, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tenant := r.PathValue("tenant")
		e.mu.Lock()
		_, known := e.tenants[strings.ToLower(tenant)]
		e.mu.Unlock()
		if !known {
			e.refuse(w, r, refusal{code: 90002, tenant: tenant})
			return
		}
		serve(w, r, strings.ToLower(tenant))
	}
}

// serveDiscovery answers with the document of version 2.0, which MSAL reads, or
// that of version 1.0, which whoever checks an access token reads.
func (e *Entra) serveDiscovery(w http.ResponseWriter, r *http.Request, tenant string) {
	issuer := e.AccessTokenIssuer(tenant)
	if strings.Contains(r.URL.Path, "/v2.0/") {
		issuer = e.Issuer(tenant)
	}
	document := discovery(issuer, e.URL+"/"+tenant+"/discovery/v2.0/keys")
	document["token_endpoint"] = e.URL + "/" + tenant + "/oauth2/v2.0/token"
	document["authorization_endpoint"] = e.URL + "/" + tenant + "/oauth2/v2.0/authorize"
	document["device_authorization_endpoint"] = e.URL + "/" + tenant + "/oauth2/v2.0/devicecode"
	document["end_session_endpoint"] = e.URL + "/" + tenant + "/oauth2/v2.0/logout"
	document["userinfo_endpoint"] = e.URL + "/oidc/userinfo"
	document["token_endpoint_auth_methods_supported"] = []string{"client_secret_post", "private_key_jwt", "client_secret_basic"}
	document["response_modes_supported"] = []string{"query", "fragment", "form_post"}
	document["tenant_region_scope"], document["cloud_instance_name"] = "EU", "microsoftonline.com"
	writeJSON(w, http.StatusOK, document)
}
