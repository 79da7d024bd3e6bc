package standin

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// Actions that a role allows on managed clusters, and the roles that have them.
// https://learn.microsoft.com/en-us/azure/role-based-access-control/built-in-roles/containers
const (
	ActionRead      = "Microsoft.ContainerService/managedClusters/read"
	ActionListUser  = "Microsoft.ContainerService/managedClusters/listClusterUserCredential/action"
	ActionListAdmin = "Microsoft.ContainerService/managedClusters/listClusterAdminCredential/action"
)

// The built-in roles.
var (
	RoleReader       = []string{ActionRead}
	RoleClusterUser  = []string{ActionRead, ActionListUser}
	RoleClusterAdmin = []string{ActionRead, ActionListAdmin}
)

// ARM plays Azure Resource Manager for the managed clusters of a subscription.
type ARM struct {
	*Server
	// Subscription and Tenant are the ids of the subscription and of its tenant.
	Subscription, Tenant string

	ledger *Ledger
	entra  *Entra

	mu       sync.Mutex
	clusters map[string]*Cluster // by group and name
	groups   map[string]bool
	allowed  map[string][]grant // by object id
}

// NewARM starts it, for tokens of the Entra.
func NewARM(authority *Authority, ledger *Ledger, entra *Entra, tenant, subscription string) (*ARM, error) {
	a := &ARM{
		Subscription: strings.ToLower(subscription), Tenant: strings.ToLower(tenant), ledger: ledger, entra: entra,
		clusters: map[string]*Cluster{}, groups: map[string]bool{}, allowed: map[string][]grant{},
	}
	var err error
	if a.Server, err = NewServer("arm", authority, http.HandlerFunc(a.serve)); err != nil {
		return nil, err
	}
	entra.Change(func(o *EntraOptions) { o.Resources = append(o.Resources, a.URL) })
	return a, nil
}

// Audiences are those that it takes tokens for: its own address and those of the
// real ones.
func (a *ARM) Audiences() []string { return append([]string{a.URL}, managementAudiences...) }

// AddCluster makes a cluster, and its resource group. The keys and tokens in it
// go into the ledger.
func (a *ARM) AddCluster(c Cluster) error {
	if c.Name == "" || c.ResourceGroup == "" {
		return errors.New("a cluster needs a name and a resource group")
	}
	for _, user := range []User{c.User, c.Admin} {
		if err := a.remember(user); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.groups[strings.ToLower(c.ResourceGroup)] = true
	a.clusters[strings.ToLower(c.ResourceGroup+"/"+c.Name)] = &c
	return nil
}

// ChangeCluster changes a cluster that is there. Secrets in it go into the
// ledger.
func (a *ARM) ChangeCluster(group, name string, change func(*Cluster)) error {
	a.mu.Lock()
	cluster, ok := a.clusters[strings.ToLower(group+"/"+name)]
	if !ok {
		a.mu.Unlock()
		return fmt.Errorf("there is no cluster %s in %s", name, group)
	}
	change(cluster)
	changed := *cluster
	a.mu.Unlock()
	return a.AddCluster(changed)
}

func (a *ARM) remember(user User) error {
	if len(user.Key) > 0 {
		if err := a.ledger.AddKey("a client key", user.Key); err != nil {
			return err
		}
	}
	if user.Token != "" {
		a.ledger.AddToken("the token of a kubeconfig", user.Token)
	}
	a.rememberRaw(user.Raw)
	return nil
}

// rememberRaw looks for secrets by the names that a kubeconfig has for them. One
// that is too short to be looked for is not kept.
func (a *ARM) rememberRaw(object map[string]any) {
	for name, value := range object {
		switch value := value.(type) {
		case map[string]any:
			a.rememberRaw(value)
		case string:
			switch {
			case (name == "token" || name == "password" || strings.HasSuffix(name, "-token")) && len(value) >= shortest:
				a.ledger.AddToken("the "+name+" of a kubeconfig", value)
			case name == "client-key-data":
				if key, err := base64.StdEncoding.DecodeString(value); err == nil {
					// What is no key is no secret.
					_ = a.ledger.AddKey("a client key", key)
				}
			}
		}
	}
}

// grant is a role that somebody has at a scope and below it.
type grant struct {
	scope   string
	actions []string
}

// Allow gives a principal, by its object id, the actions of a role in the whole
// subscription, beside those that it has. Nobody has any before.
func (a *ARM) Allow(objectID string, actions ...string) {
	a.AllowAt(objectID, "/subscriptions/"+a.Subscription, actions...)
}

// AllowAt is Allow for a scope: the id of the subscription, of a resource group or
// of a cluster, whether that is there or not.
func (a *ARM) AllowAt(objectID, scope string, actions ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id := strings.ToLower(objectID)
	a.allowed[id] = append(a.allowed[id], grant{strings.ToLower(strings.TrimSuffix(scope, "/")), actions})
}

// may reports whether a principal may do something. The caller holds the lock.
func (a *ARM) may(objectID string, op operation) bool {
	scope := strings.ToLower(op.scope()) + "/"
	return slices.ContainsFunc(a.allowed[strings.ToLower(objectID)], func(g grant) bool {
		return strings.HasPrefix(scope, g.scope+"/") && slices.Contains(g.actions, op.action)
	})
}

// Forbid takes all actions from a principal.
func (a *ARM) Forbid(objectID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.allowed, strings.ToLower(objectID))
}

