package standin

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Azure is all of it, with one authority and one ledger: a tenant with an
// application that both GitHub's job and the service connection of Azure
// Pipelines may stand for, and a subscription with a cluster whose user
// credential the application may read: this one's and no other one's, as the
// documentation of the action has people set it up.
type Azure struct {
	Authority *Authority
	Ledger    *Ledger
	GitHub    *GitHub
	Pipelines *Pipelines
	Entra     *Entra
	ARM       *ARM
	// CAFile holds the authority, for SSL_CERT_FILE.
	CAFile string
}

// Ids of what is there.
const (
	TenantID       = "8d1a7c55-6d3b-4f0e-9a0c-2f6f1b3e5d10"
	SubscriptionID = "c2f0b1d4-7a5e-4c1b-8e2d-9b6a3f4e5c21"
	ClientID       = "5e9c3a72-1b4d-4e8f-b6a7-0c2d8f7e6b32"
	ObjectID       = "a7b8c9d0-2e3f-4a5b-8c6d-1e0f9a8b7c43"
	ResourceGroup  = "orders-production"
	ClusterName    = "orders-aks"
	// TokenAudience is the audience of id tokens for Entra in the public cloud.
	TokenAudience = "api://AzureADTokenExchange"
)

// NewAzure starts it. The cluster's API server is at an https address, with an
// authority in PEM; its user credential names kubelogin. dir is a folder for
// files, which is the caller's to remove.
func NewAzure(dir, server string, ca []byte) (*Azure, error) {
	authority, err := NewAuthority("stand-ins")
	if err != nil {
		return nil, err
	}
	a := &Azure{Authority: authority, Ledger: NewLedger(), CAFile: filepath.Join(dir, "standin-ca.pem")}
	if err := a.start(server, ca); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the stand-ins of Azure: %w", err), a.Close())
	}
	return a, nil
}

func (a *Azure) start(server string, ca []byte) (err error) {
	if err := os.WriteFile(a.CAFile, a.Authority.PEM, 0o600); err != nil {
		return err
	}
	if a.Entra, err = NewEntra(a.Authority, a.Ledger); err != nil {
		return err
	}
	a.Entra.AddTenant(TenantID)
	if a.GitHub, err = NewGitHub(a.Authority, a.Ledger); err != nil {
		return err
	}
	if a.Pipelines, err = NewPipelines(a.Authority, a.Ledger, a.Entra); err != nil {
		return err
	}
	if a.ARM, err = NewARM(a.Authority, a.Ledger, a.Entra, TenantID, SubscriptionID); err != nil {
		return err
	}
	a.Entra.AddApp(TenantID, App{ClientID: ClientID, ObjectID: ObjectID, Credentials: []FederatedCredential{
		{Issuer: a.GitHub.Issuer(), Subject: a.GitHub.Subject(), Audience: TokenAudience},
		{Issuer: a.Pipelines.Issuer(), Subject: a.Pipelines.Subject(), Audience: TokenAudience},
	}})
	a.ARM.AllowAt(ObjectID, a.ClusterID(), RoleClusterUser...)
	return a.ARM.AddCluster(Cluster{ResourceGroup: ResourceGroup, Name: ClusterName, Server: server, CA: ca})
}

func (a *Azure) servers() []*Server {
	var all []*Server
	if a.GitHub != nil {
		all = append(all, a.GitHub.Server)
	}
	if a.Pipelines != nil {
		all = append(all, a.Pipelines.Server)
	}
	if a.ARM != nil {
		all = append(all, a.ARM.Server)
	}
	if a.Entra != nil {
		all = append(all, a.Entra.Server)
	}
	return all
}

// Close ends everything.
func (a *Azure) Close() error {
	var all []io.Closer
	if a.Entra != nil {
		a.Entra.transport.CloseIdleConnections()
	}
	for _, s := range a.servers() {
		all = append(all, s)
	}
	return closeAll(all...)
}

// SetDelay makes every request to any of them wait before it is answered.
func (a *Azure) SetDelay(d time.Duration) {
	for _, s := range a.servers() {
		s.SetDelay(d)
	}
}

// Requests returns the requests to all of them, but not those of one to another,
// in the order of their arrival.
func (a *Azure) Requests() []Request {
	var all []Request
	for _, s := range a.servers() {
		all = append(all, s.Requests()...)
	}
	all = slices.DeleteFunc(all, func(r Request) bool { return r.Internal })
	slices.SortStableFunc(all, func(x, y Request) int { return x.Time.Compare(y.Time) })
	return all
}

// ClusterID is the cluster's id in ARM.
func (a *Azure) ClusterID() string {
	return "/subscriptions/" + SubscriptionID + "/resourceGroups/" + ResourceGroup + "/providers/Microsoft.ContainerService/managedClusters/" + ClusterName
}

// Inputs are those of the action for GitHub, by their names.
func (a *Azure) Inputs() map[string]string {
	return map[string]string{
		"tenant-id": TenantID, "client-id": ClientID, "subscription-id": SubscriptionID,
		"resource-group": ResourceGroup, "cluster-name": ClusterName,
		"authority-host": a.Entra.AuthorityHost(), "resource-manager-endpoint": a.ARM.URL,
	}
}

// PipelinesInputs are those for Azure Pipelines.
func (a *Azure) PipelinesInputs() map[string]string {
	inputs := a.Inputs()
	inputs["service-connection"] = a.Pipelines.Connection().ID
	return inputs
}

// GitHubEnv is what a job of GitHub with `id-token: write` has in its environment
// for id tokens, and whom it trusts.
func (a *Azure) GitHubEnv() map[string]string {
	return map[string]string{
		"ACTIONS_ID_TOKEN_REQUEST_URL": a.GitHub.RequestURL, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": a.GitHub.RequestToken,
		"SSL_CERT_FILE": a.CAFile,
	}
}

// PipelinesEnv is what a job of Azure Pipelines that maps SYSTEM_ACCESSTOKEN has
// in its environment for id tokens, and whom it trusts.
func (a *Azure) PipelinesEnv() map[string]string {
	return map[string]string{
		"TF_BUILD": "True", "SYSTEM_OIDCREQUESTURI": a.Pipelines.RequestURI, "SYSTEM_ACCESSTOKEN": a.Pipelines.AccessToken,
		"SSL_CERT_FILE": a.CAFile,
	}
}

// AuthenticationConfiguration is for --authentication-config of the kube-apiserver
// that is to be the cluster's: it trusts the tenant's tokens for AKS, and nothing
// else.
func (a *Azure) AuthenticationConfiguration() ([]byte, error) {
	return a.Entra.AuthenticationConfiguration(a.Authority, TenantID, AKSServerID)
}
