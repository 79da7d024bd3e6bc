package azure

import (
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"

	// It gives the clouds their Azure Resource Manager.
	_ "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm/runtime"
)

// Cloud is one of the clouds that Azure is.
type Cloud struct {
	// Authority is Entra's address, such as https://login.microsoftonline.com/.
	Authority string
	// ResourceManager is the address of Azure Resource Manager, and
	// ResourceManagerAudience what a token for it is asked for.
	ResourceManager, ResourceManagerAudience string
	// Audience is what an id token has to be for, for Entra to exchange it.
	Audience string
}

// The names of the clouds, as az has them (az cloud list).
const (
	PublicCloud     = "AzureCloud"
	GovernmentCloud = "AzureUSGovernment"
	ChinaCloud      = "AzureChinaCloud"
)

// CloudNamed returns the cloud of that name.
//
// The audiences are those of Entra's docs, "Workload identity federation".
func CloudNamed(name string) (c Cloud, known bool) {
	switch name {
	case PublicCloud:
		return cloudOf(cloud.AzurePublic, "api://AzureADTokenExchange"), true
	case GovernmentCloud:
		return cloudOf(cloud.AzureGovernment, "api://AzureADTokenExchangeUSGov"), true
	case ChinaCloud:
		return cloudOf(cloud.AzureChina, "api://AzureADTokenExchangeChina"), true
	}
	return Cloud{}, false
}

func cloudOf(c cloud.Configuration, audience string) Cloud {
	arm := c.Services[cloud.ResourceManager]
	return Cloud{
		Authority: c.ActiveDirectoryAuthorityHost, ResourceManager: arm.Endpoint,
		ResourceManagerAudience: arm.Audience, Audience: audience,
	}
}

// With returns the cloud with other addresses and another audience, where they
// are not "". A token for another Azure Resource Manager is asked for by its
// address; one whose host is below the cloud's own, as that of a region is
// (https://westeurope.management.azure.com), takes the cloud's tokens.
func (c Cloud) With(authority, resourceManager, audience string) Cloud {
	if authority != "" {
		c.Authority = authority
	}
	if resourceManager != "" {
		usual := c.ResourceManager
		c.ResourceManager = strings.TrimSuffix(resourceManager, "/")
		if !below(c.ResourceManager, usual) {
			c.ResourceManagerAudience = c.ResourceManager
		}
	}
	if audience != "" {
		c.Audience = audience
	}
	return c
}

// below reports whether the host of an address is that of another, or in its
// domain.
func below(address, other string) bool {
	a, err := url.Parse(address)
	if err != nil {
		return false
	}
	o, err := url.Parse(other)
	if err != nil || o.Hostname() == "" {
		return false
	}
	return strings.HasSuffix("."+strings.ToLower(a.Hostname()), "."+strings.ToLower(o.Hostname()))
}

// configuration is the cloud as the SDK wants it.
func (c Cloud) configuration() cloud.Configuration {
	return cloud.Configuration{
		ActiveDirectoryAuthorityHost: c.Authority,
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: c.ResourceManager, Audience: c.ResourceManagerAudience},
		},
	}
}
