package network

import (
	"strings"
	"testing"
)

func TestAdvice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cause Cause
		want  string
	}{
		{Cause{Kind: NoSuchHost}, "resolve on this runner, or set HTTPS_PROXY"},
		{Cause{Kind: LookupFailed, Proxy: true}, "Check HTTPS_PROXY, and this runner's name servers"},
		{Cause{Kind: ProxyAddress, Proxy: true}, "Correct HTTPS_PROXY"},
		{Cause{Kind: ProxyRefused, Proxy: true}, "allow connections to results.example, or take it out with NO_PROXY"},
		{Cause{Kind: ExpiredCertificate}, "Check the clock of this runner"},
		{Cause{Kind: UntrustedCertificate}, "SSL_CERT_FILE"},
		{Cause{Kind: WrongHost}, "answers in the place of results.example"},
		{Cause{Kind: NotTLS}, "answers in the place of results.example"},
		{Cause{Kind: ConnectionRefused, Proxy: true}, "Check that the proxy (HTTPS_PROXY) works"},
		{Cause{Kind: ConnectionRefused}, "Check that this runner's network lets it reach results.example"},
		{Cause{}, "Check that this runner's network lets it reach results.example"},
	} {
		if got := tt.cause.Advice("results.example"); !strings.Contains(got, tt.want) || strings.HasSuffix(got, ".") {
			t.Errorf("%+v: %q, want %q in it", tt.cause, got, tt.want)
		}
	}
}
