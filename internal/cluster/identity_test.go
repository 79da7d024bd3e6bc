package cluster

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

func TestIdentity(t *testing.T) {
	t.Parallel()
	newAuthority := func() []byte {
		authority, err := standin.NewAuthority("a cluster")
		if err != nil {
			t.Fatal(err)
		}
		return authority.PEM
	}
	authority := newAuthority()
	other := newAuthority()
	with := func(host string, ca []byte) *rest.Config {
		return &rest.Config{Host: host, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
	}
	reference := with("https://orders.hcp.westeurope.azmk8s.io:443", authority)
	for name, test := range map[string]struct {
		cfg  *rest.Config
		same bool
	}{
		"by its private name":  {with("https://orders.privatelink.westeurope.azmk8s.io", authority), true},
		"spelt in another way": {with("https://orders.hcp.westeurope.azmk8s.io", append([]byte("# CA\n"), authority...)), true},
		"another authority":    {with(reference.Host, other), false},
		"one more authority":   {with(reference.Host, append(append([]byte{}, authority...), other...)), false},
		"another path":         {with(reference.Host+"/k8s/clusters/c-abcde", authority), false},
		"the system's":         {with(reference.Host, nil), false},
	} {
		if same := identity(t, test.cfg) == identity(t, reference); same != test.same {
			t.Errorf("%s: the same cluster: %v, want %v", name, same, test.same)
		}
	}
	if identity(t, with("https://a.example.com", nil)) == identity(t, with("https://b.example.com", nil)) {
		t.Error("two servers without an authority of their own are one")
	}
}

func identity(t *testing.T, cfg *rest.Config) string {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c.Identity()
}
