package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/aks-oneshot/aks-oneshot/internal/azure"
	"github.com/aks-oneshot/aks-oneshot/internal/cluster"
	"github.com/aks-oneshot/aks-oneshot/internal/config"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/host"
)

// defaultAuth is how this process is known to Entra when nothing is said about
// it: by what has started it, never by trying one way after another. because says
// what it was known by.
func defaultAuth(getenv func(string) string) (auth azure.Auth, because string) {
	switch host.Detect(getenv) {
	case host.GitHub:
		return azure.GitHub, "this is a job of a GitHub workflow"
	case host.Pipelines:
		return azure.Pipelines, "this is a job of Azure Pipelines"
	}
	if getenv("AZURE_FEDERATED_TOKEN_FILE") != "" {
		return azure.WorkloadIdentity, "AZURE_FEDERATED_TOKEN_FILE is set"
	}
	return azure.CLI, "no CI system is known here"
}

// connectAzure asks Azure for the cluster, and for the credential that its API
// server wants, and returns a client that has it.
func (s *session) connectAzure(ctx context.Context, a *config.Azure) (*cluster.Client, error) {
	auth := azure.Auth(a.Auth)
	because := s.because
	if a.AuthGiven {
		because = "it is the input auth"
	}
	cloud, known := azure.CloudNamed(a.Environment)
	if !known {
		return nil, failure.New(failure.ConfigInvalid, "Azure has no cloud %s", strconv.Quote(a.Environment)).At("environment")
	}
	s.host.Log(fmt.Sprintf("signing in to Entra by %s: %s", auth, because))
	o := azure.Options{
		Auth: auth, TenantID: a.TenantID, ClientID: a.ClientID, ServiceConnection: a.ServiceConnection,
		Getenv:  s.source.Getenv,
		Cloud:   cloud.With(a.AuthorityHost, a.ResourceManager, a.Audience),
		Cluster: azure.Cluster{Subscription: a.Subscription, ResourceGroup: a.ResourceGroup, Name: a.Cluster},
		Admin:   a.Admin, PrivateFQDN: a.PrivateFQDN,
		Version: userAgentVersion(), Mask: s.host.Mask, Notify: s.host.Log,
	}
	if tokens, ok := s.host.(host.IDTokens); ok {
		o.IDToken = tokens.IDToken
		if auth == azure.GitHub && s.source.Getenv("ACTIONS_ID_TOKEN_REQUEST_URL") == "" {
			// The job may not have one. That is told also where Entra cannot be reached,
			// which is asked at the same time.
			if _, err := o.IDToken(ctx, o.Cloud.Audience); err != nil {
				return nil, err
			}
		}
	}
	c, err := azure.Connect(ctx, o)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.user = c.User
	s.mu.Unlock()
	return s.client(c.Config, cluster.WithManaged(cluster.Managed{
		ID: o.Cluster.ID(), ResourceGroup: a.ResourceGroup, Name: a.Cluster, User: c.User, AzureRBAC: c.AzureRBAC,
	}))
}

// grantee is whom a Role for this run is to be bound to, "" when that is not known
// or is no name that can be put into a manifest as it is: nobody has checked the
// claims of a token.
func (s *session) grantee() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !userName.MatchString(s.user) {
		return ""
	}
	return s.user
}

// userName is an object id of Entra's or a userPrincipalName.
var userName = regexp.MustCompile(`^(?:[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|[A-Za-z][0-9A-Za-z._+-]{0,120}@[0-9A-Za-z.-]{1,120})$`)
