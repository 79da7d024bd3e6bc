package azure

import (
	"regexp"
	"strings"
	"testing"
)

// A name that is there already would have its credential replaced.
func TestEachSubjectHasACredentialOfItsOwnName(t *testing.T) {
	t.Parallel()
	allowed := regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_-]{2,119}$`)
	subjects := map[string]string{
		"repo:acme/orders:environment:production":                               "repo-acme-orders-environment-production-6121a9f3",
		"repo:acme/orders:environment:Production":                               "",
		"repo:acme/orders-environment:production":                               "",
		"repo:acme-orders/environment:production":                               "",
		"repo:acme/orders:environment:qa":                                       "",
		"repo:acme/orders:environment:q a":                                      "",
		"repo:acme/orders:environment:q.a":                                      "",
		"repo:acme@9919/orders@517421:environment:production":                   "",
		"repo:acme/orders:ref:refs/heads/" + strings.Repeat("long/", 60):        "",
		"repo:acme/orders:ref:refs/heads/" + strings.Repeat("long/", 60) + "er": "",
		"/eid1/c/pub/t/VXwajTttDk-aDC9vGz5dEA/a/r/sc/x":                         "",
		"sc://acme/orders/aks-staging":                                          "",
		"_":                                                                     "",
		"日本":                                                                    "",
		"本日":                                                                    "",
		"$(reboot)":                                                             "",
	}
	names := map[string]string{}
	for subject, want := range subjects {
		name := credentialName(subject)
		if !allowed.MatchString(name) || want != "" && name != want {
			t.Errorf("%q has the name %q, want %q", subject, name, want)
		}
		if other, taken := names[strings.ToLower(name)]; taken {
			t.Errorf("%q and %q both have the name %s", subject, other, name)
		}
		names[strings.ToLower(name)] = subject
	}
}
