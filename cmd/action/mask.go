package main

import (
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/host"
	"github.com/aks-oneshot/aks-oneshot/internal/secret"
)

// maskProxies masks what is secret in the addresses of proxies, whichever of
// them is used: that depends on the server's address, which is not known yet,
// and what other steps print is masked too.
func maskProxies(h host.Host, getenv func(string) string) {
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"} {
		for _, key := range []string{name, strings.ToLower(name)} {
			for _, s := range secret.OfAddress(getenv(key)) {
				h.Mask(s)
			}
		}
	}
}
