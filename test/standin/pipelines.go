package standin

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

// Pipelines plays the endpoint that gives a job of Azure Pipelines its id tokens
// for a service connection, and is their issuer.
// https://learn.microsoft.com/en-us/azure/devops/pipelines/release/configure-workload-identity
type Pipelines struct {
	*Server
	// RequestURI and AccessToken are what a job finds in SYSTEM_OIDCREQUESTURI and
	// SYSTEM_ACCESSTOKEN.
	RequestURI, AccessToken string

	ledger *Ledger
	signer *signer
	entra  *Entra

	mu         sync.Mutex
	connection Connection
	issued     []IDToken
}

// Connection is a service connection with workload identity federation.
type Connection struct {
	// ID is the one in the URL of the service connection.
	ID                                string
	Organization, Project, Name       string
	OrganizationID, Definition, Build string
	// EntraTenant is the tenant whose Entra issues the token: the newer kind of
	// connections. Empty for those whose issuer is Azure DevOps.
	EntraTenant string
	// Lifetime is how long a token is good, 10 minutes when zero; Shift moves all
	// times in it.
	Lifetime, Shift time.Duration
}

// NewPipelines starts it with a connection whose issuer is Azure DevOps. The
// Entra is the one that issues the tokens of the newer kind.
func NewPipelines(authority *Authority, ledger *Ledger, entra *Entra) (*Pipelines, error) {
	key, err := pipelinesKey()
	if err != nil {
		return nil, err
	}
	p := &Pipelines{ledger: ledger, signer: key, entra: entra, connection: Connection{
		ID: "3f6b5d35-6d0f-4a47-8d0b-0a5a6a8f1c11", Organization: "acme", Project: "orders", Name: "aks-production",
		OrganizationID: "b0f35b8a-2f4f-4d0e-9d3c-1e2d6c5a7f90", Definition: "12", Build: "3141",
	}}
	p.AccessToken, err = key.sign(jwt.MapClaims{
		"nameid": uuid.NewString(), "scp": "app_token", "aui": uuid.NewString(), "sid": uuid.NewString(), "jti": rand.Text(),
		"iss": "app.vstoken.visualstudio.com", "aud": "app.vstoken.visualstudio.com|vso:" + p.connection.OrganizationID,
		"exp": time.Now().Add(2 * time.Hour).Unix(), "nbf": time.Now().Unix(),
	})
	if err != nil {
		return nil, err
	}
	ledger.AddToken("the access token of Azure Pipelines", p.AccessToken)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{organization}/.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
		issuer := p.URL + "/" + r.PathValue("organization")
		writeJSON(w, http.StatusOK, discovery(issuer, issuer+"/.well-known/jwks"))
	})
	mux.HandleFunc("GET /{organization}/.well-known/jwks", key.serveKeys)
	path := "/acme/" + uuid.NewString() + "/_apis/distributedtask/hubs/build/plans/" + uuid.NewString() + "/jobs/" + uuid.NewString() + "/oidctoken"
	mux.HandleFunc("POST "+path, p.serve)
	if p.Server, err = NewServer("azure-pipelines", authority, mux); err != nil {
		return nil, err
	}
	p.RequestURI = p.URL + path
	return p, nil
}

// Change changes the connection; the next token tells of it.
func (p *Pipelines) Change(change func(*Connection)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.connection)
}

// Connection returns the connection as it is now.
func (p *Pipelines) Connection() Connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.connection
}

// Issued returns the tokens that were issued, the first one first.
func (p *Pipelines) Issued() []IDToken {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.issued)
}

// Issuer is the issuer of the next token.
func (p *Pipelines) Issuer() string {
	return p.issuer(p.Connection())
}

func (p *Pipelines) issuer(c Connection) string {
	if c.EntraTenant != "" {
		return p.entra.Issuer(c.EntraTenant)
	}
	return p.URL + "/" + c.OrganizationID
}

// Subject is the subject of the next token.
func (p *Pipelines) Subject() string { return p.Connection().subject() }

func (c Connection) subject() string {
	if c.EntraTenant == "" {
		return "sc://" + c.Organization + "/" + c.Project + "/" + c.Name
	}
	// The application of Azure DevOps is 499b84ac-1321-427f-aa17-267ca6975798.
	return "/eid1/c/pub/t/" + short(c.EntraTenant) + "/a/" + short("499b84ac-1321-427f-aa17-267ca6975798") + "/sc/" + c.OrganizationID + "/" + c.ID
}

// short is how an id stands in the subjects that Entra makes.
func short(id string) string {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return id
	}
	b := parsed[:]
	slices.Reverse(b[0:4])
	slices.Reverse(b[4:6])
	slices.Reverse(b[6:8])
	return base64.RawURLEncoding.EncodeToString(b)
}

// serve answers as Azure DevOps does. Without the header X-TFS-FedAuthRedirect a
// client that is not known is sent to a page to sign in.
func (p *Pipelines) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Vss-E2eid", uuid.NewString())
	refuse := func(status int, text string) {
		writeJSON(w, status, map[string]any{"$id": "1", "innerException": nil, "message": text, "errorCode": 0})
	}
	if bearer(r) != p.AccessToken {
		if r.Header.Get("X-TFS-FedAuthRedirect") != "Suppress" {
			http.Redirect(w, r, p.URL+"/_signin?realm=dev.azure.com", http.StatusFound)
			return
		}
		w.Header().Set("WWW-Authenticate", "Bearer authorization_uri="+p.URL)
		refuse(http.StatusUnauthorized, "TF400813: The user '' is not authorized to access this resource.")
		return
	}
	query, connection := r.URL.Query(), p.Connection()
	switch {
	case query.Get("api-version") != "7.1":
		refuse(http.StatusBadRequest, "VssVersionNotSpecified: the api-version must be 7.1.")
	case query.Get("serviceConnectionId") != connection.ID:
		refuse(http.StatusNotFound, "VS800075: The service connection with id '"+query.Get("serviceConnectionId")+"' does not exist, or the pipeline has no permission to use it.")
	default:
		token, err := p.token(connection)
		if err != nil {
			refuse(http.StatusInternalServerError, err.Error())
			return
		}
		writeJSON(w, http.StatusOK, map[string]any{"oidcToken": token})
	}
}

func (p *Pipelines) token(c Connection) (string, error) {
	lifetime := c.Lifetime
	if lifetime == 0 {
		lifetime = 10 * time.Minute
	}
	now, key := time.Now().Add(c.Shift), p.signer
	claims := jwt.MapClaims{
		"jti": uuid.NewString(), "sub": c.subject(), "aud": "api://AzureADTokenExchange", "iss": p.issuer(c),
		"nbf": now.Unix(), "iat": now.Unix(), "exp": now.Add(lifetime).Unix(),
	}
	if c.EntraTenant == "" {
		claims["org_id"], claims["def_id"], claims["run_id"], claims["sc_id"] = c.OrganizationID, c.Definition, c.Build, c.ID
	} else {
		claims["tid"], key = c.EntraTenant, p.entra.signer
	}
	token, err := key.sign(claims)
	if err != nil {
		return "", err
	}
	p.ledger.AddToken("an id token of Azure Pipelines", token)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.issued = append(p.issued, issuedToken(claims))
	return token, nil
}