// operation is what a path asks for.
type operation struct{ subscription, group, name, action string }

// parse takes a path apart, without regard to case as ARM does.
func parse(r *http.Request) (operation, bool) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if len(parts) != 8 && len(parts) != 9 {
		return operation{}, false
	}
	for i, want := range map[int]string{0: "subscriptions", 2: "resourceGroups", 4: "providers", 5: "Microsoft.ContainerService", 6: "managedClusters"} {
		if !strings.EqualFold(parts[i], want) {
			return operation{}, false
		}
	}
	op := operation{subscription: strings.ToLower(parts[1]), group: parts[3], name: parts[7]}
	switch {
	case len(parts) == 8 && r.Method == http.MethodGet:
		op.action = ActionRead
	case len(parts) == 9 && r.Method == http.MethodPost && strings.EqualFold(parts[8], "listClusterUserCredential"):
		op.action = ActionListUser
	case len(parts) == 9 && r.Method == http.MethodPost && strings.EqualFold(parts[8], "listClusterAdminCredential"):
		op.action = ActionListAdmin
	default:
		return operation{}, false
	}
	return op, true
}

func (o operation) scope() string {
	return "/subscriptions/" + o.subscription + "/resourceGroups/" + o.group + "/providers/Microsoft.ContainerService/managedClusters/" + o.name
}

// serve checks in ARM's order: the token, the subscription, the role, the group,
// the resource.
func (a *ARM) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Ms-Correlation-Request-Id", uuid.NewString())
	w.Header().Set("X-Ms-Request-Id", uuid.NewString())
	access, ok := a.authenticate(w, r)
	if !ok {
		return
	}
	op, ok := parse(r)
	switch {
	case r.URL.Query().Get("api-version") == "":
		armError(w, http.StatusBadRequest, "MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required for all requests.")
		return
	case !ok:
		armError(w, http.StatusNotFound, "InvalidResourceType", "The resource type could not be found in the namespace 'Microsoft.ContainerService' for api version '"+r.URL.Query().Get("api-version")+"'.")
		return
	case op.subscription != a.Subscription:
		armError(w, http.StatusNotFound, "SubscriptionNotFound", "The subscription '"+op.subscription+"' could not be found.")
		return
	}
	a.mu.Lock()
	allowed := a.may(access.ObjectID, op)
	group := a.groups[strings.ToLower(op.group)]
	var cluster Cluster
	there := a.clusters[strings.ToLower(op.group+"/"+op.name)]
	if there != nil {
		cluster = *there
	}
	a.mu.Unlock()
	switch {
	case !allowed:
		armError(w, http.StatusForbidden, "AuthorizationFailed", fmt.Sprintf("The client '%s' with object id '%s' does not have authorization to perform action '%s' over scope '%s' or the scope is invalid. If access was recently granted, please refresh your credentials.",
			orElse(access.UPN, access.ClientID), access.ObjectID, op.action, op.scope()))
	case !group:
		armError(w, http.StatusNotFound, "ResourceGroupNotFound", "Resource group '"+op.group+"' could not be found.")
	case there == nil:
		armError(w, http.StatusNotFound, "ResourceNotFound", "The Resource 'Microsoft.ContainerService/managedClusters/"+op.name+"' under resource group '"+op.group+"' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix")
	case op.action == ActionRead:
		writeJSON(w, http.StatusOK, cluster.object(a.Subscription, a.Tenant))
	default:
		a.serveCredential(w, r, cluster, op.action)
	}
}

// serveCredential answers with a kubeconfig.
// https://learn.microsoft.com/en-us/rest/api/aks/managed-clusters/list-cluster-user-credentials
func (a *ARM) serveCredential(w http.ResponseWriter, r *http.Request, c Cluster, action string) {
	user, name, format := c.User, "clusterUser", r.URL.Query().Get("format")
	if action == ActionListAdmin {
		user, name = c.Admin, "clusterAdmin"
	}
	if c.NoLocalAccounts && (action == ActionListAdmin || !user.plugin() && user.Raw == nil) {
		armError(w, http.StatusBadRequest, "BadRequest", "Getting static credential is not allowed because this cluster is set to disable local accounts.")
		return
	}
	server := c.Server
	switch strings.ToLower(r.URL.Query().Get("server-fqdn")) {
	case "":
	case "public":
		server = orElse(c.PublicServer, server)
	case "private":
		server = orElse(c.PrivateServer, server)
	default:
		armError(w, http.StatusBadRequest, "BadRequest", "The value of the parameter server-fqdn is invalid. Please use public or private.")
		return
	}
	switch format {
	case "":
	case "azure", "exec":
		user.AuthProvider = format == "azure"
	default:
		armError(w, http.StatusBadRequest, "BadRequest", "The value of the parameter format is invalid.")
		return
	}
	config := kubeconfig(server, c.CA, c.Name, name+"_"+c.ResourceGroup+"_"+c.Name, user.object(a.Tenant))
	writeJSON(w, http.StatusOK, map[string]any{"kubeconfigs": []any{
		map[string]any{"name": name, "value": base64.StdEncoding.EncodeToString(config)},
	}})
}
