package azure

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerservice/armcontainerservice/v8"
	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// managed is what Azure Resource Manager says of a cluster.
type managed struct {
	Cluster
	// properties are nil when the caller may not read the cluster.
	properties *armcontainerservice.ManagedClusterProperties
	kubeconfig []byte
}

// lookUp reads the cluster and its credential at the same time. Only the second
// is needed, the first explains.
func (l *login) lookUp(ctx context.Context, who manager) (managed, error) {
	o := l.options
	m := managed{Cluster: o.Cluster}
	client, err := armcontainerservice.NewManagedClustersClient(o.Cluster.Subscription, who,
		// A provider that is not registered has no cluster, and registering it
		// is not this program's business.
		&arm.ClientOptions{ClientOptions: l.client, DisableRPRegistration: true})
	if err != nil {
		return m, failure.New(failure.ConfigInvalid, "connecting to Azure Resource Manager at %s: %w", o.Cloud.ResourceManager, err)
	}
	readCtx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	read := make(chan error, 1)
	go func() {
		properties, err := guarded("reading the cluster", func() (*armcontainerservice.ManagedClusterProperties, error) {
			ctx, trail := withTrail(readCtx)
			answer, err := client.Get(ctx, o.Cluster.ResourceGroup, o.Cluster.Name, nil)
			return answer.Properties, l.explainCall(trail.end(), readCluster, err)
		})
		m.properties = properties
		read <- err
	}()
	listCtx, trail := withTrail(ctx)
	m.kubeconfig, err = l.listCredentials(listCtx, client)
	listed := l.explainCall(trail.end(), l.credentialAction(), err)
	timer := time.AfterFunc(o.pace.patience, func() { giveUp(errPatience) })
	defer timer.Stop()
	if err := l.judge(<-read, listed, m.properties); err != nil {
		return m, err
	}
	if len(m.kubeconfig) == 0 {
		return m, l.unusable(errors.New("there is no kubeconfig in the answer"))
	}
	return m, nil
}

var errPatience = errors.New("it took too long")

// listCredentials returns the kubeconfig of the kind that is wanted, or nil when
// Azure has none.
func (l *login) listCredentials(ctx context.Context, client *armcontainerservice.ManagedClustersClient) ([]byte, error) {
	o := l.options
	var fqdn *string
	if o.PrivateFQDN != nil && !*o.PrivateFQDN {
		fqdn = to.Ptr("public")
	}
	var results armcontainerservice.CredentialResults
	if o.Admin {
		answer, err := client.ListClusterAdminCredentials(ctx, o.Cluster.ResourceGroup, o.Cluster.Name,
			&armcontainerservice.ManagedClustersClientListClusterAdminCredentialsOptions{ServerFqdn: fqdn})
		if err != nil {
			return nil, err
		}
		results = answer.CredentialResults
	} else {
		answer, err := client.ListClusterUserCredentials(ctx, o.Cluster.ResourceGroup, o.Cluster.Name,
			&armcontainerservice.ManagedClustersClientListClusterUserCredentialsOptions{
				ServerFqdn: fqdn, Format: to.Ptr(armcontainerservice.FormatExec),
			})
		if err != nil {
			return nil, err
		}
		results = answer.CredentialResults
	}
	for _, k := range results.Kubeconfigs {
		if k != nil && len(k.Value) > 0 {
			return k.Value, nil
		}
	}
	return nil, nil
}

// choose sets the name of the API server that was asked for.
func (m managed) choose(cfg *rest.Config, o Options) error {
	if o.PrivateFQDN == nil || !*o.PrivateFQDN {
		return nil
	}
	if m.properties == nil {
		return failure.New(failure.PermissionDenied, "connecting to AKS cluster %s by its private name: its properties could not be read, and the name is in them", m.Cluster).
			WithFix("Leave use-private-fqdn out, or give the role %s", readCluster.role)
	}
	name := ""
	if m.properties.PrivateFQDN != nil {
		name = *m.properties.PrivateFQDN
	}
	if name == "" {
		return failure.New(failure.ConfigInvalid, "is true, and AKS cluster %s has no private name for its API server", m.Cluster).
			At("use-private-fqdn").WithFix("Leave use-private-fqdn out")
	}
	server, err := url.Parse(cfg.Host)
	if err != nil || !hostName.MatchString(name) {
		return failure.New(failure.ClusterUnreachable, "connecting to AKS cluster %s by its private name: what Azure has for it is not the name of a host", m.Cluster).
			WithFix("Leave use-private-fqdn out")
	}
	if server.Port() != "" {
		name += ":" + server.Port()
	}
	server.Host = name
	cfg.Host = server.String()
	return nil
}

// hostName is a name in DNS (RFC 1123, 2.1).
var hostName = regexp.MustCompile(`^[0-9A-Za-z](?:[0-9A-Za-z.-]{0,251}[0-9A-Za-z])?$`)

func (m managed) azureRBAC() bool {
	p := m.properties
	return p != nil && p.AADProfile != nil && p.AADProfile.EnableAzureRBAC != nil && *p.AADProfile.EnableAzureRBAC
}

// String tells which cluster it is.
func (m managed) String() string {
	text := "AKS cluster " + m.Cluster.String()
	if p := m.properties; p != nil && p.CurrentKubernetesVersion != nil && version.MatchString(*p.CurrentKubernetesVersion) {
		text += ", Kubernetes " + *p.CurrentKubernetesVersion
	}
	return text
}

var version = regexp.MustCompile(`^[0-9A-Za-z.+-]{1,40}$`)
