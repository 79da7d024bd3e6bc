// Package azure turns who a workflow is into an authenticated connection to the
// API server of an AKS cluster: id token, Entra token, Azure Resource Manager,
// kubeconfig. Everything stays in memory, no program is run but az where that was
// asked for, and every failure says what came back and what to do about it.
//
// Tokens and calls are those of the Azure SDK (azidentity, armcontainerservice).
// What is here is which of them are needed, that they happen at the same time,
// that the token for the API server is renewed, and what their errors mean.
package azure

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// Auth is how a token is had from Entra.
type Auth string

// The ways to have one.
const (
	// GitHub exchanges the id token of a job of a GitHub workflow.
	GitHub Auth = "github"
	// Pipelines exchanges the id token of an Azure Pipelines service connection.
	Pipelines Auth = "azure-pipelines"
	// WorkloadIdentity exchanges the token of a Kubernetes ServiceAccount, from a
	// file: for runners that are pods.
	WorkloadIdentity Auth = "workload-identity"
	// ManagedIdentity asks the machine's metadata service: for runners in Azure.
	ManagedIdentity Auth = "managed-identity"
	// CLI asks az: for a person at a terminal.
	CLI Auth = "azure-cli"
)

// Options say whose connection is wanted, and to which cluster.
type Options struct {
	Auth Auth
	// TenantID and ClientID are the tenant and the application or managed
	// identity to be. [ManagedIdentity] and [CLI] know them by themselves; the
	// others need both.
	TenantID, ClientID string
	// ServiceConnection is the id of the one in Azure Pipelines, which
	// [Pipelines] needs.
	ServiceConnection string
	// IDToken returns an id token of the job that nobody was given before, masked
	// already. Only [GitHub] needs it.
	IDToken func(ctx context.Context, audience string) (string, error)
	// Getenv reads the environment: what Azure Pipelines and pods are given.
	Getenv func(string) string

	Cloud   Cloud
	Cluster Cluster
	// Admin wants the cluster's static administrator credential.
	Admin bool
	// PrivateFQDN says which name of a private cluster's API server is wanted;
	// nil leaves it to AKS.
	PrivateFQDN *bool

	// Version is given in User-Agents.
	Version string
	// Mask is told every credential before it is first used.
	Mask func(secret string)
	// Notify is told, a line at a time, what people should know. It is not called
	// any more once Connect has failed, but for what was on its way.
	Notify func(text string)

	// network is what is sent with; its zero value goes by the environment.
	network network.ClientOptions
	// pace is how long things may take; nil is the usual.
	pace *pace
}

// Cluster names a managed cluster in Azure.
type Cluster struct{ Subscription, ResourceGroup, Name string }

// ID returns the cluster's id in Azure Resource Manager.
func (c Cluster) ID() string {
	return "/subscriptions/" + c.Subscription + "/resourceGroups/" + c.ResourceGroup +
		"/providers/Microsoft.ContainerService/managedClusters/" + c.Name
}

// Connection is a way to talk to the API server as somebody.
type Connection struct {
	// Config describes the server and how to be known to it. Where that is by a
	// token of Entra, its WrapTransport has a present one in each request.
	Config *rest.Config
	// User is the name that the API server knows the caller by, as its token of
	// Entra has it: for texts, since nobody has checked the token. "" when the
	// caller is known by a certificate.
	User string
	// AzureRBAC says that the cluster asks Azure who may do what, beside
	// Kubernetes' own RBAC.
	AzureRBAC bool
}

// Limit is how long connecting may take, retries and all.
const Limit = 2 * time.Minute

// Connect looks the cluster up and returns a connection to its API server, to
// which nothing is sent yet. All that can happen at the same time does: one after
// another there are the id token, the token of Entra, and the two calls to Azure
// Resource Manager.
//
// The error is credential-failed, permission-denied, cluster-unreachable,
// config-invalid, or cancelled with ctx's cause. It holds no secret.
func Connect(ctx context.Context, o Options) (*Connection, error) {
	if o.pace == nil {
		o.pace = &usual
	}
	limited, cancel := o.pace.limited(ctx)
	defer cancel()
	c, err := connect(limited, o)
	if err == nil {
		return c, nil
	}
	if ctx.Err() != nil {
		return nil, failure.New(failure.Cancelled, "the run was told to stop before anything was dispatched: %w", context.Cause(ctx))
	}
	if coded, ok := errors.AsType[*failure.Error](err); ok {
		return nil, coded // Around it, its code and its fix would be told twice.
	}
	f := failure.New(failure.CredentialFailed, "signing in to Entra for AKS cluster %s in resource group %s: %w", o.Cluster.Name, o.Cluster.ResourceGroup, err)
	if errors.Is(err, errLimit) {
		return nil, f.WithFix("Run again, and see whether this runner's network is slow")
	}
	return nil, f.WithFix("Report this as a bug")
}

var errLimit = errors.New("there was no time left for it")
