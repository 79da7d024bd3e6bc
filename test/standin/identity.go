package standin

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Identity is a managed identity as App Service offers it to what runs there: a
// process finds Endpoint and Header in IDENTITY_ENDPOINT and IDENTITY_HEADER.
// https://learn.microsoft.com/en-us/azure/app-service/overview-managed-identity#rest-endpoint-reference
type Identity struct {
	Endpoint, Header string

	tenant, clientID string
}

// identities are those of an Entra by their header.
type identities struct {
	mu    sync.Mutex
	known map[string]Identity
}

// NewIdentity offers an application of a tenant as managed identity, both as the
// system's own and by its client id.
func (e *Entra) NewIdentity(tenant, clientID string) Identity {
	identity := Identity{Endpoint: e.URL + "/msi/token", Header: rand.Text() + rand.Text(), tenant: strings.ToLower(tenant), clientID: clientID}
	e.ledger.AddText("the header of a managed identity", identity.Header)
	e.identities.mu.Lock()
	defer e.identities.mu.Unlock()
	if e.identities.known == nil {
		e.identities.known = map[string]Identity{}
	}
	e.identities.known[identity.Header] = identity
	return identity
}

func (e *Entra) serveIdentity(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, text string) {
		writeJSON(w, status, map[string]any{"statusCode": status, "message": text})
	}
	query := r.URL.Query()
	e.identities.mu.Lock()
	identity, known := e.identities.known[r.Header.Get("X-Identity-Header")]
	e.identities.mu.Unlock()
	e.mu.Lock()
	options := e.options
	var app App
	if there := e.app(identity.tenant, identity.clientID); known && there != nil {
		app = *there
	}
	e.mu.Unlock()
	id := query.Get("client_id")
	switch {
	case app.ClientID == "":
		refuse(http.StatusUnauthorized, "The X-IDENTITY-HEADER is missing or wrong.")
		return
	case query.Get("api-version") != "2019-08-01":
		refuse(http.StatusBadRequest, "The api-version is not supported.")
		return
	case id != "" && !strings.EqualFold(id, app.ClientID), query.Has("principal_id") || query.Has("object_id") || query.Has("mi_res_id"):
		refuse(http.StatusBadRequest, "No User Assigned or Delegated Managed Identity found for specified ClientId/ResourceId/PrincipalId.")
		return
	case !options.knows(query.Get("resource")):
		refuse(http.StatusBadRequest, "The resource '"+query.Get("resource")+"' was not found.")
		return
	}
	token, made, err := e.issue(identity.tenant, app, query.Get("resource"), options.lifetime())
	if err != nil {
		refuse(http.StatusInternalServerError, err.Error())
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"access_token": token, "expires_on": strconv.FormatInt(made.Expires.Unix(), 10),
		"resource": made.Audience, "token_type": "Bearer", "client_id": app.ClientID,
	})
}
