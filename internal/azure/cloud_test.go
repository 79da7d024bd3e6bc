package azure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The addresses are those of az cloud list; the audience is the one that it calls
// activeDirectoryResourceId.
func TestCloudNamed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Cloud{
		"AzureCloud": {
			Authority: "https://login.microsoftonline.com/", ResourceManager: "https://management.azure.com",
			ResourceManagerAudience: "https://management.core.windows.net/", Audience: "api://AzureADTokenExchange",
		},
		"AzureUSGovernment": {
			Authority: "https://login.microsoftonline.us/", ResourceManager: "https://management.usgovcloudapi.net",
			ResourceManagerAudience: "https://management.core.usgovcloudapi.net/", Audience: "api://AzureADTokenExchangeUSGov",
		},
		"AzureChinaCloud": {
			Authority: "https://login.chinacloudapi.cn/", ResourceManager: "https://management.chinacloudapi.cn",
			ResourceManagerAudience: "https://management.core.chinacloudapi.cn/", Audience: "api://AzureADTokenExchangeChina",
		},
	} {
		got, known := CloudNamed(name)
		if diff := cmp.Diff(want, got); !known || diff != "" {
			t.Errorf("%s, known %v: %s", name, known, diff)
		}
	}
	for _, name := range []string{"", "azurecloud", "AzureGermanCloud"} {
		if got, known := CloudNamed(name); known || got != (Cloud{}) {
			t.Errorf("%q is known: %+v", name, got)
		}
	}
}

// A cloud's own Azure Resource Manager takes its tokens wherever it stands.
func TestCloudWithAnotherResourceManager(t *testing.T) {
	t.Parallel()
	public, _ := CloudNamed(PublicCloud)
	const usual = "https://management.core.windows.net/"
	for endpoint, want := range map[string]string{
		"":                              usual,
		"https://management.azure.com/": usual,
		"https://westeurope.management.azure.com":   usual,
		"https://WestEurope.Management.Azure.com/":  usual,
		"https://management.azure.com:8443":         usual,
		"https://evilmanagement.azure.com":          "https://evilmanagement.azure.com",
		"https://management.azure.com.evil.example": "https://management.azure.com.evil.example",
		"https://management.usgovcloudapi.net":      "https://management.usgovcloudapi.net",
		"https://proxy.example/arm/":                "https://proxy.example/arm",
	} {
		if got := public.With("", endpoint, "").ResourceManagerAudience; got != want {
			t.Errorf("a token for %q is asked for %s, want %s", endpoint, got, want)
		}
	}
}

func TestCloudWith(t *testing.T) {
	t.Parallel()
	c := Cloud{"https://a/", "https://m", "https://audience", "api://x"}
	if got := c.With("", "", ""); got != c {
		t.Errorf("nothing else is %+v", got)
	}
	want := Cloud{"https://b/", "https://n", "https://n", "api://y"}
	if got := c.With("https://b/", "https://n/", "api://y"); got != want {
		t.Errorf("everything else is %+v", got)
	}
}
