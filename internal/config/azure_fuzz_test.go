package config

import (
	"net/url"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// What is taken for a cluster's id is one to Azure's own parser, of the same
// cluster.
func FuzzParseClusterID(f *testing.F) {
	for _, id := range []string{
		resource, strings.ToUpper(resource), resource + "/", resource + "/agentPools/a", "/", "", "//" + resource,
		"/subscriptions/" + subscription + "/resourceGroups/資源/providers/Microsoft.ContainerService/managedClusters/c",
	} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parseClusterID(s)
		if err != nil {
			return
		}
		id, err := arm.ParseResourceID(s)
		if err != nil {
			t.Fatalf("%q is taken, and Azure's parser says %v", s, err)
		}
		if !strings.EqualFold(id.SubscriptionID, c.subscription.String()) || id.ResourceGroupName != c.group || id.Name != c.name ||
			!strings.EqualFold(id.ResourceType.String(), "Microsoft.ContainerService/managedClusters") {
			t.Errorf("%q is %+v, and to Azure's parser %s in %s in %s of %s", s, c, id.Name, id.ResourceGroupName, id.SubscriptionID, id.ResourceType)
		}
	})
}

// What is taken for an endpoint is a URL of a host and no more.
func FuzzParseEndpoint(f *testing.F) {
	for _, s := range []string{"https://a", "HTTPS://A:1/", "https://u:p@a", "https://a?b", "https://[::1]:1", "https://a%41", "https://\u212a", "https://a:01"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		endpoint, err := parseEndpoint(s)
		if err != nil {
			return
		}
		u, err := url.Parse(endpoint)
		if err != nil {
			t.Fatalf("%q is taken, and is no URL: %v", s, err)
		}
		if want := (url.URL{Scheme: "https", Host: u.Host}); u.Hostname() == "" || *u != want {
			t.Errorf("%q is taken, and is %#v", s, u)
		}
	})
}

// Whatever is given, what is wrong with it is told without it, and what is
// accepted is whole.
func FuzzReadAzure(f *testing.F) {
	f.Add(client, "rg", "c", "https://a", "api://a", "")
	f.Add("x~Q", ".", "-", "http://", "eyJ.", "env")
	f.Fuzz(func(t *testing.T, id, group, name, endpoint, audience, cloud string) {
		const marker = "hunter2~"
		values := map[string]string{
			"client-id": id, "resource-group": group, "cluster-name": name, "authority-host": endpoint, "audience": audience, "environment": cloud,
		}
		in := azure()
		for input, value := range values {
			in[input] = value
		}
		c, err := readAt(AuthManagedIdentity, nil, in)
		if err == nil {
			if a := c.Azure; a == nil || a.TenantID == "" || a.Subscription == "" || a.ResourceGroup == "" || a.Cluster == "" || a.Environment == "" {
				t.Errorf("accepted: %+v", c.Azure)
			}
		} else if code := failure.CodeOf(err); code != failure.ConfigInvalid {
			t.Errorf("the code is %q: %v", code, err)
		}
		for input, value := range values {
			if input == "audience" { // anything printable is one
				continue
			}
			_, err := readAt(AuthManagedIdentity, nil, azure(input, value+marker))
			if err == nil || strings.Contains(err.Error(), marker) {
				t.Errorf("%s of %q: %v", input, value+marker, err)
			}
		}
	})
}
